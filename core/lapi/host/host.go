// Package host says how the library calls the user's functions, and the process it lives in. capi
// implements it.
//
//	host.go     Host
//	watched.go  a Host that reports its calls
package host

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// Host calls the user's functions. Their addresses came from the user; capi calls them through C.
// All methods run on the current thread.
type Host interface {
	// HeaderHandler runs a header handler and fills r.
	HeaderHandler(k *HeaderCall, r *HeaderResult)
	// SendHandler runs a send completion handler.
	SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code)
	// CompletionHandler runs an inline completion handler.
	CompletionHandler(handler, info transport.Addr)
	// Message prints a message of the library for the user, at MP_INFOLEVEL level or above.
	Message(level int, text string)
	// DDM runs a data distribution manager function (LAPI_REG_DDM_FUNC).
	DDM(handler, in, inout transport.Addr, n uint64, operand, operation int32) int64
	// ExitNotice leaves with C what to send to which sockets if the process ends with status 0
	// but without LAPI_Term. Both are copied; each call replaces the one before.
	ExitNotice(record []byte, sockets []int)
	// Print writes to the standard output, through C's stdio.
	Print(text string)
	// Exit prints text and ends the task at once.
	Exit(text string)
}

// HeaderCall is the arguments of a header handler. Vectored: it is that of a vector's active
// message; Lengths are those of the origin's blocks, an ulong each, and the handler returns its
// vector's address as the buffer.
type HeaderCall struct {
	Handler, Uhdr, Lengths transport.Addr
	OnePacket              transport.Addr // all data, if one packet holds it
	MsgLen                 uint64
	UhdrLen                uint32
	Src                    int32
	Vectored               bool
}

// HeaderResult is what a header handler gave back: the buffer, the completion handler and its
// parameter, and the fields of lapi_return_info_t that it may set.
type HeaderResult struct {
	Buffer, Completion, Info transport.Addr
	DGSP, Bytes, Skip        uint64 // Skip: recv_offset_dgsp_bytes
	RetFlags, CtlFlags       int32
}

// Bits of RetFlags, values of CtlFlags.
const (
	RetLocalState = 1
	RetSendReply  = 2
	CtlBury       = 1
	CtlDrop       = 2
)
