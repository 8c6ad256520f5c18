package lapi

import (
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
)

// TestBarrierAgreed: all tasks of a job on one node have the barrier, in one mode, whatever
// LAPI_FASTLANE says; others have none.
func TestBarrierAgreed(t *testing.T) {
	for _, lane := range []string{"on", "off", "random"} {
		j := newJob(t, 3, map[string]string{"LAPI_USE_SHM": "only", "LAPI_FASTLANE": lane})
		for _, k := range j.tasks {
			if k.barrier == nil || k.shared.Barrier == 0 {
				t.Fatalf("LAPI_FASTLANE=%s: task %d has no barrier", lane, k.me)
			}
			if rounds := k.barrier.Rounds; (rounds == 0) != (3 > runtime.NumCPU()) ||
				rounds != 0 && rounds != 2 {
				t.Errorf("%d rounds of 3 tasks on %d processors", rounds, runtime.NumCPU())
			}
		}
	}
	for name, env := range map[string]map[string]string{
		"udp": paths["udp"],
		"trace": {"LAPI_USE_SHM": "only", "MP_LAPI_TRACE_LEVEL": "1",
			"LAPI_TRACE_DIR": t.TempDir()},
	} {
		for _, k := range newJob(t, 2, env).tasks {
			if k.barrier != nil || k.shared.Barrier != 0 {
				t.Errorf("%s: task %d has a barrier", name, k.me)
			}
		}
	}
}

// refused is the codes that others have written to a task of the job through its segment.
func refused(k *testTask, n int) (all []uint64) {
	for i := range n {
		if i != k.me {
			all = append(all, k.refusedAt(i))
		}
	}
	return all
}

// TestBarrierPurge: a purge ends the barrier here, and every peer is notified, the purged one too.
func TestBarrierPurge(t *testing.T) {
	j := newJob(t, 3, paths["shm"])
	k := j.tasks[0]
	want(t, "purge", k.Purge(1), codes.Success)
	want(t, "barrier", k.barrier.failure(), codes.ErrTgtPurged)
	for i, word := range refused(k, 3) {
		if word != uint64(codes.ErrTgtPurged) {
			t.Errorf("peer %d is told %d", i+1, word)
		}
	}
	for _, peer := range j.tasks[1:] {
		peer.BarrierRefused(codes.ErrTgtPurged)
		want(t, "barrier there", peer.barrier.failure(), codes.ErrTgtPurged)
		_, code := peer.GfenceBegin()
		want(t, "gfence there", code, codes.ErrTgtPurged)
	}
}

// TestPurgeThenLeave: a peer purges another task and leaves. A task in LAPI_Gfence that notices the
// leave first, in whatever way, returns the purge's code, and its error handler is not called.
func TestPurgeThenLeave(t *testing.T) {
	for name, notice := range map[string]func(k *testTask){
		"looks":            func(k *testTask) { k.checkLeft() },
		"barrier":          func(k *testTask) { k.BarrierBroken(1) },
		"ended on purpose": func(k *testTask) { tellEnd(k, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3, paths["shm"])
			k := j.tasks[0]
			k.barrier.Begun++ // in LAPI_Gfence
			k.barrier.Arrived++
			want(t, "purge", j.tasks[1].Purge(2), codes.Success)
			j.tasks[1].leave()
			if !k.barrier.awaits(&k.peers[1]) || !k.hasLeft(&k.peers[1]) {
				t.Fatal("the barrier does not wait for task 1, or it has not left")
			}
			notice(k)
			want(t, "barrier", k.barrier.failure(), codes.ErrTgtPurged)
			if all := k.events(); len(all) != 0 {
				t.Errorf("errors %+v", all)
			}
		})
	}
}

// TestBarrierBroken: a task that left or wrote nonsense is failed once, and collectives with it,
// for good.
func TestBarrierBroken(t *testing.T) {
	j := newJob(t, 3, paths["shm"])
	k, other := j.tasks[0], j.tasks[1]
	k.BarrierBroken(2)
	k.BarrierBroken(2)
	e, ok := k.NextError()
	if !ok || e.Code != codes.ErrNoConnectivity || e.Of != 2 {
		t.Errorf("the error handler hears %+v, %v", e, ok)
	}
	if _, ok = k.NextError(); ok {
		t.Error("it hears twice")
	}
	_, code := k.GfenceBegin()
	want(t, "gfence", code, codes.ErrNoConnectivity)
	// it has no dead task, but the collective cannot be
	other.BarrierRefused(codes.ErrNoConnectivity)
	_, code = other.GfenceBegin()
	want(t, "gfence of a refused task", code, codes.ErrNoConnectivity)
	_, code = other.AddressInitBegin(1, at(new([24]byte)), 8)
	want(t, "address_init of a refused task", code, codes.ErrNoConnectivity)
	for _, task := range []int{-1, 0, 99} { // unknown, itself, no task
		k := newJob(t, 2, paths["shm"]).tasks[0]
		k.BarrierBroken(task)
		want(t, "barrier", k.barrier.failure(), codes.ErrNoConnectivity)
		if _, ok := k.NextError(); ok {
			t.Errorf("BarrierBroken(%d) calls the error handler", task)
		}
	}
}
