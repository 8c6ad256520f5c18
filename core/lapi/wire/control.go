package wire

import (
	"lapi/transport"
	"lapi/transport/layout"
)

// Completion is MsgCounter: the counter at Cntr grows by More and 1.
//
//	0 Cntr | 8 More
type Completion struct {
	Cntr transport.Addr
	More uint64 // below layout.RingSlots: no more can be under way
}

// Encode writes h to b and returns its bytes.
func (h *Completion) Encode(b []byte) []byte { return encode(b, uint64(h.Cntr), h.More) }

// Decode says whether b is such a header.
func (h *Completion) Decode(b []byte) bool {
	w, ok := decode(b, 2)
	*h = Completion{transport.Addr(w[0]), w[1]}
	return ok && h.More < layout.RingSlots
}

// Read is MsgRead: the sender has read Bytes of the receiver's memory; the counter at TgtCntr
// grows, if that is not 0.
//
//	0 TgtCntr | 8 Bytes
type Read struct {
	TgtCntr transport.Addr
	Bytes   uint64
}

// Encode writes h to b and returns its bytes.
func (h *Read) Encode(b []byte) []byte { return encode(b, uint64(h.TgtCntr), h.Bytes) }

// Decode says whether b is such a header.
func (h *Read) Decode(b []byte) bool {
	w, ok := decode(b, 2)
	*h = Read{transport.Addr(w[0]), w[1]}
	return ok
}

// Outcome is what the target of a rendezvous did with the origin's data.
type Outcome uint64

// The outcomes of a rendezvous.
const (
	FetchRefused Outcome = 0 // it cannot be read: send it in fragments
	FetchDone    Outcome = 1 // it was read: its memory is free
	FetchNothing Outcome = 2 // of a vector: nor could the list of its blocks: send the lengths, too
	FetchPlaced  Outcome = 3 // it is to go where a DGSP says: send it in fragments, this time
	// it will not be read, the message is buried or has failed: its memory is free
	FetchUnread Outcome = 4
)

// Fetched is MsgFetched.
//
//	0 Token of the origin | 8 Outcome
type Fetched struct {
	Token   uint64
	Outcome Outcome
}

// Encode writes h to b and returns its bytes.
func (h *Fetched) Encode(b []byte) []byte { return encode(b, h.Token, uint64(h.Outcome)) }

// Decode says whether b is such a header.
func (h *Fetched) Decode(b []byte) bool {
	w, ok := decode(b, 2)
	*h = Fetched{w[0], Outcome(w[1])}
	return ok
}

// Exchange is MsgExchange: Count values of 8 bytes, those of the tasks First, First+1 … relative to
// the sender.
//
//	0 Generation (32) | 4 Round (32) | 8 First (32) | 12 Count (32)
type Exchange struct{ Generation, Round, First, Count uint32 }

// RefusedRound answers a task whose collective call cannot end, because the sender has given up
// collectives.
const RefusedRound = 1<<32 - 1

// LostRound notifies a task that may wait for the sender that the sender's collective call has
// failed: task First is lost.
const LostRound = 1<<32 - 2

// Encode writes h to b and returns its bytes.
func (h *Exchange) Encode(b []byte) []byte {
	return encode(b, halves(h.Generation, h.Round), halves(h.First, h.Count))
}

// Decode says whether b is such a header with n bytes of data.
func (h *Exchange) Decode(b []byte, n int) bool {
	w, ok := decode(b, 2)
	*h = Exchange{uint32(w[0]), uint32(w[0] >> 32), uint32(w[1]), uint32(w[1] >> 32)}
	return ok && uint64(h.Count)*8 == uint64(n)
}

// Fault is MsgFault: code of LAPI, kind of operation (lapi_err_t), the bad address, and the token
// of a get that ends so.
//
//	0 Code (32) | 4 Kind (32) | 8 Addr | 16 Token; 0: none
type Fault struct {
	Code, Kind uint32
	Addr       transport.Addr
	Token      uint64
}

// Encode writes h to b and returns its bytes.
func (h *Fault) Encode(b []byte) []byte {
	return encode(b, halves(h.Code, h.Kind), uint64(h.Addr), h.Token)
}

// Decode says whether b is such a header.
func (h *Fault) Decode(b []byte) bool {
	w, ok := decode(b, 3)
	*h = Fault{uint32(w[0]), uint32(w[0] >> 32), transport.Addr(w[1]), w[2]}
	return ok
}
