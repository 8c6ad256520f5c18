package dgsm

import (
	"math"

	"lapi/core/lapi/codes"
	"lapi/transport"
)

// Machine is a position in a transfer: n bytes of a stream whose places in memory a program gives,
// repeated as often as needed. Start begins a transfer; a Machine may be used for many, one after
// the other, and then allocates nothing more once it has met its deepest program. The zero Machine
// is a transfer of no bytes. It must not be copied in use.
type Machine struct {
	p     *Program
	base  uint64
	first uint64 // bytes of the program before the transfer's first
	n     uint64
	pos   uint64
	ddm   DDM

	// Where pos is, while pos < n: at byte rem of block blk of leaf, a step without sub.
	leaf     *op
	leafBase uint64 // of the pass that leaf belongs to
	blk, rem uint64
	// frames[:active] are the routines active, the main routine first; none for a regular
	// program.
	frames []frame
	active int
}

// frame is an active routine.
type frame struct {
	r      *routine
	base   uint64 // of the current pass; addresses wrap around
	at     int    // index in r.ops of the current step
	pass   uint64 // passes behind
	passes uint64 // of all
	stride uint64
}

// Transfer is what a Machine does: Bytes bytes from the Program's byte First on, with the user's
// buffer at Base. Base 0 means that the program's offsets are addresses.
type Transfer struct {
	Program *Program
	Base    transport.Addr
	First   uint64
	Bytes   uint64
	// DDM is called for data that is scattered in CONTROL mode.
	DDM DDM
}

// Piece is a block of user memory, with arguments for the DDM function; Operation is NoControl out
// of CONTROL mode.
type Piece struct {
	Addr      transport.Addr
	N         uint64
	Operation int32
	Operand   int32
}

// StartGather begins a transfer that reads user memory. Errors: LAPI_ERR_DGSP (no program),
// LAPI_ERR_DGSP_CTL (CONTROL is for scattering), LAPI_ERR_DGSP_OTHER (no bytes in the program, or
// more asked for than can be), and whatever registering without verification has let pass.
func (m *Machine) StartGather(t Transfer) *Error {
	if t.Program != nil && t.Program.control {
		return errorf(codes.ErrDgspCtl, "a program with CONTROL cannot gather")
	}
	return m.start(t)
}

// StartScatter begins a transfer that writes user memory. gatherAtom is the atom_size of the
// program that gathered the data; -1 if the data comes in one fragment. Errors as StartGather;
// LAPI_ERR_DGSP_CTL if the program has CONTROL and the fragments no atoms, or there is no DDM
// function.
func (m *Machine) StartScatter(t Transfer, gatherAtom int32) *Error {
	if t.Program != nil && t.Program.control && t.Bytes > 0 {
		switch {
		case gatherAtom == 0:
			return errorf(codes.ErrDgspCtl,
				"a program with CONTROL needs data that was gathered with an atom size")
		case t.DDM == nil:
			return errorf(codes.ErrDgspCtl,
				"a program with CONTROL, but no DDM function is registered")
		}
	}
	return m.start(t)
}

func (m *Machine) start(t Transfer) *Error {
	p := t.Program
	*m = Machine{frames: m.frames}
	if p == nil {
		return errorf(codes.ErrDgsp, "no program")
	}
	if t.First > MaxBytes || t.Bytes > MaxBytes {
		return errorf(codes.ErrDgspOther, "more bytes than can be counted")
	}
	if err := p.usable(t.First + t.Bytes); err != nil {
		return err
	}
	if !p.regular && len(m.frames) < p.depth {
		m.frames = make([]frame, p.depth)
	}
	m.p, m.base, m.first, m.n, m.ddm = p, uint64(t.Base), t.First, t.Bytes, t.DDM
	m.seek(0)
	return nil
}

// usable says whether n bytes of the program can be transferred.
func (p *Program) usable(n uint64) *Error {
	switch {
	case p.fault != nil:
		return p.fault
	case n > 0 && p.main.size == 0:
		return errorf(codes.ErrDgspOther, "the program covers no bytes")
	case n > p.main.size && !p.main.loops:
		return errorf(codes.ErrDgspBranch,
			"the main routine's ITERATE does not branch to its beginning")
	}
	return nil
}

// Seek goes to the transfer's byte at, without passing those before it. False, and nothing changes,
// if there are fewer bytes.
func (m *Machine) Seek(at uint64) bool {
	if at > m.n {
		return false
	}
	if at != m.pos {
		m.seek(at)
	}
	return true
}

func (m *Machine) seek(at uint64) {
	m.pos = at
	if at == m.n {
		return // there is no such byte; the next Seek starts anew
	}
	at += m.first
	if m.p.regular {
		m.enter(&m.p.flat, m.base, at)
		return
	}
	main := m.p.main
	pass := at / main.size
	extent := uint64(m.p.Extent)
	m.active = 1
	f := &m.frames[0]
	*f = frame{r: main, base: m.base + pass*extent, pass: pass, passes: math.MaxUint64,
		stride: extent}
	at %= main.size
	for {
		f.at = f.r.find(at)
		o := &f.r.ops[f.at]
		at -= o.start
		if o.sub == nil {
			m.enter(o, f.base, at)
			return
		}
		pass = at / o.block
		f = m.push(f, o, pass)
		at %= o.block
	}
}

