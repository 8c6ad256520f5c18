package wire

import "lapi/transport"

// Get is MsgGet.
//
//	0 TgtAddr | 8 Length; the highest bit is Single | 16 TgtCntr | 24 Token of the origin
type Get struct {
	TgtAddr transport.Addr
	Length  uint64
	TgtCntr transport.Addr
	Token   uint64
	Single  bool // the answer keeps to one address
}

const getSingle = 1 << 63

// Encode writes h to b and returns its bytes.
func (h *Get) Encode(b []byte) []byte {
	return encode(b, uint64(h.TgtAddr), singly(h.Length, h.Single), uint64(h.TgtCntr), h.Token)
}

// singly is a length with the bit that says whether its data keeps to one address.
func singly(n uint64, single bool) uint64 {
	if single {
		return n | getSingle
	}
	return n
}

// Decode says whether b is such a header.
func (h *Get) Decode(b []byte) bool {
	w, ok := decode(b, 4)
	*h = Get{TgtAddr: transport.Addr(w[0]), Length: w[1] &^ getSingle, Single: w[1]&getSingle != 0,
		TgtCntr: transport.Addr(w[2]), Token: w[3]}
	return ok
}

// Part is MsgGetData and MsgAmFragment: which message, and where in it the data belongs.
//
//	0 Message: token of the get, or id of the active message | 8 Offset
type Part struct {
	Message, Offset uint64
}

// PartSize is the length of a Part.
const PartSize = 16

// Encode writes h to b and returns its bytes.
func (h *Part) Encode(b []byte) []byte { return encode(b, h.Message, h.Offset) }

// Decode says whether b is such a header.
func (h *Part) Decode(b []byte) bool {
	w, ok := decode(b, PartSize/8)
	*h = Part{w[0], w[1]}
	return ok
}
