// Package cm is uDAPL's connection manager: it finds the process that listens at a qualifier of an
// address, carries private data to and fro, and agrees on a secret. It moves no data of the
// consumer's, and knows nothing of endpoints or events.
//
// Machine is a state machine without sockets, clock or goroutines, driven under its owner's lock.
// The owner passes it arriving datagrams and the time; Machine hands datagrams to an Outlet.
//
//	message.go  the datagrams, byte by byte
//	secret.go   the agreement on keys, what proves a message, cookies
//	machine.go  connections, listeners, what their owners are notified of
//	active.go   the side that connects
//	passive.go  the side that listens
//	withdraw.go the side that listens closes a connection it has accepted
//	silence.go  reports of peers that do not answer
//	timers.go   repetition, and when it ends
//
// # A connection
//
//	active                                   passive
//	Request, number n1, key K1      ─────>
//	                                <─────   Challenge with a cookie; nothing is kept
//	Request once more, cookie       ─────>   Service.Requested
//	                                <─────   Wait, until the owner has decided; then
//	                                <─────   Accept, n2, K2, private data
//	Owner.Accepted, Conn.Proceed:
//	Owner.Established; Ready        ─────>   Owner.Established
//	or
//	                                <─────   Reject, private data, or Refuse: nobody listens
//
// A cookie is valid for a minute or two, and for all connections from its address: the next
// connection to the same peer begins with it, and needs no Challenge.
//
// Request is repeated with growing pauses until it is answered, and less often after Wait. Accept
// is repeated until Ready has arrived. A side that receives a message again answers it again.
// Reject has no answer: for a while the passive side remembers the requests that it has rejected,
// and sends Reject again if they are repeated. A side that closes a connection it has accepted,
// before Ready has arrived, sends Reject until the active side acknowledges it by Cancel
// (withdraw.go): the active side may have established the connection.
//
// A request holds the socket that it arrived at (Outlet.Hold) until it is established, or its peer
// can need no answer any more. So a listener may end as soon as its owner has decided.
//
// # What is proved
//
// Numbers are random and have 64 bits: an answer that names n1 is from a process that has seen the
// request, or has guessed n1. The secret of two processes comes from their keys K1 and K2, made
// when they started, the forms in which these keys travel, and, if there is one, the key that both
// were given. The secret of a connection comes from that secret and both numbers. Accept, Ready,
// Reject and Cancel are proved by it. So without a shared key nobody off the path can take part,
// and with a shared key only processes that have it. A Refuse is not proved: it is a hint, and
// believed after several (Conn.Known: after fewer). All messages have the same size, so that no
// answer is longer than the message it answers. A request is accepted only with the cookie, which
// proves that its sender receives packets sent to its address. Before that the passive side keeps
// nothing of the request, and makes no secret. So the cost of a stranger is bounded: PendingMax
// requests wait for a listener's owner, RejectedMax are remembered, and an owner drops requests
// that it has no place for.
package cm