// push makes the routine that o, a step of f, calls active in the given pass.
func (m *Machine) push(f *frame, o *op, pass uint64) *frame {
	sub := &m.frames[m.active]
	m.active++
	stride := uint64(o.stride)
	*sub = frame{r: o.sub, base: f.base + uint64(o.offset) + pass*stride, pass: pass,
		passes: o.count, stride: stride}
	return sub
}

// enter makes o the current step, at its byte at.
func (m *Machine) enter(o *op, base, at uint64) {
	m.leaf, m.leafBase = o, base
	if at < o.block {
		m.blk, m.rem = 0, at
		return
	}
	m.blk, m.rem = at/o.block, at%o.block
}

// find is the index of the step that covers byte at of a pass.
func (r *routine) find(at uint64) int {
	low, high := 0, len(r.ops)-1
	for low < high {
		middle := int(uint(low+high+1) / 2)
		if r.ops[middle].start <= at {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// run is count blocks of n bytes in memory, stride apart.
type run struct {
	addr, n, count, stride uint64
}

// run returns what is next, at most limit bytes of it: one block or a part of it, or several whole
// blocks. limit is positive and at most what is left.
func (m *Machine) run(limit uint64) run {
	o := m.leaf
	stride := uint64(o.stride)
	r := run{place(m.base, m.leafBase+uint64(o.offset)+m.blk*stride+m.rem), o.block - m.rem, 1,
		stride}
	if limit <= r.n {
		r.n = limit
		return r
	}
	if m.rem == 0 && o.count > 1 {
		r.count = min(o.count-m.blk, limit/o.block)
	}
	return r
}

// Place is the address at offset from a transfer's base. Without a base the offset is the address,
// in a long of C: where that has 32 bits, the upper half of the addresses is negative.
func Place(base transport.Addr, offset int64) transport.Addr {
	return transport.Addr(place(uint64(base), uint64(base)+uint64(offset)))
}

// place is Place of an address computed from base.
func place(base, address uint64) uint64 {
	if longInts == 1 && base == 0 {
		return uint64(uint32(address))
	}
	return address
}

// pass goes on behind what run returned.
func (m *Machine) pass(r *run) {
	m.pos += r.n * r.count
	if r.count > 1 {
		m.blk += r.count
	} else if m.rem += r.n; m.rem == m.leaf.block {
		m.blk, m.rem = m.blk+1, 0
	}
	if m.blk == m.leaf.count && m.pos < m.n {
		m.next()
	}
}

// next goes to the next step. Every routine here has at least one, and the main routine never ends,
// so it finds one.
func (m *Machine) next() {
	f := &m.frames[m.active-1]
	for f.at++; f.at == len(f.r.ops); f.at++ {
		if f.pass++; f.pass < f.passes {
			f.base += f.stride
			f.at = 0
			break
		}
		m.active--
		f = &m.frames[m.active-1]
	}
	o := &f.r.ops[f.at]
	for o.sub != nil {
		f = m.push(f, o, 0)
		o = &f.r.ops[0]
	}
	m.leaf, m.leafBase, m.blk, m.rem = o, f.base, 0, 0
}

// control is what is in force at the current position: what was set last on the way here.
func (m *Machine) control() control {
	if !m.p.control {
		return noControl
	}
	o := m.leaf
	for i := m.active - 1; ; i-- {
		f := &m.frames[i]
		switch {
		case o.set:
			return o.ctl
		case f.pass > 0 && f.r.sets:
			return f.r.exit
		case i == 0:
			return noControl
		}
		above := &m.frames[i-1]
		o = &above.r.ops[above.at]
	}
}

// Next returns the next block in the order of the stream, at most limit bytes of it, and goes on
// behind it; false at the end, or with a limit of 0.
func (m *Machine) Next(limit uint64) (Piece, bool) {
	limit = min(limit, m.n-m.pos)
	if limit == 0 {
		return Piece{Operation: NoControl}, false
	}
	r := m.run(limit)
	r.count = 1
	c := m.control()
	m.pass(&r)
	return Piece{transport.Addr(r.addr), r.n, c.operation, c.operand}, true
}

// Pieces fills list with the next blocks, at most limit bytes of them, and goes on behind them;
// blocks that touch are one. It returns how many there are: fewer than len(list) only at limit or
// at the end.
func (m *Machine) Pieces(list []Piece, limit uint64) int {
	count := 0
	for {
		before := m.pos
		piece, ok := m.Next(limit)
		if !ok {
			return count
		}
		if count > 0 && list[count-1].joins(&piece) {
			list[count-1].N += piece.N
		} else if count < len(list) {
			list[count] = piece
			count++
		} else {
			m.seek(before)
			return count
		}
		limit -= piece.N
	}
}

// joins says whether next is the continuation of a.
func (a *Piece) joins(next *Piece) bool {
	return a.Addr+transport.Addr(a.N) == next.Addr && a.Operation == next.Operation &&
		a.Operand == next.Operand
}
