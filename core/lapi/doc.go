// Package lapi is the meaning of LAPI: contexts, transfers, active messages, counters, handlers,
// fences and run-time attributes, on top of transport.Link. It is free of cgo: addresses are
// transport.Addr, handlers of the user are called through the Host that capi provides.
//
// # Locking
//
// A Context has no lock of its own: every method runs with the context lock of cshim held (capi and
// the C entry points see to that), except where a method says otherwise. There is no goroutine and
// no timer in this package. Links are used under the same lock, and their callbacks come back into
// this package under it.
//
// Lock order: the context lock, then memory's lock for unaligned atomics. User code that runs with
// the lock held: header handlers and inline completion handlers, from inside Dispatch. Queued
// completion handlers and the error handler are fetched by C (NextCompletion, NextError) and run
// without it.
//
// # Where to find what
//
//	context.go     Context, Dispatch: one turn of the dispatcher
//	setup.go       LAPI_Init: which link reaches which task
//	put.go get.go amsend.go rmw.go   the operations, origin and target side of each
//	outgoing.go    messages under way from here: fragments, waiting for room
//	incoming.go    messages under way to here: reassembly
//	header.go      the headers of this package's messages
//	completion.go  completion handlers, counters of finished active messages
//	fence.go collective.go term.go   LAPI_Fence, LAPI_Gfence, LAPI_Address_init, LAPI_Term
//	attributes.go  LAPI_Qenv, LAPI_Senv
//	errors.go      what the error handler is told; peers that fail
//	trace.go  what MP_LAPI_TRACE_LEVEL records
//	shared_unsafe.go  the context block shared with C
package lapi
