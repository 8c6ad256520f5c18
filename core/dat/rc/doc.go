// Package rc is the protocol of connected endpoints: how sends, RDMA writes and reads and atomic
// operations become messages on a link, in which order they take effect and complete. It knows no
// states of endpoints and no events; its owner makes those from its notifications.
//
//	wire.go     the messages, byte by byte
//	engine.go   Engine: connections by number, messages to them, connections with something to send
//	conn.go     Conn: its life, and its end
//	request.go  the requester
//	respond.go  the responder
//	receive.go  posted receives, of one connection or shared
//	place.go    bytes to and from lists of segments
//
// # Order
//
// Requests of a connection have sequence numbers. They are started in the order of posting, at most
// Window at a time, and complete in that order. The responder places data as it arrives, over links
// that reorder too, but lets requests take effect one after the other: a receive completes, a read
// is read and an atomic operation made when all requests before it are done. The last word of a
// write is held back until then. So a program that sees the last byte of a write sees all of it,
// and all writes before. A write that overlaps an earlier incomplete write is marked: its data that
// arrives before its turn is dropped, and sent again then (Ready). A request that fails does so in
// its turn, too.
//
// # Receives
//
// A send, or a write with immediate data, needs a receive. If there is none, the responder drops
// the request and notifies the requester (NotReady); when a receive has been posted, the responder
// notifies it again (Ready), and the requester sends the whole request once more, with the next
// attempt number. Fragments of earlier attempts are dropped. So a slow receiver takes no memory
// anywhere, and holds up only its own connection.
//
// # Completion
//
// Once a turn the responder reports its progress (Done). A request is complete when that has
// arrived, all of its data has, and the link no longer needs its memory. An error at the responder
// arrives as End with the request's number and status; it ends the connection on both sides.
// Requests that were not complete then complete with Flushed, in order, after all complete ones.
//
// # Trust
//
// The messages of a link are from the process at its endpoint. That process is not trusted: every
// message names connection and tag, and a message that does not match is dropped; a message that
// contradicts the protocol ends the connection. No message makes memory grow: a connection has
// Window places for incoming requests.
//
// All of it runs under the owner's lock, in calls and handlers of links. Addresses are user memory:
// memory.Guard must have run on the calling goroutine.
package rc
