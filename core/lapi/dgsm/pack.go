package dgsm

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// Buffer is a packed buffer of the user's: Size bytes at Addr, of which those before Position are
// done with.
type Buffer struct {
	Addr     transport.Addr
	Size     uint64
	Position uint64
}

// room checks that n bytes from Position on lie in the buffer, and returns them.
func (b *Buffer) room(n uint64) ([]byte, error) {
	if b.Position > b.Size || n > b.Size-b.Position {
		return nil, errorf(codes.ErrPackSz, "%d bytes at position %d of a buffer of %d",
			n, b.Position, b.Size)
	}
	a := b.Addr + transport.Addr(b.Position)
	if n == 0 {
		return nil, nil
	}
	// memory.Bytes takes only what can be a slice; whether it can be accessed the copies find
	// out. A fault in the first page does not show which of the two addresses of a copy it was.
	if outside(uint64(b.Addr)) || outside(uint64(a)) || n > maxUser-uint64(a) {
		return nil, &transport.FaultError{Addr: a}
	}
	return memory.Bytes(a, n), nil
}

// Pack is LAPI_DGSP_PACK: gathers t.Bytes bytes to the buffer and moves its Position on. Each call
// starts at the program's beginning; t.First is not looked at. Errors: as StartGather;
// LAPI_ERR_PACK_SZ if the buffer is too small, *transport.FaultError for memory that cannot be
// accessed. Position does not change then.
func (m *Machine) Pack(t Transfer, out *Buffer) error {
	t.First = 0
	if err := m.StartGather(t); err != nil {
		return err
	}
	dst, err := out.room(t.Bytes)
	if err != nil {
		return err
	}
	if err := m.Gather(dst, 0); err != nil {
		return err
	}
	out.Position += t.Bytes
	return nil
}

// Unpack is LAPI_DGSP_UNPACK: scatters t.Bytes bytes of the buffer and moves its Position on.
// outSize is how many bytes there are at t.Base; it is not looked at where t.Base is 0, as there is
// no such buffer. Errors: as StartScatter; LAPI_ERR_PACK_SZ if the buffer holds too few bytes or
// the program would write behind the output buffer, *transport.FaultError. Position does not change
// then.
func (m *Machine) Unpack(t Transfer, in *Buffer, outSize uint64) error {
	t.First = 0
	if err := m.StartScatter(t, -1); err != nil {
		return err
	}
	src, err := in.room(t.Bytes)
	if err != nil {
		return err
	}
	if _, hi, ok := t.Program.Span(t.Bytes); t.Base != 0 &&
		(!ok || hi > 0 && uint64(hi) > outSize) {
		return errorf(codes.ErrPackSz, "%d bytes end at %d of an output buffer of %d",
			t.Bytes, hi, outSize)
	}
	if err := m.Scatter(src, 0); err != nil {
		return err
	}
	in.Position += t.Bytes
	return nil
}

// User memory lies between these on every architecture.
const (
	minUser = 4096
	maxUser = 1 << 56
)

// outside says that no user memory begins at a. Such an address must not become a slice: Go takes a
// nil slice of some length for misuse of unsafe and not for a fault.
func outside(a uint64) bool { return a-minUser >= maxUser-minUser }
