// Package layout is the Go view of the C structs of cshim/shared.h: the context block
// (cshim/context/context.h) and the shared-memory segments (cshim/node/segment.h). The comments on
// members, who writes them and what orders them, are in those files. Members that several threads
// or processes touch are used through sync/atomic on their address.
//
// layout_gen.go is generated. The tests regenerate it and compare, and compare sizes and offsets
// with what a C compiler says.
package layout

//go:generate go run generate.go
