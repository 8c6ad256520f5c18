package dgsm

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// assembler writes programs as a user of LAPI would: instruction after instruction into an array of
// ints.
type assembler struct{ code []int32 }

// long is a long of C in this task.
func (a *assembler) long(v int64) {
	var b [longSize]byte
	putLong(b[:], v)
	for at := 0; at < longSize; at += 4 {
		a.code = append(a.code, int32(native.Uint32(b[at:])))
	}
}

// pad is what C leaves out before a long, where it leaves something out. It holds anything.
func (a *assembler) pad() {
	if longSize == 8 {
		a.code = append(a.code, 0x5a5a5a5a)
	}
}

func (a *assembler) copy(n, offset int64) {
	a.code = append(a.code, 0)
	a.pad()
	a.long(n)
	a.long(offset)
}

func (a *assembler) mcopy(dispLen ...int64) {
	a.code = append(a.code, 1, int32(len(dispLen)/2))
	for _, v := range dispLen {
		a.long(v)
	}
}

// gosub leaves to_loc to be filled in; it returns the instruction's place.
func (a *assembler) gosub(reps, offset, stride int64) int {
	at := len(a.code)
	a.code = append(a.code, 2, 0, gosubSize)
	a.pad()
	a.long(reps)
	a.long(offset)
	a.long(stride)
	return at
}

func (a *assembler) iterate(entry int) { a.code = append(a.code, 3, int32(entry-len(a.code))) }

func (a *assembler) control(operation, operand int32) {
	a.code = append(a.code, 4, operation, operand)
}

// program is what a test knows of a program.
type program struct {
	Descriptor
	code []int32
}

// strided is count blocks of n bytes in each repetition, in a subroutine.
func strided(n, count, stride, extent int64) program {
	var a assembler
	call := a.gosub(count, 0, stride)
	a.iterate(0)
	a.code[call+gosubTo] = int32(len(a.code) - call)
	entry := len(a.code)
	a.copy(n, 0)
	a.iterate(entry)
	return program{Descriptor{Depth: 2, Size: n * count, Extent: extent, Lext: 0,
		Rext: (count-1)*stride + n}, a.code}
}

// simple is one block of n bytes at offset.
func simple(n, offset, extent int64) program {
	var a assembler
	a.copy(n, offset)
	a.iterate(0)
	return program{Descriptor{Depth: 1, Density: Contig, Size: n, Extent: extent, Lext: offset,
		Rext: offset + n}, a.code}
}

// random makes a valid program: routines that call those after them, all of small numbers.
func random(rnd *rand.Rand, controls bool) program {
	var a assembler
	type call struct{ at, routine int }
	var calls []call
	routines := 1 + rnd.IntN(4)
	entries := make([]int, routines)
	offset := func() int64 { return int64(rnd.IntN(120)) - 50 }
	length := func() int64 {
		if rnd.IntN(4) == 0 { // a length with instructions of its own in transport/memory, or none
			return []int64{16, 24, 32, 40, 48, 64}[rnd.IntN(6)]
		}
		return max(0, int64(rnd.IntN(14))-1)
	}
	for r := range routines {
		entries[r] = len(a.code)
		for range rnd.IntN(5) {
			switch kind := rnd.IntN(9); {
			case kind < 3:
				a.copy(length(), offset())
			case kind < 5:
				var list []int64
				n := []int64{8, 8, 16, 64}[rnd.IntN(4)]
				for at := offset(); len(list) < 2*rnd.IntN(6); at += int64(rnd.IntN(3)) * n {
					list = append(list, at, n)
				}
				a.mcopy(list...)
			case kind < 8 && r+1 < routines:
				stride := []int64{-16, -5, 0, 3, 8, 16, 40}[rnd.IntN(7)]
				calls = append(calls, call{a.gosub(int64(rnd.IntN(5)), offset(), stride),
					r + 1 + rnd.IntN(routines-r-1)})
			case controls:
				a.control(int32(rnd.IntN(4)-1), int32(rnd.IntN(3)))
			}
		}
		a.iterate(entries[r])
	}
	for _, c := range calls {
		a.code[c.at+gosubTo] = int32(entries[c.routine] - c.at)
	}
	return program{Descriptor{Depth: int32(routines), Extent: int64(rnd.IntN(300)) - 100}, a.code}
}

// describe fills in what the code says: size, lext, rext.
func (g *program) describe(t testing.TB) *Program {
	t.Helper()
	p, err := New(g.Descriptor, g.code, false)
	if err != nil || p.fault != nil {
		t.Fatalf("%v %v: %v", g, err, p.fault)
	}
	g.Size, g.Lext, g.Rext = int64(p.main.size), p.main.bounds.lo, p.main.bounds.hi
	return g.must(t)
}

func (g *program) must(t testing.TB) *Program {
	t.Helper()
	p, err := New(g.Descriptor, g.code, true)
	if err != nil {
		t.Fatalf("%+v: %v", g, err)
	}
	return p
}

// userMemory maps n bytes outside the Go heap.
func userMemory(t testing.TB, n int) []byte {
	t.Helper()
	memory.Guard()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// fill gives each byte a value that differs from the bytes beside it.
func fill(b []byte, rnd *rand.Rand) {
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
}

// middle is an address with room for offsets on both sides.
func middle(b []byte) transport.Addr { return memory.AddrOf(b) + transport.Addr(len(b)/2) }

// nested is routines within routines, depth of them, that no simplification makes fewer.
func nested(depth int) program {
	var a assembler
	entry, size, extent := 0, int64(0), int64(0)
	for i := range depth {
		entry = len(a.code)
		a.copy(1, 0)
		if i+1 < depth {
			call := a.gosub(3, 4, 1<<(4*(depth-1-i)))
			a.code[call+gosubTo] = int32(len(a.code) + iterateSize - call)
		}
		a.iterate(entry)
	}
	for i := range depth {
		size, extent = 1+3*size, 1<<(4*(i+1))
		if i == 0 {
			size = 1
		}
	}
	return program{Descriptor{Depth: int32(depth), Size: size, Extent: extent, Rext: extent},
		a.code}
}

// chain is routines that each do nothing but call the next, depth of them.
func chain(depth int) program { return loops(depth, 1, 1, 0) }

// loops is a chain in which each routine calls the next reps times.
func loops(depth int, reps, offset, stride int64) program {
	var a assembler
	for range depth - 1 {
		entry := len(a.code)
		call := a.gosub(reps, offset, stride)
		a.code[call+gosubTo] = gosubSize + iterateSize
		a.iterate(entry)
	}
	entry := len(a.code)
	a.copy(1, 0)
	a.iterate(entry)
	return program{Descriptor{Depth: int32(depth), Size: 1, Extent: 1, Rext: int64(depth)}, a.code}
}
