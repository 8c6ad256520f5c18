package lapi

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// large is a length, two of which are more than a message may have; twice as much is still a ulong.
const large = 1 << (8*vector.WordSize - 2)

// TestReturnedVectorMustFit: the header handler's vector breaks one rule after the other; both
// tasks' error handlers are called, no counter at the target changes, the origin's memory is free.
func TestReturnedVectorMustFit(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(13, 14))
		lens := []uint64{30000, 8}
		list := func(kind uint32, lens ...uint64) *userVector {
			v, _ := spread(kind, lens, 5, r)
			return v
		}
		short, _, _ := strided(2, 4, 8, 0)
		noAddr := list(wire.VectorIO, lens...)
		noAddr.info[1] = 0
		for i, broken := range []struct {
			v    *userVector
			from *userVector
			want codes.Code
		}{
			{list(wire.VectorGeneric, lens...), nil, codes.ErrVecTypeDiff},
			{list(7, lens...), nil, codes.ErrTgtVecType},
			{list(wire.VectorIO, 30000, 4, 4), nil, codes.ErrVecNumDiff},
			{list(wire.VectorIO, 30000, 9), nil, codes.ErrVecLenDiff},
			{noAddr, nil, codes.ErrTgtVecAddr},
			{describe(wire.VectorStrided, 2, []uint64{1 << 20, 8, 4}, nil), short,
				codes.ErrTgtStride},
			{describe(wire.VectorStrided, 2, []uint64{1 << 20, 8, 16}, nil), short,
				codes.ErrVecLenDiff},
			{describe(wire.VectorStrided, 2, []uint64{0, 4, 16}, nil), short,
				codes.ErrStrideTgtVecAddrNull},
			{describe(wire.VectorStrided, 2, []uint64{1 << 20, 4, large}, nil), short,
				codes.ErrTgtExtent},
		} {
			from := broken.from
			if from == nil {
				from = list(wire.VectorIO, lens...)
			}
			for _, k := range j.tasks {
				k.setCheck(true)
			}
			var org, target int32
			j.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer = broken.v.at()
			}
			j.ok(j.tasks[0].Amsendv(tgt, 0x1000, 0, 0, from.at(), at(&target), at(&org), 0,
				handlers.Callback{}))
			for _, k := range []*testTask{j.tasks[0], j.tasks[tgt]} {
				var e faults.Event
				ok := false
				j.until(fmt.Sprintf("error %s", codes.Name(broken.want)), func() bool {
					if !ok {
						e, ok = k.NextError()
					}
					return ok
				})
				if e.Code != broken.want || e.Type != codes.AmErr {
					t.Fatalf("case %d: error %s of kind %v, want %s",
						i, codes.Name(e.Code), e.Type, codes.Name(broken.want))
				}
				if tgt == 0 {
					break
				}
			}
			j.until("the origin counter", func() bool { return org == 1 })
			if target != 0 {
				t.Fatalf("case %d: the target counter changed", i)
			}
		}
	})
}

