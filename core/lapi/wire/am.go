package wire

import (
	"lapi/transport"
	"lapi/transport/layout"
)

// Am is MsgAm. The user header follows in the link's header, padded to 8 bytes, unless it is split:
// then it begins the stream that MsgAmFragment carries. Rendezvous: no data follows; the target
// fetches it from Direct, then sends MsgFetched with Token. Listed: the stream is the list of the
// blocks that the target fetches.
//
//	0 Handler | 8 Length of user data | 16 TgtCntr | 24 CmplCntr | 32 Direct | 40 Token
//	48 ID (32) | 52 length of user header (16) | 54 Split (1) | Rendezvous (2) | Listed (4) |
//	Atom << 8 (16)
type Am struct {
	Handler           transport.Addr
	Length            uint64
	TgtCntr, CmplCntr transport.Addr
	Direct            transport.Addr
	Token             uint64
	ID                uint32
	UhdrLen           uint16
	Split, Rendezvous bool
	Listed            bool  // of a rendezvous
	Atom              uint8 // atom_size of the DGSP that gathers the data; 0: none
}

const (
	// AmSize is the length of an Am, AmvSize that of an Amv, each without user header.
	AmSize  = 56
	AmvSize = 32

	amSplit      = 1
	amRendezvous = 2
	amListed     = 4
	amAtomShift  = 8 // of the flags, the upper byte is atom_size
)

// Encode writes h to b and returns its bytes.
func (h *Am) Encode(b []byte) []byte {
	flags := uint64(h.Atom) << amAtomShift
	if h.Split {
		flags |= amSplit
	}
	if h.Rendezvous {
		flags |= amRendezvous
	}
	if h.Listed {
		flags |= amListed
	}
	return encode(b, uint64(h.Handler), h.Length, uint64(h.TgtCntr), uint64(h.CmplCntr),
		uint64(h.Direct), h.Token, uint64(h.ID)|uint64(h.UhdrLen)<<32|flags<<48)
}

// fields reads h without checking it.
func (h *Am) fields(b []byte) {
	w, _ := decode(b[:AmSize], AmSize/8)
	flags := w[6] >> 48
	*h = Am{transport.Addr(w[0]), w[1], transport.Addr(w[2]), transport.Addr(w[3]),
		transport.Addr(w[4]), w[5], uint32(w[6]), uint16(w[6] >> 32), flags&amSplit != 0,
		flags&amRendezvous != 0, flags&amListed != 0, uint8(flags >> amAtomShift)}
}

// Decode returns the user header that came along (empty if split) and whether all lengths agree
// with n bytes of data.
func (h *Am) Decode(b []byte, n int) (uhdr []byte, ok bool) {
	if len(b) < AmSize {
		return nil, false
	}
	h.fields(b)
	if h.UhdrLen > MaxUhdrSize || uint64(n) > h.Length || (h.Split || h.Rendezvous) && n != 0 ||
		h.Listed {
		return nil, false
	}
	return h.uhdr(b, AmSize)
}

// uhdr is the user header behind size bytes of headers in b.
func (h *Am) uhdr(b []byte, size int) (uhdr []byte, ok bool) {
	if h.Split {
		return nil, len(b) == size && h.UhdrLen != 0
	}
	if len(b) != size+Pad8(int(h.UhdrLen)) {
		return nil, false
	}
	return b[size : size+int(h.UhdrLen)], true
}

// Amv follows Am in MsgAmv: the origin's vector as far as the target needs it. The lengths of a
// list's blocks, 8 bytes each, head the stream (behind a split user header). Of a rendezvous, the
// list lies at Base in the origin's memory instead, or is the stream (Listed): 16 bytes for each
// block.
//
//	0 Kind (32) | 4 Count (32) | 8 Base | 16 Block | 24 Stride
type Amv struct {
	Kind, Count   uint32
	Base          transport.Addr
	Block, Stride uint64
}

// Encode writes h to b and returns its bytes.
func (h *Amv) Encode(b []byte) []byte {
	return encode(b, halves(h.Kind, h.Count), uint64(h.Base), h.Block, h.Stride)
}

// Lengths is how many bytes of lengths there are.
func (h *Amv) Lengths() uint64 {
	if h.Kind == VectorStrided {
		return 0
	}
	return 8 * uint64(h.Count)
}

// ListMax is the most blocks of a list that is the stream of a rendezvous: a task keeps it until the
// message is over.
const ListMax = 4096

// List is how many bytes such a list has.
func (h *Amv) List() uint64 { return EntrySize * uint64(h.Count) }

// DecodeAmv reads the headers of MsgAmv with n bytes of data, and returns the user header that came
// along.
func DecodeAmv(h *Am, v *Amv, b []byte, n int) (uhdr []byte, ok bool) {
	const size = AmSize + AmvSize
	if len(b) < size {
		return nil, false
	}
	h.fields(b)
	w, _ := decode(b[AmSize:size], AmvSize/8)
	*v = Amv{uint32(w[0]), uint32(w[0] >> 32), transport.Addr(w[1]), w[2], w[3]}
	switch {
	case h.UhdrLen > MaxUhdrSize || h.Length > LongestMessage || v.Kind > VectorGeneric:
		return nil, false
	case v.Kind == VectorStrided && (v.Block > v.Stride || v.Block*uint64(v.Count) != h.Length):
		return nil, false
	case v.Kind != VectorStrided && v.Count > BlocksMax, v.Count == 0 && h.Length > 0:
		return nil, false
	case h.Listed && (!h.Rendezvous || v.Kind == VectorStrided || v.Count > ListMax):
		return nil, false
	case (h.Split || h.Rendezvous && !h.Listed) && n != 0, h.Split && h.Rendezvous:
		return nil, false
	case h.Listed && uint64(n) > v.List(), !h.Listed && uint64(n) > v.Lengths()+h.Length:
		return nil, false
	}
	return h.uhdr(b, size)
}

const (
	smallSize    = 24
	smallHandler = 1<<layout.AmPaddingShift - 1
	smallUnknown = 1 << 31
)

// DecodeSmall reads MsgAmSmall, cshim_am_header: a whole active message.
//
//	0 handler (56) and padding behind the user header (8) | 8 TgtCntr | 16 CmplCntr | 24 user header
func DecodeSmall(m *transport.Msg) (h Am, uhdr []byte, ok bool) {
	b := m.Hdr
	if len(b) < smallSize {
		return h, nil, false
	}
	first := Order.Uint64(b)
	padding := int(first >> layout.AmPaddingShift)
	n := len(b) - smallSize - padding
	if padding > 7 || n < 0 || n > MaxUhdrSize {
		return h, nil, false
	}
	h.Handler, h.Length = transport.Addr(first&smallHandler), uint64(len(m.Data))
	h.TgtCntr, h.CmplCntr, h.UhdrLen = addr(b[8:]), addr(b[16:]), uint16(n)
	// it has no number: one of its index stands for all that wait for the index
	if h.Handler < HandlerIndices {
		h.ID = smallUnknown | uint32(h.Handler)
	}
	return h, b[smallSize : smallSize+n], true
}
