package lapi

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// rowsDGSP covers 24 of every 40 bytes: those from 8 to 31. atom is its atom_size.
type rowsDGSP struct {
	code   []int32
	descr  []byte
	handle transport.Addr
}

const (
	rowData, rowExtent, rowBegin = 24, 40, 8
	// LAPI_DGSM_
	opCopy, opIterate, opControl = 0, 3, 4
	// of lapi_dgsm_copy_t, lapi_dgsm_control_t
	copyInts, controlInts = 3 * vector.WordSize / 4, 3
)

func registerRows(t *testing.T, k *testTask, atom int32) *rowsDGSP {
	t.Helper()
	return registerCode(t, k, atom, append(copyCode(rowData, rowBegin), opIterate, -copyInts))
}

// copyCode is a lapi_dgsm_copy_t of this task's word size.
func copyCode(n, offset int32) []int32 {
	if vector.WordSize == 4 {
		return []int32{opCopy, n, offset}
	}
	return []int32{opCopy, 0, n, 0, offset, 0}
}

func registerCode(t *testing.T, k *testTask, atom int32, code []int32) *rowsDGSP {
	t.Helper()
	d := &rowsDGSP{code: code}
	longs := 16 + vector.WordSize&8 // after code_size, depth, density, and what aligns them
	d.descr = make([]byte, longs+5*vector.WordSize)
	putWords(d.descr, []uint64{uint64(uintptr(unsafe.Pointer(&d.code[0])))})
	wire.Order.PutUint32(d.descr[vector.WordSize:], uint32(len(d.code)))
	// depth; density is 0, sparse
	wire.Order.PutUint32(d.descr[vector.WordSize+4:], 1)
	// size, extent, lext, rext
	putWords(d.descr[longs:], []uint64{rowData, rowExtent, rowBegin, rowBegin + rowData})
	wire.Order.PutUint32(d.descr[longs+4*vector.WordSize:], uint32(atom))
	handle, result := DGSPs{Host: k}.Register(at(&d.descr[0]), false)
	if result != codes.Success {
		t.Fatalf("registering: %s %q", codes.Name(result), k.messages)
	}
	d.handle = handle
	t.Cleanup(func() {
		DGSPs{Host: k}.Unreserve(d.handle)
		runtime.KeepAlive(d)
	})
	return d
}

// gatherRows is the naive model of the program: n bytes of its stream from byte skip on.
func gatherRows(from []byte, skip, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = from[rowPlace(skip+i)]
	}
	return out
}

// rowPlace is where byte i of the program's stream lies.
func rowPlace(i int) int { return i/rowData*rowExtent + rowBegin + i%rowData }

var amxCases = []struct{ skip, n int }{
	{0, 1}, {0, 24}, {1, 0}, {23, 1}, {24, 24}, {7, 100}, {100, 5000}, {rowData * 3, 40000},
	{12345, 70001},
}

// TestAmxSkips: LAPI_AMX_XFER sends the DGSP's stream from send_offset_dgsp_bytes on, with and
// without atoms, and counts like any active message.
func TestAmxSkips(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, atom := range []int32{0, 8, 20} {
			d := registerRows(t, j.tasks[0], atom)
			for _, x := range amxCases {
				from, to := pattern((x.skip+x.n)/rowData*rowExtent+2*rowExtent, uint64(x.n)),
					make([]byte, x.n+1)
				j.tasks[tgt].headers[0x1000] = func(h *headerCall, r *HeaderResult) {
					if h.MsgLen != uint64(x.n) {
						t.Errorf("message of %d bytes, not %d", h.MsgLen, x.n)
					}
					r.Buffer = at(&to[0])
				}
				var arrived, sent, complete int32
				j.ok(j.tasks[0].Xfer(XferAmx, &Transfer{Tgt: tgt, HdrHdl: 0x1000,
					TgtAddr: d.handle, OrgAddr: at(&from[0]), N: uint64(x.n), Skip: uint64(x.skip),
					TgtCntr: at(&arrived), OrgCntr: at(&sent), CmplCntr: at(&complete)}))
				j.until("the counters", func() bool {
					return arrived == 1 && sent == 1 && complete == 1
				})
				if string(to[:x.n]) != string(gatherRows(from, x.skip, x.n)) || to[x.n] != 0 {
					t.Fatalf("atom %d: %d bytes from %d on: other data than the model's",
						atom, x.n, x.skip)
				}
			}
		}
	})
}

// TestReceiverSkips: recv_offset_dgsp_bytes, for data that came whole, in fragments, and that would
// have been fetched.
func TestReceiverSkips(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		d := registerRows(t, j.tasks[tgt], 0)
		for _, x := range amxCases {
			from, to := pattern(x.n+1, uint64(x.skip)),
				make([]byte, (x.skip+x.n)/rowData*rowExtent+2*rowExtent)
			j.tasks[tgt].headers[0x1000] = func(h *headerCall, r *HeaderResult) {
				r.Buffer, r.DGSP, r.Bytes, r.Skip = at(&to[0]), uint64(d.handle), h.MsgLen,
					uint64(x.skip)
			}
			var arrived int32
			j.ok(j.tasks[0].Amsend(tgt, 0x1000, 0, 0, at(&from[0]), uint64(x.n), at(&arrived), 0,
				0))
			j.until("the target counter", func() bool { return arrived == 1 })
			if string(gatherRows(to, x.skip, x.n)) != string(from[:x.n]) {
				t.Fatalf("%d bytes to %d on: other data than the model's", x.n, x.skip)
			}
			touched := 0
			for i := range to {
				if to[i] != 0 {
					touched++
				}
			}
			for i := range x.n {
				if from[i] != 0 {
					touched--
				}
			}
			if touched != 0 {
				t.Fatalf("%d bytes to %d on: %d bytes beside the model's were touched",
					x.n, x.skip, touched)
			}
		}
	})
}

