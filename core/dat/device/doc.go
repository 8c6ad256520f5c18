// Package device is RDMA adapters as uDAPL uses them: queue pairs that complete posts in order, and
// end as connections do; connections and listeners of the RDMA connection manager; memory, windows,
// shared queues. It knows none of the program's handles, events or states: package dat, whose
// engine for adapters it is, is notified by the small interfaces of contract.go.
//
//	contract.go   those interfaces, and plain types
//	device.go     a Device; completion queues; progress, sleep
//	memory.go     zones, regions, shared queues
//	window.go     windows, and their binds
//	pair.go       queue pairs: the way of an endpoint's data
//	solicited.go  receives that are solicited
//	call.go       connections, and attempts at them
//	listen.go     listeners, requests, how they are decided on
//	status.go     how requests end, as uDAPL numbers it
//	datagram.go   paths, and attempts that find one
//
// Everything runs under its owner's lock. Adapters are behind transport/ibv.
package device
