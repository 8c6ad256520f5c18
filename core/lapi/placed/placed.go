// Package placed is data that lies as a DGSP says, at one end of an active message: the program,
// which the library keeps meanwhile, and the machine that runs it.
package placed

import (
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/vector"
	"lapi/transport"
)

// Placement is one end of a message.
type Placement struct {
	next    *Placement
	hold    dgsm.Hold
	machine dgsm.Machine
	first   uint64 // of the program's stream: where the message begins
	bytes   uint64 // how many of the message to deliver
}

// Pool makes Placements and uses them again.
type Pool struct {
	registry *dgsm.Registry
	free     *Placement
}

// NewPool is a Pool of programs in that registry.
func NewPool(r *dgsm.Registry) Pool { return Pool{registry: r} }

// hold keeps the program of a handle. LAPI_ERR_DGSP: it is not registered.
func (o *Pool) hold(handle transport.Addr) (*Placement, *dgsm.Error) {
	hold, err := o.registry.Hold(handle)
	if err != nil {
		return nil, err
	}
	l := o.free
	if l == nil {
		l = new(Placement)
	} else {
		o.free = l.next
	}
	l.hold, l.first = hold, 0
	return l, nil
}

// Gather is the origin's end of a message of n bytes that the DGSP gathers at base, from byte first
// of its stream on.
func (o *Pool) Gather(handle, base transport.Addr, first, n uint64) (*Placement, *dgsm.Error) {
	l, err := o.hold(handle)
	if err != nil {
		return nil, err
	}
	l.first, l.bytes = first, n
	if err = l.machine.StartGather(dgsm.Transfer{Program: l.hold.Program(), Base: base,
		First: first, Bytes: n}); err != nil {
		o.Free(l)
		return nil, err
	}
	return l, nil
}

// Scatter is the target's end of a message of which n bytes go where the DGSP says, from byte first
// of its stream on. atom is atom_size at the origin, 0 if there was none.
func (o *Pool) Scatter(handle, base transport.Addr, first, n uint64, ddm dgsm.DDM,
	atom int32) (*Placement, *dgsm.Error) {
	l, err := o.hold(handle)
	if err != nil {
		return nil, err
	}
	l.bytes = n
	if err = l.machine.StartScatter(dgsm.Transfer{Program: l.hold.Program(), Base: base,
		First: first, Bytes: n, DDM: ddm}, atom); err != nil {
		o.Free(l)
		return nil, err
	}
	return l, nil
}

// Free ends l, which may be nil.
func (o *Pool) Free(l *Placement) {
	if l == nil {
		return
	}
	o.registry.Release(l.hold)
	l.hold = dgsm.Hold{}
	l.next = o.free
	o.free = l
}

// Bytes is how many bytes of the message are delivered.
func (l *Placement) Bytes() uint64 { return l.bytes }

// AtomSize is the program's atom_size; 0: none.
func (l *Placement) AtomSize() uint8 { return uint8(l.hold.Program().AtomSize) }

// Contiguous says whether all data lies in one block, whose place is offset from the base, and need
// not be kept in atoms.
func (l *Placement) Contiguous() (offset int64, ok bool) {
	program := l.hold.Program()
	offset, ok = program.Contiguous(l.first + l.bytes)
	return offset + int64(l.first), ok && program.AtomSize == 0
}

// Cut is how much of n bytes a fragment takes that begins at offset of the message, of left bytes
// that there are: no atom is split. Atoms are counted from the beginning of the program's stream,
// so the first of a message that begins inside one is the rest of it.
func (l *Placement) Cut(offset, n, left uint64) uint64 {
	program := l.hold.Program()
	if n == left || program.AtomSize == 0 {
		return n
	}
	begun := (l.first + offset) % uint64(program.AtomSize)
	return max(program.AtomAlign(begun+n), begun) - begun
}

// CopyOut gathers len(dst) bytes of the message, from offset on.
func (l *Placement) CopyOut(dst []byte, offset uint64) error {
	return l.machine.Gather(dst, offset)
}

// CopyIn scatters data, which begins at offset of the message. Bytes that are not to be delivered
// are dropped.
func (l *Placement) CopyIn(offset uint64, data []byte) error {
	if offset >= l.bytes {
		return nil
	}
	return l.machine.Scatter(data[:min(uint64(len(data)), l.bytes-offset)], offset)
}

// List makes v the blocks of the message's data, for single copies. False: they are more than most,
// or a DDM function is to see the data.
func (l *Placement) List(v *vector.Vector, most uint64) bool {
	v.EmptyList()
	if l.hold.Program().HasControl() {
		return false
	}
	var batch [32]dgsm.Piece
	l.machine.Seek(0)
	for left := l.bytes; left > 0; {
		got := l.machine.Pieces(batch[:], left)
		for i := range batch[:got] {
			left -= batch[i].N
			v.Append(batch[i].Addr, batch[i].N)
		}
		if v.Pieces() > most {
			return false
		}
	}
	return true
}
