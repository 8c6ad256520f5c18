package dgsm

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// TestLayoutIsTheABI compares the positions in instructions and descriptor with the ABI's golden.
func TestLayoutIsTheABI(t *testing.T) {
	text, err := os.ReadFile("../../../tests/c/abi/" +
		map[int]string{1: "i386", 2: "x86_64"}[longInts] + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]int{}
	line := regexp.MustCompile(`(?m)^(?:type|member) (lapi_dgs\S+) (?:size|offset) (\d+)`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		golden[strings.TrimPrefix(m[1], "lapi_")], _ = strconv.Atoi(m[2])
	}
	for name, ours := range map[string]int{
		"dgsm_copy_t": 4 * copySize, "dgsm_copy_t.bytes": 4 * copyBytes,
		"dgsm_copy_t.offset": 4 * copyOffset, "dgsm_block_t": 4 * blockSize,
		"dgsm_block_t.block_disp": 4 * blockDisp, "dgsm_block_t.block_len": 4 * blockLen,
		"dgsm_mcopy_t": 4 * (mcopyBlocks + blockSize), "dgsm_mcopy_t.count": 4 * mcopyCount,
		"dgsm_mcopy_t.block": 4 * mcopyBlocks,
		"dgsm_gosub_t":       4 * gosubSize, "dgsm_gosub_t.to_loc": 4 * gosubTo,
		"dgsm_gosub_t.ret_loc": 4 * gosubRet, "dgsm_gosub_t.reps": 4 * gosubReps,
		"dgsm_gosub_t.offset": 4 * gosubOffset, "dgsm_gosub_t.stride": 4 * gosubStride,
		"dgsm_iterate_t": 4 * iterateSize, "dgsm_iterate_t.iter_loc": 4 * iterateLoc,
		"dgsm_control_t": 4 * controlSize, "dgsm_control_t.operation": 4 * controlOperation,
		"dgsm_control_t.operand": 4 * controlOperand,
		"dgsp_descr_t":           int(descrSize), "dgsp_descr_t.code": dsCode,
		"dgsp_descr_t.code_size": dsCodeSize, "dgsp_descr_t.depth": dsDepth,
		"dgsp_descr_t.density": dsDensity, "dgsp_descr_t.size": dsSize,
		"dgsp_descr_t.extent": dsExtent, "dgsp_descr_t.lext": dsLext, "dgsp_descr_t.rext": dsRext,
		"dgsp_descr_t.atom_size": dsAtom,
	} {
		if abi, ok := golden[name]; !ok || abi != ours {
			t.Errorf("lapi_%s: %d here, %d (found: %v) in the ABI", name, ours, abi, ok)
		}
	}
}

// raw is a program of these instructions, with a depth of 2.
func raw(f func(a *assembler)) program {
	var a assembler
	f(&a)
	return program{Descriptor{Depth: 2}, a.code}
}

