// Package layout is the Go view of the C structs of cshim/shared.h: the context block
// (cshim/context/context.h) and the shared-memory segments (cshim/node/segment.h). Those files have
// the comments on the members: which thread or process writes each, and which barrier orders the
// writes. Members that several threads or processes touch are used through sync/atomic on their
// address.
//
// layout_gen.go and check_gen.go are generated on amd64. check_gen.go makes the compiler compare
// each size and offset with the C compiler's, for whatever architecture is compiled: where they
// differ the library does not build. The tests generate both again and compare.
package layout

//go:generate go run generate.go
