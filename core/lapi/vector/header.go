package vector

import (
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// This file reads and writes the descriptions of vectors in messages.

// Describe fills what h says of the target's vector v, if v is strided. Of a list, each fragment
// has its own entries.
func (v *Vector) Describe(h *wire.Vector) {
	if v.Strided() {
		h.Base, h.Block, h.Stride = v.base, v.block, v.stride
	}
}

// ListMax is the most blocks of a list that leads a message.
const ListMax = wire.ListMax

// DescribeOrigin is what the header of an active message says of the origin's vector v.
func (v *Vector) DescribeOrigin() wire.Amv {
	a := wire.Amv{Kind: v.kind, Count: uint32(v.count), Block: v.block, Stride: v.stride}
	if v.Strided() {
		a.Base = v.base
	}
	return a
}

// Origin makes v the origin's vector that a describes, of n bytes; its list, if it has one, is
// still to be fetched.
func (v *Vector) Origin(a *wire.Amv, n uint64) {
	v.Reset()
	v.kind, v.count, v.total, v.base, v.block, v.stride = a.Kind, uint64(a.Count), n, a.Base,
		a.Block, a.Stride
}

// strided makes v what h describes, if it has no entries. Its extent may be anything: addresses
// wrap, and are checked when used.
func (v *Vector) strided(h *wire.Vector) {
	v.Reset()
	v.kind, v.base, v.block, v.stride, v.total = wire.VectorStrided, h.Base, h.Block, h.Stride,
		h.Total
	if h.Block > 0 {
		v.count = (h.Total + h.Block - 1) / h.Block
	}
}

// Asked fills v with the part of this task's memory that a request asks for. False: no task of this
// version asks so.
func (v *Vector) Asked(h *wire.Vector, data []byte) bool {
	if h.Entries == 0 {
		v.strided(h)
		return h.Offset == 0
	}
	v.EmptyList()
	for i := range h.Entries {
		a, n := wire.Entry(data, i)
		if n > h.Total-h.Offset-v.total {
			return false
		}
		v.Append(a, n)
	}
	return true
}

// Place puts a fragment of a vector put where its header says, or the entries at the head of all,
// which data follows. It uses v meanwhile. The error is a *transport.FaultError.
func (v *Vector) Place(h *wire.Vector, all, data []byte) error {
	if h.Entries == 0 {
		v.strided(h)
		return v.Scatter(h.Offset, data)
	}
	for i := range h.Entries {
		a, n := wire.Entry(all, i)
		if err := memory.CopyIn(a, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// entryMinData is the least data for which a fragment begins another block, bytes.
const entryMinData = 64

// Fit is how many bytes of v's stream from offset on, left at most, fit room bytes together with
// their entries. Of a strided vector there are no entries.
func (v *Vector) Fit(offset, left, room uint64) (entries int, n uint64) {
	if left == 0 || v.Strided() {
		return 0, min(left, room)
	}
	for at := v.At(offset); n < left; entries++ {
		if entries > 0 && room < wire.EntrySize+entryMinData {
			break
		}
		_, got := at.Next(min(left-n, room-wire.EntrySize))
		n, room = n+got, room-wire.EntrySize-got
	}
	return entries, n
}

// FitEntries is Fit where only entries go, most of them at most.
func (v *Vector) FitEntries(offset, left uint64, most int) (entries int, n uint64) {
	if left == 0 || v.Strided() {
		return 0, left
	}
	for at := v.At(offset); entries < most && n < left; entries++ {
		_, got := at.Next(left - n)
		n += got
	}
	return entries, n
}

// WriteEntries fills b with the entries of n bytes of the stream from offset on.
func (v *Vector) WriteEntries(b []byte, offset, n uint64) {
	at := v.At(offset)
	for i := range len(b) / wire.EntrySize {
		a, got := at.Next(n)
		wire.PutEntry(b, i, a, got)
		n -= got
	}
}

// WriteLengths fills b with the lengths of a list's blocks, 8 bytes each, from block i on.
func (v *Vector) WriteLengths(b []byte, i int) {
	for ; len(b) > 0; i++ {
		wire.Order.PutUint64(b, v.list[i].end-v.start(i))
		b = b[8:]
	}
}

// HasLengths says whether b holds the lengths of v's blocks.
func (v *Vector) HasLengths(b []byte) bool {
	if len(b) != 8*len(v.list) {
		return false
	}
	for i := range v.list {
		if v.list[i].end-v.start(i) != wire.Order.Uint64(b[8*i:]) {
			return false
		}
	}
	return true
}

// List is where v's list lies and how long it is, for a target that reads it straight from this
// task's memory.
func (v *Vector) List() (transport.Addr, uint64) {
	b := blockBytes(v.list)
	return memory.AddrOf(b), uint64(len(b))
}

// NewList gives v a list of as many blocks as it has, to be filled at that address with another
// task's List.
func (v *Vector) NewList() (transport.Addr, uint64) {
	v.list = make([]block, v.count)
	return v.List()
}

// Listed makes v the origin's vector that a describes, of n bytes, whose List is b. False: no task of
// this version sends such a list.
func (v *Vector) Listed(a *wire.Amv, n uint64, b []byte) bool {
	v.Origin(a, n)
	v.list = append(v.list[:0], make([]block, v.count)...)
	return copy(blockBytes(v.list), b) == int(a.List()) && v.ValidList()
}

// ValidList says whether v's list, which another task wrote, describes as many bytes as v has.
func (v *Vector) ValidList() bool {
	end := uint64(0)
	for i := range v.list {
		if v.list[i].end < end {
			return false
		}
		end = v.list[i].end
	}
	return end == v.total
}
