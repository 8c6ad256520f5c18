// Package cm is uDAPL's connection manager: it finds the process that listens at a qualifier of an
// address, carries private data to and fro, and agrees on a secret. It moves no data of the
// consumer's, and knows nothing of endpoints or events.
//
// Machine is a state machine without sockets, clock or goroutines, driven under its owner's lock.
// It is told what arrives and what time it is, and hands datagrams to an Outlet.
//
//	message.go  the datagrams, byte by byte
//	secret.go   the agreement on keys, what proves a message, cookies
//	machine.go  connections, listeners, what their owners are notified of
//	active.go   the side that connects
//	passive.go  the side that listens
//	withdraw.go the side that listens closes what it has accepted
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
// A cookie is good for a minute or two, and for all connections from its address: the next one to
// the same peer begins with it, and needs no Challenge.
//
// Request is repeated with growing pauses until it is answered, and less often after Wait. Accept
// is repeated until Ready has come. Whoever gets a message again answers it again. Reject is
// answered with nothing: the passive side remembers what it has rejected for a while, and says so
// again. Whoever closes a connection that it has accepted, before Ready has come, sends Reject until
// the active side acknowledges it by Cancel (withdraw.go): that side may take it for established.
//
// A request holds the socket that it has come to (Outlet.Hold) until it is established, or its peer
// can need no answer any more. So a listener may end as soon as its owner has decided.
//
// # What is proved
//
// Numbers are random and have 64 bits: an answer that names n1 is from who has seen the request,
// or sent by chance. The secret of two processes comes from their keys K1 and K2, made when they
// started, and the forms in which they travel, and, where there is one, from the key that both were given; that of a connection from
// it and both numbers. Accept, Ready, Reject and Cancel are proved by it. So without a key nobody
// off the path can take part, and with one nobody at all who does not have it. A Refuse is not
// proved: it is a hint, and believed after several (Conn.Known: after fewer). Every message has the
// same size, so that no answer is longer than what it answers. A request is taken only with the cookie,
// which proves that its sender gets what is sent to its address. Before that nothing is kept of it,
// and no secret is made. So what a stranger costs is bounded: PendingMax requests wait for a
// listener's owner, RejectedMax are remembered, and an owner drops what it has no place for.
package cm
