package lapi

import (
	"fmt"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/transport"
)

// enrollControlled registers a program that gives n bytes at a time to the DDM function.
func enrollControlled(t *testing.T, n int64) transport.Addr {
	const controlInts = 3
	code := append([]int32{opControl, 1, 2}, copyCode(int32(n), 0)...)
	return enrollCode(t, dgsm.Descriptor{Depth: 1, Density: dgsm.Sparse, Size: n, Extent: n,
		Rext: n}, append(code, opIterate, -copyInts-controlInts))
}

// TestFailedDGSP: a message whose header handler names a DGSP that cannot take it changes no
// counter at its target and no completion counter; both tasks' error handlers are called, whatever
// its length. CONTROL needs atoms at the origin.
func TestFailedDGSP(t *testing.T) {
	for _, c := range []struct {
		name string
		dgsp func() transport.Addr
		code codes.Code
		ddm  int64 // what the function returns
	}{
		{"unknown", func() transport.Addr { return 0x3000 }, codes.ErrDgsp, 0},
		{"no atoms", func() transport.Addr { return enrollControlled(t, 16) }, codes.ErrDgspCtl, 16},
	} {
		for path, env := range paths {
			for _, n := range []int{64, 200_000} {
				t.Run(fmt.Sprint(c.name, " ", path, " ", n), func(t *testing.T) {
					j := newJob(t, 2, env)
					j.tasks[1].ddms = map[transport.Addr]ddmFunction{
						9: func(_, _ transport.Addr, _ uint64, _, _ int32) int64 { return c.ddm }}
					j.tasks[1].RegisterDDM(9)
					data, dst := pattern(n, 1), make([]byte, n)
					handle := c.dgsp()
					j.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
						r.Buffer, r.DGSP, r.Bytes = addrOf(dst), uint64(handle), uint64(n)
					}
					var org, target, cmpl int32
					j.ok(j.tasks[0].Amsend(1, 0x1000, 0, 0, addrOf(data), uint64(n), at(&target),
						at(&org), at(&cmpl)))
					j.until("the origin counter", func() bool { return org == 1 })
					for i, k := range j.tasks {
						j.until("an error", func() bool { return k.faults.Pending() > 0 })
						if all := k.events(); len(all) != 1 || all[0].Code != c.code ||
							all[0].Type != codes.AmErr || all[0].Of != 1-i {
							t.Errorf("task %d: errors %+v", i, all)
						}
					}
					j.fence(0)
					if target != 0 || cmpl != 0 || dst[0] != 0 {
						t.Errorf("target counter %d, completion counter %d", target, cmpl)
					}
				})
			}
		}
	}
}

// TestFailedDDM: a DDM function that fails on the way ends its message in the same way.
func TestFailedDDM(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	j.tasks[1].ddms = map[transport.Addr]ddmFunction{
		9: func(_, _ transport.Addr, _ uint64, _, _ int32) int64 { return 0 }}
	j.tasks[1].RegisterDDM(9)
	from, to := enroll(t, 32, 32, 8), enrollControlled(t, 16)
	data, dst := pattern(64, 1), make([]byte, 64)
	j.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
		r.Buffer, r.DGSP, r.Bytes = addrOf(dst), uint64(to), 64
	}
	var cmpl int32
	j.ok(j.tasks[0].Xfer(XferDGSP, &Transfer{Tgt: 1, HdrHdl: 0x1000, TgtAddr: from,
		OrgAddr: addrOf(data), N: 64, CmplCntr: at(&cmpl)}))
	for i, k := range j.tasks {
		j.until("an error", func() bool { return k.faults.Pending() > 0 })
		if all := k.events(); len(all) != 1 || all[0].Code != codes.ErrDgspCtl {
			t.Errorf("task %d: errors %+v", i, all)
		}
	}
	if j.fence(0); cmpl != 0 {
		t.Error("the completion counter has changed")
	}
}
