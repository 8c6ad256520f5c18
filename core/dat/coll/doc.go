// Package coll is uDAPL's collectives: groups, how their operations become messages between
// members, and in which order they complete. It knows no handles, no EVDs and no connections; its
// owner has those, and moves the messages.
//
//	wire.go       the messages, byte by byte
//	blob.go       a member's address, as programs exchange it
//	group.go      Group: its operations, its life and its end
//	run.go        one operation: round after round
//	send.go       to a member: fragments, the window, pending notices
//	receive.go    from a member: what is expected, what is early
//	rail.go       the same by RDMA adapters
//	meeting.go    the exchange by which rails are made
//	clock.go      the group's clock
//	arguments.go  an operation's arguments
//	plan.go       Plan: rounds of transfers and of work on memory
//	route.go      short parts between nodes, by their leaders
//	nodes.go      which members share a node, and their leaders
//	broadcast.go, gather.go, alltoall.go, reduce.go, scan.go
//	              the plans of the operations
//
// # Plans
//
// An operation becomes a plan: rounds, each with messages to receive, messages to send, and then
// copies and reductions. A round ends when all of its messages have arrived and the links no longer
// need the memory of the messages sent. A plan depends on the arguments, the group's size and its
// nodes, and never on timing. So for a group and a size every reduction associates in one order:
// results are the same from run to run, and at all members, as each part is reduced at one member,
// or at two in the same order.
//
// # Order
//
// Operations of a group run one after the other, so they complete in the order of posting. The
// messages of one member to another are numbered over the group's life, and both count them in the
// order of their plans: a message needs no other name. Each message says which operation it belongs
// to, so that members that call different operations get an error.
//
// # Early messages
//
// A member may be ahead of another. Its messages then wait at the receiver, at most Window bytes of
// each member; the receiver acknowledges the data that it has consumed (Credit), and no more than
// Window is under way. Data of a posted receive goes to its place without a copy between.
//
// # The end of a member
//
// End says that a member takes part in no operation from a number on: it has freed its group, or an
// operation has failed there. A member whose process is gone has ended at once. A member that has
// an operation from that number on fails it and all later ones, and sends End in turn. As each
// member is connected to each, nobody waits for ever. A group does not recover.
//
// # Trust
//
// The owner checks which processes may send to a group. Members are not trusted beyond that: a
// message that contradicts the plan fails the group, and no message makes memory grow past the
// window.
//
// All of it runs under the owner's lock. Addresses are user memory: memory.Guard must have run on
// the calling goroutine. Reductions work on memory of this package, or on user memory that was
// copied to before.
package coll
