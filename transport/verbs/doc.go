// Package verbs is the link between tasks over RDMA adapters: InfiniBand and RoCE.
//
// It is a state machine over ibv.Device, of which there are two: cshim/ibv, the adapters of this
// host by libibverbs, and transport/ibv/fake, a network in the process whose queue pairs fail as
// tests want. docs/dev/verbs.md explains how it works as a whole.
//
//	link.go      the Link: what it is made of, connections, its end
//	config.go    its configuration
//	params.go    sizes, bounds and times, each with its reason
//	peer.go      what is kept of a peer, its packets
//	queue.go     its queue pairs: made, ended, replaced
//	shake.go     the handshake
//	ports.go     what ports ask of the link; where peers' ports are; the spare port
//	send.go      messages, packets
//	receive.go   what has come, and what packets ask for
//	unreported.go  packets whose completions are lost
//	transfer.go  puts and gets: what bulk asks of the link
//	failed.go    what has become of requests
//	silence.go   peers that do not respond, for owners
//	owner.go     what owners say to and ask of peers: silence, leaving
//	flush.go     flushes, this task's and the peers'
//	shared.go, shared_unsafe.go  what C does by itself, and where it finds what it needs for that
//	progress.go  a turn, events, sleep
//
// Parts with state of their own are packages in internal. Their fields are private, and each knows
// only what stands to the left of it here (core/walls_test.go holds that); pair, window, bulk and
// paths do not know each other:
//
//	wire   fallback   pool   registration   pair   window   bulk   paths   verbs
//
//	wire          the packets, Hellos and addresses, byte by byte
//	fallback        an adapter made of messages of another link
//	pool          how many receive buffers a port has
//	registration  registrations of memory that are kept
//	pair          the handshake of two queue pairs: states, rounds, timers
//	window        numbers of packets, credit, the ring of packets; the struct that C shares
//	bulk          puts and gets: copies, keys, RDMA
//	paths         ports, the ways over them, the spare port; slots for packets
//
// Abilities: messages, and puts and gets of any length; atomics are made of messages by
// transport/emul, so that they are the processor's. Limits: a message is a packet, 4072 bytes.
// Progress: nothing happens outside calls. Idle, a turn costs one call into C. Waiter: the
// completion channels and the adapters' events. Environment variables: none here.
//
// # A connection
//
//	              first use,             Hello comes, for this        its own queue pair
//	              or Hello comes         queue pair or for none       in Hello, or a packet
//	no queue pair ─────────> Hello said ─────────────────> joined ─────────────────> open
//	    ▲                         │                                                   │
//	    │                         │ Config.Timeout                                    │ failure
//	    │                         ▼                                                   │
//	    │                     given up <── failures follow each other ────────────────┤
//	    └─────────────────────────────────────────────────────────────────────────────┘
//
// Package pair has the states and the generations (Round) of queue pairs. A lane, which carries no
// packets, has generations of its own. The numbers of packets go on over all queue pairs. Hello
// carries the number that its sender expects; all packets from there on are resent, in order, and
// no others. RDMA requests that are not complete are done again: they were not reported as done,
// and the peer's key lasts until then.
//
// # Memory
//
// Of a peer never talked to: its address. Of a connected peer: a queue pair, window + spare receive
// buffers, the structs, and what its puts, gets and refused messages take, which params.go bounds.
// Slots for packets to send are shared by all.
package verbs
