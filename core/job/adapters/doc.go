// Package adapters chooses the addresses that the tasks of a job use, from what network interfaces
// their nodes have: MP_EUIDEVICE and MP_INSTANCES by the guide's Chapter 14, Table 12. A network is
// an IP subnet, an adapter a network interface, an instance an address in MP_LAPI_INET_ADDR. The
// i-th instance of a task talks to the i-th of others, so all tasks get the same number, and the
// i-th ones are on one network.
//
// It knows nothing of tasks and launchers: lapirun chooses for the nodes that it starts, and tasks
// of a launcher that knows nothing of LAPI choose for themselves.
//
//	node.go     what a node has; listing it
//	choose.go   the choice, and the packet size that it allows
//	guide.go    names of adapters of AIX, which scripts still have
//	carrier.go  waiting for interfaces that have no carrier yet
//	code.go     what a node has as bytes, short enough for a launcher's key-value space
package adapters