// broken are programs with one fault each, and its code.
func broken() map[string]struct {
	program
	code codes.Code
} {
	type fault = struct {
		program
		code codes.Code
	}
	list := map[string]fault{
		"opcode": {raw(func(a *assembler) { a.code = append(a.code, 5, 0) }),
			codes.ErrDgspOpc},
		"negative opcode": {raw(func(a *assembler) { a.code = append(a.code, -1, 0) }),
			codes.ErrDgspOpc},
		"copy": {raw(func(a *assembler) { a.copy(-1, 0); a.iterate(0) }),
			codes.ErrDgspCopySz},
		"block": {raw(func(a *assembler) { a.mcopy(0, 8, 8, -8); a.iterate(0) }),
			codes.ErrDgspCopySz},
		"block count": {raw(func(a *assembler) { a.code = append(a.code, 1, -1); a.iterate(0) }),
			codes.ErrDgspCopySz},
		"reps": {raw(func(a *assembler) { a.gosub(-1, 0, 0); a.iterate(0) }),
			codes.ErrDgspReps},
		"no iterate": {raw(func(a *assembler) { a.copy(8, 0) }), codes.ErrDgspBranch},
		"cut copy": {raw(func(a *assembler) { a.copy(8, 0); a.code = a.code[:copySize-1] }),
			codes.ErrDgspOther},
		"cut mcopy": {raw(func(a *assembler) {
			a.mcopy(8, 8, 8, 8)
			a.code = a.code[:len(a.code)-1]
		}), codes.ErrDgspOther},
		"cut gosub": {raw(func(a *assembler) { a.gosub(1, 0, 0); a.code = a.code[:gosubSize-1] }),
			codes.ErrDgspOther},
		"cut control": {raw(func(a *assembler) { a.control(1, 1); a.code = a.code[:2] }),
			codes.ErrDgspOther},
		"cut iterate": {raw(func(a *assembler) { a.code = append(a.code, 3) }), codes.ErrDgspOther},
		"control": {raw(func(a *assembler) { a.control(-2, 0); a.copy(8, 0); a.iterate(0) }),
			codes.ErrDgspCtl},
		"gosub away": {raw(func(a *assembler) {
			a.gosub(1, 0, 0)
			a.iterate(0)
			a.code[gosubTo] = 1000
		}),
			codes.ErrDgspBranch},
		"gosub before": {raw(func(a *assembler) {
			a.gosub(1, 0, 0)
			a.iterate(0)
			a.code[gosubTo] = -1
		}),
			codes.ErrDgspBranch},
		"return away": {raw(func(a *assembler) {
			a.gosub(0, 0, 0)
			a.iterate(0)
			a.code[gosubRet] = math.MaxInt32
		}),
			codes.ErrDgspBranch},
		"return to itself": {raw(func(a *assembler) {
			a.gosub(0, 0, 0)
			a.iterate(0)
			a.code[gosubRet] = 0
		}),
			codes.ErrDgspBranch},
		"calls itself": {raw(func(a *assembler) { a.gosub(1, 0, 0); a.iterate(0) }),
			codes.ErrDgspStack},
	}
	deep := nested(5)
	deep.Depth = 4
	list["depth"] = fault{deep, codes.ErrDgspStack}
	none := simple(8, 0, 8)
	none.Depth = 0
	list["no depth"] = fault{none, codes.ErrDgspStack}
	detour := chain(4) // depth 4, but first met on a shorter way
	var front assembler
	for _, to := range []int{1, 0} {
		at := front.gosub(1, 0, 0)
		front.code[at+gosubTo] = int32(2*gosubSize + iterateSize + to*(gosubSize+iterateSize) - at)
	}
	front.iterate(0)
	detour.code, detour.Depth = append(front.code, detour.code...), 4
	list["depth by a detour"] = fault{detour, codes.ErrDgspStack}
	beyond := chain(MaxDepth + 1)
	list["deeper than any"] = fault{beyond, codes.ErrDgspStack}
	if longInts == 2 { // a long can say as much
		list["size"] = fault{raw(func(a *assembler) {
			a.copy(math.MaxInt64, 0)
			a.iterate(0)
		}), codes.ErrDgspOther}
		list["offset"] = fault{raw(func(a *assembler) {
			a.copy(8, math.MaxInt64-7)
			a.iterate(0)
		}), codes.ErrDgspOther}
		list["stride"] = fault{strided(1, 1<<32, 1<<40, 0), codes.ErrDgspOther}
	}
	list["bytes beyond counting"] = fault{loops(5, 1<<30, 0, 0), codes.ErrDgspOther}
	dense := raw(func(a *assembler) { a.control(1, 1); a.copy(8, 0); a.iterate(0) })
	dense.Density = Unit
	list["control in a dense program"] = fault{dense, codes.ErrDgspCtl}
	astray := strided(4, 3, 8, 24)
	astray.code[len(astray.code)-1]++
	list["iterate into the routine"] = fault{astray, codes.ErrDgspBranch}
	return list
}

// TestBroken: verification refuses each with its code; without it, registering succeeds and each
// use has the code.
func TestBroken(t *testing.T) {
	for name, b := range broken() {
		if _, err := New(b.Descriptor, b.program.code, true); err == nil || err.Code != b.code {
			t.Errorf("%s: verified: %v, want %s", name, err, codes.Name(b.code))
		}
		p, err := New(b.Descriptor, b.program.code, false)
		if err != nil {
			t.Errorf("%s: not verified: %v", name, err)
			continue
		}
		var m Machine
		if err := m.StartScatter(Transfer{Program: p, Bytes: 16}, 0); err == nil ||
			err.Code != b.code {
			t.Errorf("%s: scatter: %v, want %s", name, err, codes.Name(b.code))
		}
		if err := m.StartGather(Transfer{Program: p, Bytes: 16}); err == nil || err.Code != b.code {
			t.Errorf("%s: gather: %v, want %s", name, err, codes.Name(b.code))
		}
		if piece, ok := m.Next(8); ok || p.covers() != 0 {
			t.Errorf("%s: a piece %+v of a program that covers %d bytes", name, piece, p.covers())
		}
		if _, _, ok := p.Span(1); ok {
			t.Errorf("%s: has a span", name)
		}
	}
}

