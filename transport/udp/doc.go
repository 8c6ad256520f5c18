// Package udp is the link between tasks over UDP/IP.
//
// Machine is the protocol: a state machine without sockets, clock or goroutines. Its caller passes
// it the packets that arrive and the time, and it hands packets to an Outlet. A simulator drives it
// as well as the kernel does. Link (link.go) joins it to the sockets of package sock.
//
// # Owners
//
// Each part of the protocol has its state to itself. Those in internal are packages, and know only
// what stands to the left of them here:
//
//	wire   medium   packet   rtt   congestion   recovery   paths   udp: session, sender, receiver
//
//	wire        the packets, byte by byte, and what proves them
//	medium      what becomes of a packet to send: shared with package sock
//	packet      the content of a packet to send: messages, copied or borrowed; its memory
//	rtt         the round trip of a path
//	congestion  how many bytes may be in flight on a path
//	recovery    what is in flight, lost, acknowledged; what has arrived
//	paths       which path works, which one a packet takes
//	session     who the peer is and whether it is there: session.go, admit.go, close.go,
//	            silence.go
//	sender      send.go, coalesce.go, batch.go, ack.go, retransmit.go, mtu.go
//	receiver    receive.go, parts.go, acknowledge.go
//
// docs/dev/udp.md has the whole picture, and the way of a packet through these files.
//
// Abilities: messages. No put, get or atomics of its own (ErrNotSupported): transport/emul makes
// them of messages. Limits: one Send is one packet at most: SendMax is the packet size less 48
// bytes. Progress: nothing happens outside calls; what an entry sends goes at its end (Push). Idle,
// it costs one system call. Waiter: the sockets, and a netlink socket that reports the state of
// interfaces. docs/dev/sockets.md has what lies between the machine and the kernel. Environment
// variables: none here. Core passes MP_UDP_PACKET_SIZE, MP_ACK_THRESH, MP_POLLING_INTERVAL,
// MP_RETRANSMIT_INTERVAL, MP_REXMIT_BUF_CNT, MP_REXMIT_BUF_SIZE and MP_DEBUG_NOTIMEOUT in Config.
//
// # Sessions
//
// The first operation on a peer, or its first Hello, begins a session. Each Hello carries the
// origin's generation and nonce, and the peer's generation and nonce as far as the origin knows
// them. A task that gets its own nonce back knows that the peer is alive now, and sends data. The
// secret of that data's check depends on both nonces, both generations and the job key, so the
// check proves the same to the other side. A session never changes its generations: packets of any
// other generation are ghosts, counted and dropped. The address that Link.Address gives names the
// generation, so that a task never talks to an earlier or later user of the same port. Where
// addresses come from the user, the round in Hello does that (Config.Round).
//
//	       Hello from us or for us            nonce or check of ours came back
//	idle ──────────────────────────> handshaking ─────────────────────────────> open ──Bye──> closed
//	                                      └──────────────timeout─────────────────┴──────────> failed
//
// A task that has failed and rejoins is a new generation, and is not in the round of the others. So
// the others Reconnect: the new session takes any generation, and its Hellos are of round 0, which
// every task accepts. Two tasks that live but gave each other up (LAPI_Purge_totask) do the same:
// their new nonces tell the sessions apart.
//
// A peer that has not started yet does not answer; Hello is repeated until Config.Timeout.
//
// # Admission
//
// A packet is dropped and counted unless the task that it names has, at the address that it comes
// from, a session whose check fits (wire.Secret; Config.Level says what it covers). Before that
// only the kind, the task and the lengths of messages are looked at: they choose the secret and the
// bytes to hash, within the packet's bounds. Nothing is kept for a packet that is dropped, and the
// work is one check. While a session is being made, each peer's address gets at most one Hello a
// millisecond for such packets. A Hello is signed by a key of its own for origin and target. A
// Hello that is replayed to an open session is answered by another of the same size, and changes
// nothing.
//
// Replayed packets of the session are duplicates by their sequence number. It has 32 bits, so it
// comes round again; but the check covers 64 bits of it, and of the acknowledgement, which only
// move forward (wire.Secret). A replayed acknowledgement says nothing new, at worst that the peer
// is not ready for a packet, which is then resent later. A replay can make a silent peer seem
// alive, and the times of the loss detection worse; it can change no memory.
//
// # Delivery
//
// Packets of a session are numbered. The receiver offers the messages of a packet to their handlers
// and marks the packet received when all were accepted; a marked packet is never offered again. If
// a handler refuses, the packet stays unmarked, and the receiver says at once that it is not ready
// for it. The origin resends it after a pause. The receiver remembers which messages of the packet
// were accepted, so that none of these is offered twice. Packets that the peer is not ready for are
// not in flight: others pass, until the newest is recovery.Numbers ahead of the oldest.
//
// # Acknowledgement
//
// Every data packet carries the receiver's state of the other direction: the next expected number
// and 64 bits of what has arrived behind it. Without data going back, an acknowledgement goes when
// AckThreshold packets have arrived; when the origin asks for it (half a window used, window
// closed, or a flush, unless the last packet in flight has asked); when the socket is empty and the
// end of a message was marked as such, or a packet seems to be lost; or after recovery.AckDelay. It
// goes by the path that the data came by.
//
// # Leaving
//
// Close sends the close notice, Bye, which carries the last acknowledgements, and repeats it until
// the peer has answered, or five times. So the loss of a last acknowledgement leaves nobody
// waiting. A peer that left in good order needs nothing more: what it has not acknowledged is
// dropped, and completes without an error, flushes included: nobody is there who could miss it. New
// operations on it return ErrUnreachable, a new Flush has nothing to wait for. An owner that must
// know that its messages were accepted flushes before it lets the peer leave, as LAPI_Gfence does.
package udp
