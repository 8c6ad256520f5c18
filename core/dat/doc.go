// Package dat is uDAPL: adapters, endpoints, event dispatchers, memory, connections. docs/dev/dat.md
// has the whole picture.
//
//	library.go        Library: what all adapters of the process share; progress
//	arrivals.go       passes what arrives by the network to its part of the library
//	conns.go          what connections of rc notify
//	block.go          memory that the program sees
//	object_unsafe.go  handles, and how they are found
//	open.go           adapters are opened and closed
//	ia.go             their objects, names and addresses
//	attributes.go     an adapter's attributes of its network interface
//	engine.go         what an adapter does by its own means; engine_links.go over links,
//	                  engine_device.go by an RDMA adapter (engine_rmr.go its RMRs)
//	memory.go, rmr.go protection zones, regions, contexts, what a remote access is checked against
//	shared.go         memory that processes share, named by a cookie
//	ep.go, modify.go  endpoints
//	states.go         their states: one table
//	post.go           posts, and the contents of their completions
//	ud.go             endpoints of datagrams, address handles
//	srq.go            shared receive queues
//	connect.go        the side that connects; events of connections
//	silence.go        reports of peers that do not answer
//	passive.go        service points, connection requests
//	peers.go          other processes, and the links to them
//	node.go           those of this node; greeting.go the messages that make a link
//	liveness.go       whether the processes at the other ends of links are there
//	users.go          what the library does with links and processes
//	group.go          groups of collective operations; collective.go their operations
//	group_area.go     memory that the members of a group on one node share
//	group_engine.go   which engine does its operations
//	question.go       whether a member that has not come is there
//	member.go         members: their addresses, and the connections to them
//	group_info.go     what a program says of the nodes
//	evd_unsafe.go, cno.go  event dispatchers, consumer notification objects: how they are made;
//	                  their events and waits are C's (cshim/dat/evd)
//	event.go          the layout of events
//	rings_unsafe.go   memory that C shares
//	lane_unsafe.go    what C's fast lane shares beside those
//	node_conns_unsafe.go  the library's part of the connections that C has
//	table_unsafe.go   the protection table: what peers of the node may access by themselves
//	counters.go, counter_names.go, link_errors.go
//
// Its parts are packages: cm (connection manager), rc (the protocol of connections), coll (that
// of groups), device (RDMA adapters at work) above adapter (what they can do), codes, sockets.
// Everything runs under the library's lock; memory.Guard must have run on the calling goroutine
// where user memory is touched.
package dat
