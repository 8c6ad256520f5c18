package lapi

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/transport/memory"
)

// noteAway makes all tasks publish to their peers whether their users compute.
func noteAway(j *testJob, away bool) {
	for _, k := range j.tasks {
		k.SetAway(away)
	}
}

// TestWayFollowsTarget: data reaches a target that is away before it does anything; a target that
// polls gets it in messages.
func TestWayFollowsTarget(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	if !j.tasks[0].peers[1].SingleCopy {
		t.Skip("skipped: cross-memory attach is not permitted here")
	}
	const n = 100_000
	for _, away := range []bool{true, false, true} {
		noteAway(j, away)
		src, dst, back := pattern(n, 1), make([]byte, n), make([]byte, n)
		var org, target, cmpl, got int32
		j.ok(j.tasks[0].Put(1, n, at(&dst[0]), at(&src[0]), at(&target), at(&org), at(&cmpl)))
		if there := bytes.Equal(dst, src); there != away {
			t.Errorf("target away: %v, a put's data is there at once: %v", away, there)
		}
		j.until("the counters of a put", func() bool {
			return org == 1 && target == 1 && cmpl == 1
		})
		j.ok(j.tasks[0].Get(1, n, at(&dst[0]), at(&back[0]), 0, at(&got)))
		if (got == 1) != away {
			t.Errorf("target away: %v, a get is over at once: %v", away, got == 1)
		}
		j.until("a get", func() bool { return got == 1 })
		if !bytes.Equal(dst, src) || !bytes.Equal(back, src) {
			t.Errorf("target away: %v: the data is damaged", away)
		}
	}
}

// targetWithHole is memory with a hole of one page at byte hole.
func targetWithHole(t *testing.T, n, hole int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[hole:hole+unix.Getpagesize()], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBadPart: a bad address in any part of a put silences its counters, and is reported once; the
// next put is as any other.
func TestBadPart(t *testing.T) {
	const n = 600 << 10
	for _, hole := range []int{0, 300 << 10, n - 4096} {
		for _, atOrigin := range []bool{false, true} {
			j := newJob(t, 2, paths["shm"])
			bad := memory.AddrOf(targetWithHole(t, n, hole)[:1])
			good := make([]byte, n)
			var org, target, cmpl, done int32
			to, from := bad, at(&good[0])
			if atOrigin {
				to, from = from, to
			}
			code := j.tasks[0].Put(1, n, to, from, at(&target), at(&org), at(&cmpl))
			j.ok(code)
			j.ok(j.tasks[0].Put(1, n, at(&good[0]), at(&good[0]), 0, 0, at(&done)))
			j.until("the next put", func() bool { return done == 1 })
			if target != 0 || cmpl != 0 {
				t.Errorf("hole at %d of the origin %v: target counter %d, completion counter %d",
					hole, atOrigin, target, cmpl)
			}
			reporter, want := j.tasks[1], codes.ErrTgtAddrNull
			if atOrigin {
				reporter, want = j.tasks[0], codes.ErrOrgAddrNull
				if org != 0 {
					t.Errorf("hole at %d of the origin: origin counter %d", hole, org)
				}
			}
			errors := 0
			for _, e := range reporter.events() {
				if e.Code == want {
					errors++
				}
			}
			if errors != 1 {
				t.Errorf("hole at %d of the origin %v: reported %d times", hole, atOrigin, errors)
			}
			j.tasks[0].events()
			j.tasks[1].events()
		}
	}
}

// TestRests: core goes on with a put where the lane found no more room.
func TestRests(t *testing.T) {
	const n, sent = 500_000, 70_000
	j := newJob(t, 2, paths["shm"])
	src, dst := pattern(n, 5), make([]byte, n)
	var org, target, cmpl int32
	node := j.tasks[0].net.Shm.(laneLink).Node()
	node.Transfer = [6]uint64{uint64(at(&src[0])), uint64(at(&dst[0])), n, sent,
		uint64(at(&target)), uint64(at(&cmpl))}
	j.tasks[0].LanePutRest(1, at(&org))
	j.until("the counters of a put", func() bool { return org == 1 && target == 1 && cmpl == 1 })
	if !bytes.Equal(dst[sent:], src[sent:]) || dst[sent-1] != 0 {
		t.Error("the rest of a put arrived damaged")
	}
}

// TestPartsBothWays: two tasks put to each other at once, more than fits both chunk areas.
func TestPartsBothWays(t *testing.T) {
	const n, times = 1 << 20, 4
	j := newJob(t, 2, paths["shm"])
	var done [2]int32
	src := [2][]byte{pattern(n, 1), pattern(n, 2)}
	dst := [2][]byte{make([]byte, n), make([]byte, n)}
	for range times {
		for i, k := range j.tasks {
			to := at(&dst[1-i][0])
			j.ok(k.Put(uint32(1-i), n, to, at(&src[i][0]), 0, 0, at(&done[i])))
		}
	}
	j.until("both ways' puts", func() bool { return done == [2]int32{times, times} })
	if !bytes.Equal(dst[1], src[0]) || !bytes.Equal(dst[0], src[1]) {
		t.Error("a put arrived damaged")
	}
}
