package dgsm

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// DDM is a user's data distribution manager function (ddm_func_t): it combines n bytes at in with
// those at inout and returns how many bytes it has dealt with.
type DDM func(in, inout transport.Addr, n uint64, operand, operation int32) int64

// Gather copies len(dst) bytes of the stream, from byte at on, from user memory to dst. Fragments
// may be gathered in any order; one after the other costs no search. A *transport.FaultError says
// which address cannot be accessed, in the user's buffer or dst; the bytes before it may have been
// copied. LAPI_ERR_DGSP_OTHER if the fragment is not within the transfer.
func (m *Machine) Gather(dst []byte, at uint64) error {
	if err := m.fragment(len(dst), at); err != nil {
		return err
	}
	m.gatherAll(dst)
	for dst = dst[m.pos-at:]; len(dst) > 0; {
		piece := m.run(uint64(len(dst)))
		piece.count = 1
		if err := memory.CopyOut(dst[:piece.n], transport.Addr(piece.addr)); err != nil {
			return err
		}
		m.pass(&piece)
		dst = dst[piece.n:]
	}
	return nil
}

// Scatter copies src, the bytes of the stream from byte at on, to user memory, or has the DDM
// function do it. src must not lie on the Go heap or a goroutine's stack if there is a DDM function
// to see it. Fragments may come in any order, each once; errors as Gather; LAPI_ERR_DGSP_CTL if the
// DDM function deals with none of the bytes given to it, or more.
func (m *Machine) Scatter(src []byte, at uint64) error {
	if err := m.fragment(len(src), at); err != nil {
		return err
	}
	if !m.controlled() {
		m.scatterAll(src)
	}
	for src = src[m.pos-at:]; len(src) > 0; {
		piece := m.run(uint64(len(src)))
		piece.count = 1
		if err := m.deliver(src[:piece.n], transport.Addr(piece.addr)); err != nil {
			return err
		}
		m.pass(&piece)
		src = src[piece.n:]
	}
	return nil
}

// controlled says whether some data of the transfer may be for the DDM function.
func (m *Machine) controlled() bool { return m.p != nil && m.p.control }

// fragment goes to a fragment of n bytes.
func (m *Machine) fragment(n int, at uint64) error {
	if at > m.n || uint64(n) > m.n-at {
		return errorf(codes.ErrDgspOther, "bytes from %d to %d of a transfer of %d",
			at, at+uint64(n), m.n)
	}
	m.Seek(at)
	return nil
}

// deliver writes a block to its place.
func (m *Machine) deliver(src []byte, dst transport.Addr) error {
	c := m.control()
	if c.operation == NoControl {
		return memory.CopyIn(dst, src)
	}
	for len(src) > 0 {
		n := uint64(len(src))
		done := m.ddm(memory.AddrOf(src), dst, n, c.operand, c.operation)
		if done <= 0 || uint64(done) > n {
			return errorf(codes.ErrDgspCtl, "the DDM function returned %d for %d bytes", done, n)
		}
		src, dst = src[done:], dst+transport.Addr(done)
	}
	return nil
}

// gatherAll is Gather from the current position, as far as nothing is wrong: it leaves the machine
// before the run that meets a bad address. The guard is one for all runs; what is wrong the caller
// finds out by copying that run's blocks one by one.
func (m *Machine) gatherAll(dst []byte) {
	defer func() { _ = recover() }()
	for len(dst) > 0 {
		r := m.run(uint64(len(dst)))
		n := r.n * r.count
		if !memory.GatherBlocks(dst[:n], transport.Addr(r.addr), r.n, r.stride) {
			return
		}
		m.pass(&r)
		dst = dst[n:]
	}
}

// scatterAll is gatherAll the other way.
func (m *Machine) scatterAll(src []byte) {
	defer func() { _ = recover() }()
	for len(src) > 0 {
		r := m.run(uint64(len(src)))
		n := r.n * r.count
		if !memory.ScatterBlocks(src[:n], transport.Addr(r.addr), r.n, r.stride) {
			return
		}
		m.pass(&r)
		src = src[n:]
	}
}
