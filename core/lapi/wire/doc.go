// Package wire holds every header that LAPI tasks exchange: the kinds of messages, their limits,
// how they are written and read.
//
// All headers are little-endian, and their lengths are multiples of 8. They are the same for 32-
// and 64-bit tasks. Decode functions check what a header says about itself and its data; they never
// look at memory that it names. CardVersion changes with these formats.
//
//	doc.go      kinds of messages, limits
//	put.go      puts
//	get.go      gets, and fragments of answers and active messages
//	am.go       active messages
//	vector.go   puts and gets of vectors
//	control.go  the library's own messages
//	rmw.go      read-modify-writes
//	card.go     the version of all of them
package wire

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/layout"
)

// Limits of messages and calls.
const (
	MaxUhdrSize = 1984 // MAX_UHDR_SZ, bytes; one constant for all links
	// LAPI_MAX_MSG_SZ of this task, bytes: by the width of addresses
	MaxMessageSize = uint64(^uint(0) >> 1)
	LongestMessage = uint64(1<<63 - 1) // of any task, bytes
	// LOC_ADDRTBL_SZ: indices 1 … 255; no function lies below this address
	HandlerIndices = layout.LaneHandlers
	// BlocksMax bounds the blocks of a list, for each of which a task keeps 16 bytes.
	BlocksMax = 1 << 27
)

// Order is the byte order of all headers.
var Order = binary.LittleEndian

// The kinds of messages.
const (
	MsgPut         transport.MsgID = 1 + iota // a whole put
	MsgPutFragment                            // a fragment of a put, placed by itself
	MsgGet                                    // asks for data
	MsgGetData                                // answers with a fragment of it
	MsgAm                                     // begins an active message
	MsgAmFragment                             // goes on with it: user header, then user data
	MsgFetched                                // the outcome of a rendezvous
	MsgCounter                                // adds to a counter: message completion
	MsgExchange                               // a round of Gfence or Address_init
	MsgFault                                  // an address that the receiver named was bad
	MsgAtomic                                 // emul: request
	MsgAtomicReply                            // emul: reply
	MsgPutDirect                              // a single-copy put is in place
	MsgPutv                                   // a fragment of a vector put, placed by itself
	MsgGetv                                   // asks for a part of a vector
	MsgAmv                                    // begins an active message of a vector
	MsgRead                                   // a single-copy get has read the receiver's memory
	MsgAmPieces                               // a rendezvous for data in blocks; headers as MsgAmv
)

// MsgAmSmall is a whole active message, as the lane writes it (cshim/lane/message.h). Core
// understands it as well, for tasks without a lane and for what the lane leaves to it.
const MsgAmSmall transport.MsgID = layout.MsgAmSmall

// Core and the lane write these kinds alike.
var (
	_ [layout.MsgPut - int(MsgPut)]struct{}
	_ [int(MsgPut) - layout.MsgPut]struct{}
	_ [layout.MsgCounter - int(MsgCounter)]struct{}
	_ [int(MsgCounter) - layout.MsgCounter]struct{}
)

// names are what a trace calls the kinds.
var names = [transport.MaxMsgID + 1]string{
	MsgPut: "put", MsgPutFragment: "put fragment", MsgGet: "get", MsgGetData: "get data",
	MsgAm: "active message", MsgAmFragment: "active message fragment", MsgFetched: "fetched",
	MsgCounter: "completion", MsgExchange: "exchange",
	MsgFault: "fault", MsgAtomic: "rmw", MsgAtomicReply: "rmw reply", MsgPutDirect: "direct put",
	MsgPutv: "put vector", MsgGetv: "get vector", MsgAmv: "active message vector",
	MsgRead: "direct get", MsgAmPieces: "active message pieces",
}

// Name is what a trace calls messages of that kind.
func Name(id transport.MsgID) string {
	if int(id) < len(names) && names[id] != "" {
		return names[id]
	}
	return "message"
}

// Pad8 is n, rounded up to a multiple of 8.
func Pad8(n int) int { return (n + 7) &^ 7 }

// Inside says whether [offset, offset+n) lies in [0, total).
func Inside(offset, n, total uint64) bool { return offset <= total && n <= total-offset }

func addr(b []byte) transport.Addr { return transport.Addr(Order.Uint64(b)) }

// encode writes words to b and returns their bytes.
func encode(b []byte, words ...uint64) []byte {
	for i, w := range words {
		Order.PutUint64(b[8*i:], w)
	}
	return b[:8*len(words)]
}

// decode reads n words; false: b is not as long.
func decode(b []byte, n int) (words [8]uint64, ok bool) {
	if len(b) != 8*n {
		return words, false
	}
	for i := range n {
		words[i] = Order.Uint64(b[8*i:])
	}
	return words, true
}

// halves is a word of two.
func halves(low, high uint32) uint64 { return uint64(low) | uint64(high)<<32 }
