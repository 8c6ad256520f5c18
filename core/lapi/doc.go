// Package lapi is the meaning of LAPI: contexts, transfers, active messages, counters, handlers,
// fences and run-time attributes, on top of transport.Link. It is free of cgo: addresses are
// transport.Addr, functions of the user are called through the Host that capi provides.
//
// # Locking
//
// A Context has no lock of its own: every method runs with the context lock of cshim held (capi and
// the C entry points see to that), except where a method says otherwise. There is no goroutine and
// no timer in this package. Links are used under the same lock, and their callbacks come back into
// this package under it. The packages below have no locks either: they are a context's, but for
// dgsm.Registry, which serves the process.
//
// Lock order: the context lock, then memory's lock for unaligned atomics. User code that runs with
// the lock held: header handlers and inline completion handlers, from inside Dispatch. Queued
// completion handlers and the error handler are fetched by C (NextCompletion, NextError) and run
// without it.
//
// # Where to find what
//
// Context is the API and the composition. Its files:
//
//	context.go     Context, limits
//	setup.go       LAPI_Init: wire-up, and how the parts are put together
//	dispatch.go    Dispatch, one progress call; what every entry ends with; a thread's sleep
//	transfer.go    Transfer and Xfer: the one entry of all operations; what follows a message
//	room.go        calls that wait for room
//	put.go         puts, and puts of vectors: origin and target
//	get.go         gets likewise, and the operations that wait for an answer
//	notice.go      puts and gets that a node's link makes by itself
//	region.go      memory that adapters know, whose keys save puts and gets a question
//	moves.go       puts and gets of vectors that a link over an adapter makes by itself
//	reads.go       reports to targets of gets that read their memory without them
//	rmw.go         read-modify-write
//	am.go          active messages, the origin's side; multicasts
//	sync.go        the blocking calls: fences, collectives, LAPI_Term; lists of counters
//	medium.go      what collectives ask of the links to other nodes
//	failure.go     tasks that fail or die; docs/dev/ends.md has the rule
//	ended.go       tasks that end on purpose without LAPI_Term
//	recovery.go    LAPI_Purge_totask, LAPI_Resume_totask
//	rejoin.go      processes that take a dead task's place
//	attributes.go  LAPI_Qenv, LAPI_Senv, LAPI_Addr_set
//	dump.go        what is under way, for a dump
//	diagnostics.go what MP_INFOLEVEL 2 to 6 add: version, ways to tasks, statistics
//	group.go       groups of tasks for multicasts
//	dgsp.go        LAPI_Util's commands about DGSPs
//	barrier.go     core's side of the barrier of a node's tasks, which is in C
//	lane.go lane_unsafe.go      core's side of the fast lane, which is in C: rings, and packets
//	outbox.go outbox_unsafe.go  core's side of puts that C writes into an open packet
//	trace.go trace_vector.go    what MP_LAPI_TRACE_LEVEL records
//
// Its parts, each a package that alone touches its state:
//
//	wire        every header that crosses the wire
//	vector      descriptions of data in many blocks
//	placed      data that lies as a DGSP says; dgsm runs the programs
//	peer        one task: its link, what fits in a message, whether it is there
//	send        messages on their way from here
//	receive     active messages on their way to here; fragments of other messages
//	singlecopy  data straight between two tasks' memory
//	token       operations that wait for an answer
//	counter     counters; outstanding completions, coalesced acknowledgements
//	handlers    calls of the user's handlers that are due
//	faults      errors, as the error handler gets them
//	fence       tickets, fences, collectives
//	host        how the user's functions are called
//	codes       LAPI's return codes and their texts
//
// Packages that know nothing of LAPI are elsewhere: core/wireup brings the tasks together,
// core/progress wakes threads, core/job knows the job.
package lapi
