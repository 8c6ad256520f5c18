// Package simnet is a network for tests. It carries the packets of several tasks' protocol machines
// in virtual time and loses, duplicates, delays, reorders, damages, queues and cuts them off as a
// seed says; tasks sleep, are slow, and find their sockets full. The same seed gives the same run,
// packet by packet.
//
// A Net has Nodes, one a task, each with 1 to udp.MaxPaths addresses. A Link joins a udp.Machine to
// a Node and is a transport.Link, so that a test drives the protocol alone, or a whole context of
// core/lapi above it. A seed decides a Scenario: tasks, settings of the protocol, how bad each path
// is. Disturbances come and go while the run lasts.
//
// Nothing here has a goroutine or reads a clock: Net.Step does the next thing that happens: a
// packet arrives, a task's timer runs out, or an event that a test asked for is due. Nothing is
// allocated for a packet in the steady state.
//
// docs/dev/simulator.md says how to use it.
package simnet
