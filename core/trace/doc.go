// Package trace is the format of the files that a task writes when MP_LAPI_TRACE_LEVEL is set,
// their writer, their reader, and the merger that makes one Chrome trace of the files of a job. The
// layout is cshim/context/trace.h's, because the C side writes into the same file; docs/tracing.md is
// for users.
//
// # Concurrency
//
// Any number of threads may add records to one File at once, C's among them: a record is claimed by
// an atomic addition and made valid by storing its kind last (release; the reader looks at a file
// that is not changed any more, or takes what is valid). Create and Close are their caller's alone.
package trace