// TestDescriptor: what is wrong with a descriptor, at any time and with verification only.
func TestDescriptor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *program)
		always bool
		code   codes.Code
	}{
		"nothing":      {func(*program) {}, false, codes.Success},
		"largest atom": {func(g *program) { g.AtomSize = MaxAtomSize }, false, codes.Success},
		"roomy":        {func(g *program) { g.Lext, g.Rext = -100, 100 }, false, codes.Success},
		"atom": {func(g *program) { g.AtomSize = MaxAtomSize + 1 }, true,
			codes.ErrDgspAtom},
		"negative atom":    {func(g *program) { g.AtomSize = -1 }, true, codes.ErrDgspAtom},
		"code_size":        {func(g *program) { g.code = nil }, true, codes.ErrDgspOther},
		"density":          {func(g *program) { g.Density = 3 }, true, codes.ErrDgspOther},
		"negative density": {func(g *program) { g.Density = -1 }, true, codes.ErrDgspOther},
		"negative size":    {func(g *program) { g.Size = -1 }, true, codes.ErrDgspOther},
		"size":             {func(g *program) { g.Size++ }, false, codes.ErrDgspOther},
		"lext":             {func(g *program) { g.Lext++ }, false, codes.ErrDgspOther},
		"rext":             {func(g *program) { g.Rext-- }, false, codes.ErrDgspOther},
		"unit":             {func(g *program) { g.Density = Unit }, false, codes.ErrDgspOther},
		"main's iterate": {func(g *program) { g.code[len(g.code)-1] = -1000 }, false,
			codes.ErrDgspBranch},
		"iterate": {func(g *program) { g.code[len(g.code)-1] = -2 }, false, codes.ErrDgspBranch},
	} {
		g := simple(5, 3, 8)
		c.change(&g)
		want := map[bool]codes.Code{true: c.code, false: codes.Success}
		if c.always {
			want[false] = c.code
		}
		for verify, code := range want {
			p, err := New(g.Descriptor, g.code, verify)
			if code == codes.Success && err != nil ||
				code != codes.Success && (err == nil || err.Code != code) {
				t.Errorf("%s, verify %v: %v, want %q", name, verify, err, codes.Name(code))
			}
			if (p == nil) != (err != nil) {
				t.Errorf("%s, verify %v: program %v with %v", name, verify, p, err)
			}
		}
	}
	gaps := strided(4, 3, 8, 24)
	gaps.Density = Contig
	if _, err := New(gaps.Descriptor, gaps.code, true); err == nil ||
		err.Code != codes.ErrDgspOther {
		t.Errorf("a program with gaps that promises none: %v", err)
	}
}

// TestOnce: unverified, a main routine that cannot be repeated is good for one repetition.
func TestOnce(t *testing.T) {
	g := simple(8, 0, 8)
	g.code[len(g.code)-1] = 77
	p, err := New(g.Descriptor, g.code, false)
	if err != nil {
		t.Fatal(err)
	}
	var m Machine
	if err := m.StartGather(Transfer{Program: p, Bytes: 8}); err != nil {
		t.Error(err)
	}
	if err := m.StartGather(Transfer{Program: p, Bytes: 9}); err == nil ||
		err.Code != codes.ErrDgspBranch {
		t.Errorf("two repetitions: %v", err)
	}
}

// TestShared: routines in any number of places decode in linear time; entries all over each other
// end in an error.
func TestShared(t *testing.T) {
	const n = 2000
	var a assembler
	for range n {
		a.gosub(1, 0, 0)
	}
	a.iterate(0)
	entry := len(a.code)
	for i := range int64(n) {
		a.copy(1, i)
	}
	a.iterate(entry)
	for i := range n {
		a.code[i*gosubSize+gosubTo] = int32(entry - i*gosubSize)
	}
	p, err := New(Descriptor{Depth: 2, Size: n * n, Rext: n}, a.code, true)
	if err != nil || p.covers() != n*n {
		t.Fatalf("%v", err)
	}
	for i := range n {
		a.code[i*gosubSize+gosubTo] += int32(i * copySize)
	}
	if _, err := New(Descriptor{Depth: 2}, a.code, true); err == nil ||
		err.Code != codes.ErrDgspOther {
		t.Errorf("%d entries into one routine: %v", n, err)
	}
}