// TestVectorErrors provokes every code of LAPI_Putv and LAPI_Getv, and of LAPI_Amsendv where it has
// them.
func TestVectorErrors(t *testing.T) {
	j := newJob(t, 1, nil)
	k := j.tasks[0]
	var word uint64
	a := uint64(at(&word))
	good := func() *userVector { return describe(wire.VectorIO, 2, []uint64{a, a}, []uint64{4, 4}) }
	lines := func(info ...uint64) *userVector { return describe(wire.VectorStrided, 2, info, nil) }
	for _, e := range []struct {
		name     string
		org, tgt *userVector
		want     codes.Code
		am       bool // of Amsendv's origin too
		element  bool // checked only with ERROR_CHK on
	}{
		{"org null", nil, good(), codes.ErrOrgVecNull, true, false},
		{"tgt null", good(), nil, codes.ErrTgtVecNull, false, false},
		{"org type", describe(3, 2, []uint64{a, a}, []uint64{4, 4}), good(), codes.ErrOrgVecType,
			true, false},
		{"tgt type", good(), describe(3, 2, []uint64{a, a}, []uint64{4, 4}), codes.ErrTgtVecType,
			false, false},
		{"org generic", describe(wire.VectorGeneric, 1, []uint64{a}, []uint64{4}), good(),
			codes.ErrOrgVecType, false, false},
		{"tgt generic", good(), describe(wire.VectorGeneric, 1, []uint64{a}, []uint64{4}),
			codes.ErrTgtVecType, false, false},
		{"types", good(), lines(a, 4, 4), codes.ErrVecTypeDiff, false, false},
		{"numbers", good(), describe(wire.VectorIO, 1, []uint64{a}, []uint64{8}),
			codes.ErrVecNumDiff, false, false},
		{"lengths", good(), describe(wire.VectorIO, 2, []uint64{a, a}, []uint64{8, 0}),
			codes.ErrVecLenDiff, false, true},
		{"blocks", lines(a, 4, 8), lines(a, 8, 8), codes.ErrVecLenDiff, false, false},
		{"org addr", describe(wire.VectorIO, 2, []uint64{a, 0}, []uint64{4, 4}), good(),
			codes.ErrOrgVecAddr, true, true},
		{"tgt addr", good(), describe(wire.VectorIO, 2, []uint64{a, 0}, []uint64{4, 4}),
			codes.ErrTgtVecAddr, false, true},
		{"org info null", describe(wire.VectorIO, 2, nil, []uint64{4, 4}), good(),
			codes.ErrOrgVecAddr, true, false},
		{"org len", describe(wire.VectorIO, 2, []uint64{a, a}, []uint64{large, large}), good(),
			codes.ErrOrgVecLen, true, false},
		{"org len null", describe(wire.VectorIO, 2, []uint64{a, a}, nil), good(),
			codes.ErrOrgVecLen, true, false},
		{"tgt len", good(), describe(wire.VectorIO, 2, []uint64{a, a}, []uint64{large, large}),
			codes.ErrTgtVecLen, false, false},
		{"org stride", lines(a, 8, 4), lines(a, 8, 8), codes.ErrOrgStride, true, false},
		{"tgt stride", lines(a, 8, 8), lines(a, 8, 4), codes.ErrTgtStride, false, false},
		{"org extent", lines(a, 8, large), lines(a, 8, 8), codes.ErrOrgExtent, true, false},
		{"org extent wraps", lines(a, 8, 2*large), lines(a, 8, 8), codes.ErrOrgExtent, true, false},
		{"tgt extent", lines(a, 8, 8), lines(a, 8, large), codes.ErrTgtExtent, false, false},
		{"org base", lines(0, 8, 8), lines(a, 8, 8), codes.ErrStrideOrgVecAddrNull, true, false},
		{"tgt base", lines(a, 8, 8), lines(0, 8, 8), codes.ErrStrideTgtVecAddrNull, false, false},
		{"org strided info null", describe(wire.VectorStrided, 2, nil, nil), lines(a, 8, 8),
			codes.ErrStrideOrgVecAddrNull, true, false},
	} {
		where := func(v *userVector) transport.Addr {
			if v == nil {
				return 0
			}
			return v.at()
		}
		whereLong := func(v *userVector) transport.Addr {
			if v == nil {
				return 0
			}
			return v.longAt()
		}
		for _, check := range []bool{true, false} {
			if e.element && !check {
				continue
			}
			k.setCheck(check)
			if got := k.Putv(0, where(e.tgt), where(e.org), false, 0, 0, 0,
				handlers.Callback{}); got != e.want {
				t.Errorf("%s: put %s, want %s", e.name, codes.Name(got), codes.Name(e.want))
			}
			if got := k.Getv(0, whereLong(e.tgt), where(e.org), true, 0, 0,
				handlers.Callback{}); got != e.want {
				t.Errorf("%s: get %s, want %s", e.name, codes.Name(got), codes.Name(e.want))
			}
			if e.am {
				if got := k.Amsendv(0, 0x1000, 0, 0, where(e.org), 0, 0, 0,
					handlers.Callback{}); got != e.want {
					t.Errorf("%s: amsend %s, want %s", e.name, codes.Name(got), codes.Name(e.want))
				}
			}
		}
	}
	if got := k.Putv(1, 0, 0, false, 0, 0, 0, handlers.Callback{}); got != codes.ErrTgt {
		t.Errorf("target: %s", codes.Name(got))
	}
}

// TestVectorOfUnmappedMemory: descriptions and blocks in memory that does not exist become errors.
func TestVectorOfUnmappedMemory(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		hole, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_NONE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(hole)
		nowhere := memory.AddrOf(hole)
		buffer := make([]byte, 100000)
		a := uint64(at(&buffer[0]))
		k := j.tasks[0]
		next := func(k *testTask, want codes.Code) {
			t.Helper()
			var e faults.Event
			ok := false
			j.until("an error", func() bool {
				if !ok {
					e, ok = k.NextError()
				}
				return ok
			})
			if e.Code != want {
				t.Fatalf("error %s, want %s", codes.Name(e.Code), codes.Name(want))
			}
		}
		if code := k.Putv(tgt, nowhere, nowhere, false, 0, 0, 0,
			handlers.Callback{}); code != codes.ErrOrgVecNull {
			t.Fatalf("unmapped description: %s", codes.Name(code))
		}
		next(k, codes.ErrOrgVecNull)
		huge := describe(wire.VectorIO, 1<<26, nil, []uint64{0})
		putWords(huge.b[8:], []uint64{uint64(nowhere)})
		if code := k.Amsendv(tgt, 1, 0, 0, huge.at(), 0, 0, 0,
			handlers.Callback{}); code != codes.ErrOrgVecAddr {
			t.Fatalf("a list of 2^26 entries in memory that is not there: %s", codes.Name(code))
		}
		next(k, codes.ErrOrgVecAddr)
		for _, n := range []uint64{8, 40000} { // by messages, and direct
			good := describe(wire.VectorIO, 2, []uint64{a, a + n}, []uint64{n, n})
			bad := describe(wire.VectorIO, 2, []uint64{a, uint64(nowhere)}, []uint64{n, n})
			var org, target int32
			j.ok(k.Putv(tgt, good.at(), bad.at(), false, at(&target), at(&org), 0,
				handlers.Callback{}))
			next(k, codes.ErrOrgAddrNull)
			j.ok(k.Putv(tgt, bad.at(), good.at(), false, at(&target), 0, 0, handlers.Callback{}))
			next(j.tasks[tgt], codes.ErrTgtAddrNull)
			if tgt != 0 {
				next(k, codes.ErrTgtAddrNull)
			}
			j.ok(k.Getv(tgt, bad.at(), good.at(), false, at(&target), at(&org),
				handlers.Callback{}))
			next(k, codes.ErrTgtAddrNull)
			if tgt != 0 {
				next(j.tasks[tgt], codes.ErrTgtAddrNull)
			}
			j.ok(k.Getv(tgt, good.at(), bad.at(), false, 0, at(&org), handlers.Callback{}))
			next(k, codes.ErrOrgAddrNull)
			if org != 0 || target != 0 {
				t.Fatalf("%d bytes: counters %d %d changed though the data was not there",
					n, org, target)
			}
		}
		runtime.KeepAlive(buffer)
	})
}