// TestAmxErrors: what is checked before anything is sent.
func TestAmxErrors(t *testing.T) {
	j := newJob(t, 1, nil)
	k := j.tasks[0]
	d := registerRows(t, k, 0)
	buffer := make([]byte, 100)
	good := Transfer{HdrHdl: 0x1000, TgtAddr: d.handle, OrgAddr: at(&buffer[0]), N: 24}
	for _, e := range []struct {
		what   string
		change func(x *Transfer)
		want   codes.Code
	}{
		{"no such task", func(x *Transfer) { x.Tgt = 1 }, codes.ErrTgt},
		{"no header handler", func(x *Transfer) { x.HdrHdl = 0 }, codes.ErrHdrHndlrNull},
		{"length over the limit", func(x *Transfer) { x.N = 1 << 63 }, codes.ErrDataLen},
		{"user header too long", func(x *Transfer) { x.UhdrLen = wire.MaxUhdrSize + 1 },
			codes.ErrUhdrLen},
		{"user header NULL", func(x *Transfer) { x.UhdrLen = 8 }, codes.ErrUhdrNull},
		{"not registered", func(x *Transfer) { x.TgtAddr = at(&buffer[0]) }, codes.ErrDgsp},
		{"NULL", func(x *Transfer) { x.TgtAddr = 0 }, codes.ErrDgsp},
		{"offset that cannot be counted", func(x *Transfer) { x.Skip = 1 << 63 },
			codes.ErrDgspOther},
		{"offset and length that wrap", func(x *Transfer) { x.Skip = 1<<64 - 24 },
			codes.ErrDgspOther},
	} {
		x := good
		e.change(&x)
		want(t, e.what, k.Xfer(XferAmx, &x), e.want)
	}
}

// TestCutSplitsNoAtom: wherever a message begins in the program's stream, its fragments end between
// atoms, and are as long as can be.
func TestCutSplitsNoAtom(t *testing.T) {
	const total = 1000000
	k := newJob(t, 1, nil).tasks[0]
	for _, atom := range []int32{8, 20, 32} {
		d := registerRows(t, k, atom)
		for _, first := range []uint64{0, 1, 7, 8, 19, 33} {
			l, err := k.placements.Gather(d.handle, at(new(int)), first, total)
			if err != nil {
				t.Fatal(err)
			}
			pos := uint64(0)
			for _, n := range []uint64{3, 500, 1000, 1001, 64000} {
				got := l.Cut(pos, n, total-pos)
				if end := (first + pos + got) % uint64(atom); got > n || got > 0 && end != 0 ||
					n-got >= uint64(atom) {
					t.Errorf("atom %d, beginning at %d: %d of %d bytes at %d",
						atom, first, got, n, pos)
				}
				pos += got
			}
			if got := l.Cut(pos, 77, 77); got != 77 {
				t.Errorf("atom %d: %d of the last 77 bytes", atom, got)
			}
			k.placements.Free(l)
		}
	}
}

// TestFragmentsOfASkippedProgramHoldWholeAtoms: whatever a DDM function at the target is called
// with ends between atoms, although the message begins inside one.
func TestFragmentsOfASkippedProgramHoldWholeAtoms(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		const atom, skip, n = 8, 20, 100000
		from, to := pattern(skip/rowData*rowExtent+n*2, 1), make([]byte, n*2)
		gather := registerRows(t, j.tasks[0], atom)
		scatter := registerCode(t, j.tasks[tgt], atom, slices.Concat([]int32{opControl, 1, 2},
			copyCode(rowData, rowBegin), []int32{opIterate, -copyInts - controlInts}))
		pos, calls := skip, 0
		j.tasks[tgt].ddms = map[transport.Addr]ddmFunction{
			0x700: func(_, inout transport.Addr, n uint64, _, _ int32) int64 {
				fragment := int((uint64(inout) - uint64(at(&to[0])) - rowBegin) % rowExtent)
				if (fragment+int(n))%atom != 0 {
					t.Errorf("a call for %d bytes at byte %d of a row", n, fragment)
				}
				calls++
				pos += int(n)
				return int64(n)
			}}
		j.tasks[tgt].RegisterDDM(0x700)
		j.tasks[tgt].headers[0x1000] = func(h *headerCall, r *HeaderResult) {
			r.Buffer, r.DGSP, r.Bytes, r.Skip = at(&to[0]), uint64(scatter.handle), h.MsgLen, skip
		}
		var arrived int32
		j.ok(j.tasks[0].Xfer(XferAmx, &Transfer{Tgt: tgt, HdrHdl: 0x1000, TgtAddr: gather.handle,
			OrgAddr: at(&from[0]), N: n - skip, Skip: skip, TgtCntr: at(&arrived)}))
		j.until("the target counter", func() bool { return arrived == 1 })
		if pos != n || calls <= n/rowData {
			t.Errorf("%d calls took %d bytes of %d; more calls than blocks were expected",
				calls, pos-skip, n-skip)
		}
		runtime.KeepAlive([]any{from, to})
	})
}
