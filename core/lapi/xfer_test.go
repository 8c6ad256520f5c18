package lapi

import (
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// transfers are one of each type with a send completion handler, of n bytes from src to dst of tgt,
// Done.Info its place.
func transfers(tgt uint32, n uint64, src, dst transport.Addr, org, target *userVector,
	handler transport.Addr) []Transfer {
	all := []Transfer{
		{Tgt: tgt, N: n, OrgAddr: src, TgtAddr: dst, Op: XferPut},
		{Tgt: tgt, N: n, OrgAddr: src, HdrHdl: 0x1000, Op: XferAm},
		{Tgt: tgt, OrgAddr: org.at(), TgtAddr: target.at(), Flags: UseTgtVecType, Op: XferPutv},
		{Tgt: tgt, OrgAddr: org.at(), HdrHdl: 0x1001, Op: XferAmv},
		{Tgt: tgt, OrgAddr: src, TgtAddr: dst, Size: 64, Op: XferRmw},
	}
	for i := range all {
		all[i].Handler, all[i].Info = handler, transport.Addr(i)
	}
	return all
}

// TestSendHandlers: each runs once with LAPI_SUCCESS and the target, for every type and length.
func TestSendHandlers(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, n := range []uint64{8, 200, 70000} {
			src, dst := pattern(int(n), 1), make([]byte, n)
			from := describe(wire.VectorIO, 2, []uint64{uint64(at(&src[0])), uint64(at(&src[n/2]))},
				[]uint64{n / 2, n / 2})
			to := describe(wire.VectorIO, 2, []uint64{uint64(at(&dst[n/2])), uint64(at(&dst[0]))},
				[]uint64{n / 2, n / 2})
			j.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer = at(&dst[0])
			}
			j.tasks[tgt].headers[0x1001] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer = to.at()
			}
			calls := [5]int{}
			j.tasks[0].sends[0x500] = func(info transport.Addr, of int32, reason codes.Code) {
				calls[info]++
				if of != int32(tgt) || reason != codes.Success {
					t.Errorf("transfer %d: target %d, reason %s", info, of, codes.Name(reason))
				}
			}
			for _, x := range transfers(tgt, n, at(&src[0]), at(&dst[0]), from, to, 0x500) {
				kind := x.Op
				x.Op = wire.FetchAndAdd
				j.ok(j.tasks[0].Xfer(kind, &x))
			}
			j.until("send completion handlers", func() bool {
				return calls == [5]int{1, 1, 1, 1, 1}
			})
			id, _ := j.tasks[0].FenceBegin()
			j.until("a fence", func() bool { return j.tasks[0].tickets.Done(id) })
			if calls != [5]int{1, 1, 1, 1, 1} {
				t.Fatalf("%d bytes: calls of each %v", n, calls)
			}
			runtime.KeepAlive([]any{src, dst, from, to})
		}
	})
}

// TestSendHandlersOfALostTask: the task is gone while transfers to it wait, fly or are to be
// fetched: the handlers run once too, with why.
func TestSendHandlersOfALostTask(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 2, env)
			k := j.tasks[0]
			const n = 3000000 // more than lies in shared memory at once
			src, dst := make([]byte, n), make([]byte, n)
			from := describe(wire.VectorStrided, 100000, []uint64{uint64(at(&src[0])), 16, 20}, nil)
			to := describe(wire.VectorStrided, 100000, []uint64{uint64(at(&dst[0])), 16, 24}, nil)
			calls, lost := [5]int{}, 0
			k.sends[0x500] = func(info transport.Addr, _ int32, reason codes.Code) {
				calls[info]++
				if reason == codes.ErrNoConnectivity {
					lost++
				} else if reason != codes.Success {
					t.Errorf("transfer %d: reason %s", info, codes.Name(reason))
				}
			}
			for _, x := range transfers(1, n, at(&src[0]), at(&dst[0]), from, to, 0x500) {
				kind := x.Op
				x.Op = wire.FetchAndAdd
				j.ok(k.Xfer(kind, &x))
			}
			k.fail(&k.peers[1], codes.ErrNoConnectivity, "the test says so")
			for range 10 {
				k.Dispatch(0)
			}
			if calls != [5]int{1, 1, 1, 1, 1} || lost < 3 {
				t.Fatalf("calls of each %v, %d of them for the lost task", calls, lost)
			}
			runtime.KeepAlive([]any{src, dst, from, to})
		})
	}
}