// TestShapes: programs that say one simple thing in a complicated way are recognized.
func TestShapes(t *testing.T) {
	var list assembler
	list.mcopy(0, 4, 4, 4, 8, 8)
	list.iterate(0)
	var columns assembler
	columns.mcopy(0, 8, 64, 8, 128, 8)
	columns.iterate(0)
	for name, c := range map[string]struct {
		g             program
		block, stride int64 // of the run; block 0: contiguous
	}{
		"unit": {program{Descriptor{Depth: 1, Density: Unit, Size: 8, Extent: 8,
			Rext: 8}, simple(8, 0, 8).code}, 0, 0},
		"block":             {simple(8, 0, 64), 8, 64},
		"subroutine":        {strided(8, 10, 64, 640), 8, 64},
		"subroutine, block": {strided(8, 10, 8, 100), 80, 100},
		"subroutine, all":   {strided(8, 10, 8, 80), 0, 0},
		"backwards":         {strided(8, 10, -64, -640), 8, -64},
		"touching blocks": {program{Descriptor{Depth: 1, Size: 16, Extent: 20, Rext: 16},
			list.code}, 16, 20},
		"blocks at distances": {program{Descriptor{Depth: 1, Size: 24, Extent: 192, Rext: 200},
			columns.code}, 8, 64},
	} {
		c.g.Lext, c.g.Rext = -1000, 1000
		p := c.g.must(t)
		if _, ok := p.Contiguous(1 << 40); ok != (c.block == 0) {
			t.Errorf("%s: contiguous: %v", name, ok)
		}
		if c.block > 0 &&
			(!p.regular || p.flat.block != uint64(c.block) || p.flat.stride != c.stride) {
			t.Errorf("%s: %+v", name, p.flat)
		}
	}
}

// TestLoadEncode: a program read from C memory, unaligned, and written back is the same; bad
// addresses are errors.
func TestLoadEncode(t *testing.T) {
	user := userMemory(t, 1<<20)
	big := raw(func(a *assembler) {
		for i := range int64(3 * readAtATime / copySize) { // code in several reads
			a.copy(1, 2*i)
		}
		a.iterate(0)
	})
	for i, g := range []program{simple(5, -3, 8), strided(4, 3, -8, 24), big} {
		p, err := New(g.Descriptor, g.code, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, shift := range []transport.Addr{0, 4, 1} {
			at := memory.AddrOf(user) + shift
			if err := p.Encode(at); err != nil {
				t.Fatal(err)
			}
			q, err := Load(at, false)
			if err != nil || q.Descriptor != p.Descriptor || len(q.code) != len(p.code) ||
				q.covers() != p.covers() {
				t.Fatalf("program %d: %v", i, err)
			}
			for ic, v := range p.code {
				if q.code[ic] != v {
					t.Fatalf("program %d: code[%d] is %d, want %d", i, ic, q.code[ic], v)
				}
			}
		}
	}
	at := memory.AddrOf(user)
	if _, err := Load(0, false); err == nil || err.Code != codes.ErrDgsp {
		t.Errorf("NULL: %v", err)
	}
	if err := unix.Mprotect(user[1<<20-4096:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(at+1<<20-4096-8, false); err == nil || err.Code != codes.ErrDgsp {
		t.Errorf("behind the memory: %v", err)
	}
	putLong(user[dsCode:], 0)
	if _, err := Load(at, false); err == nil || err.Code != codes.ErrDgspOther {
		t.Errorf("code is NULL: %v", err)
	}
	putLong(user[dsCode:], int64(at))
	native.PutUint32(user[dsCodeSize:], math.MaxInt32) // must fail before 8 GiB are asked for
	if _, err := Load(at, false); err == nil || err.Code != codes.ErrDgspOther {
		t.Errorf("code_size is a lie: %v", err)
	}
	p := simple(8, 0, 8)
	wantFault(t, "encode to nowhere", p.must(t).Encode(16), 16, 1)
}

// TestDeepest: as many routines as may be active.
func TestDeepest(t *testing.T) {
	g := chain(MaxDepth)
	if offset, ok := g.must(t).Contiguous(1); !ok || offset != MaxDepth-1 {
		t.Errorf("the byte is at %d", offset)
	}
}
