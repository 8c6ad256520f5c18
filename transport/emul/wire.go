package emul

import (
	"encoding/binary"

	"lapi/transport"
)

// Headers of the two messages, little-endian, so that 32- and 64-bit tasks understand each other.
//
//	request: kind u8 | width u8 | 0 u16 | 0 u32 | token u64 | remote address u64 | bytes u64 |
//	         operand u64 | compare u64
//	reply:   state u8 | 0 u8 | 0 u16 | 0 u32 | token u64 | result u64, or the bad address
//
// The data of a put follows the request, that of a get the reply. token is the origin's; the reply
// repeats it.
const (
	requestSize = 48
	replySize   = 24
)

// Kinds of request: transport.AtomicKind as it is, and these.
const (
	kindPut = 0x10
	kindGet = 0x11
)

// States of a reply.
const (
	stateOK      = iota
	stateFault   // result is the address
	stateRefused // the target does not understand the request
)

type request struct {
	kind, width                        uint8
	token, remote, n, operand, compare uint64
}

func (r *request) encode(b *[requestSize]byte) {
	*b = [requestSize]byte{r.kind, r.width}
	for i, v := range [...]uint64{r.token, r.remote, r.n, r.operand, r.compare} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
}

// decode reads a request; false if b is none. The request's contents are not checked.
func (r *request) decode(b []byte) bool {
	if len(b) != requestSize {
		return false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8+8*i:]) }
	*r = request{b[0], b[1], word(0), word(1), word(2), word(3), word(4)}
	return true
}

func (r *request) atomic() transport.AtomicKind { return transport.AtomicKind(r.kind) }

type reply struct {
	state         uint8
	token, result uint64
}

func (r *reply) encode(b *[replySize]byte) {
	*b = [replySize]byte{r.state}
	binary.LittleEndian.PutUint64(b[8:], r.token)
	binary.LittleEndian.PutUint64(b[16:], r.result)
}

// decode reads a reply; false if b is none.
func (r *reply) decode(b []byte) bool {
	if len(b) != replySize {
		return false
	}
	*r = reply{b[0], binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
	return true
}
