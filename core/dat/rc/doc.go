// Package rc is the protocol of connected endpoints: what sends, RDMA writes and reads and atomic
// operations become on a link, in which order they take effect and complete. It knows no states of
// endpoints and no events; its owner makes those of what it is told.
//
//	wire.go     the messages, byte by byte
//	engine.go   Engine: connections by number, messages to them, who has something to send
//	conn.go     Conn: its life, and its end
//	request.go  the side that asks
//	respond.go  the side that is asked
//	receive.go  posted receives, of one connection or shared
//	place.go    bytes to and from lists of segments
//
// # Order
//
// Requests of a connection have sequence numbers. They are started in the order of posting, at
// most Window at a time, and complete in that order. The responder places data as it comes, over
// links that reorder too, but lets requests take effect one after the other: a receive completes,
// a read is read and an atomic operation made when all before it are done. Of a write the last word
// is held back until then. So who looks at the last byte of a write sees all of it, and of the
// writes before. A write to memory that a write before it goes to is marked: what comes of it
// before its turn is dropped, and sent again then (Ready). A request that fails does so in its
// turn, too.
//
// # Receives
//
// A send, or a write with immediate data, needs a receive. One that finds none is dropped, and
// the requester is told (NotReady); when a receive has been posted it is told again (Ready), and
// sends the whole request once more, with the next attempt number. Fragments of earlier attempts
// are dropped. So a slow receiver takes no memory anywhere, and holds up only its own connection.
//
// # Completion
//
// The responder tells how far it has come once a turn (Done). A request is complete when that has
// come, all of its data has, and the link needs its memory no more. An error at the responder
// comes as End with the request's number and status; it ends the connection on both sides. What
// was not complete then completes with Flushed, in order, after all that was.
//
// # Trust
//
// The messages of a link are from the process at its endpoint. That process is not trusted: every
// message names connection and tag, and one that does not fit is dropped; one that contradicts
// the protocol ends the connection. No message makes memory grow: a connection has Window places
// for what comes.
//
// All of it runs under the owner's lock, in calls and handlers of links. Addresses are user memory:
// memory.Guard must have run on the calling goroutine.
package rc
