package lapi

import (
	"net/netip"
	"slices"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/counter"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/udp"
)

func (k *testTask) addrOfUDP(t *testing.T) netip.AddrPort {
	t.Helper()
	a, _, err := udp.DecodeAddress(k.net.UDP.AddressOf(transport.Endpoint(1 - k.me)).Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return a[0]
}

// listed is a counter with a list, as in lapi.h but for the order of its members.
type listed struct {
	cntr   int32
	member transport.Addr // of dest_status
	dest   []uint32
	status []int32
}

func (l *listed) set(k *testTask, dest ...uint32) codes.Code {
	l.dest, l.status = dest, make([]int32, len(dest))
	for i := range l.status {
		l.status[i] = -7
	}
	code := k.ListCounter(at(&l.cntr), int32(len(dest)), at(&l.dest[0]), at(&l.status[0]),
		at(&l.member))
	l.member = at(&l.status[0])
	return code
}

func (l *listed) want(t *testing.T, what string, status ...int32) {
	t.Helper()
	if !slices.Equal(l.status, status) {
		t.Errorf("%s: status %v, want %v", what, l.status, status)
	}
}

// TestDestStatus follows a list through its life.
func TestDestStatus(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 4, env)
			k := j.tasks[0]
			l := new(listed)
			word := new(uint64)
			want(t, "purge", k.Purge(3), codes.Success)
			want(t, "set", l.set(k, 1, 2, 1, 3, 0), codes.Success)
			l.want(t, "at first", counter.StatusInitial, counter.StatusInitial,
				counter.StatusInitial, counter.StatusInvalid, counter.StatusInitial)
			count := func(what string, n int32, begin func() codes.Code) {
				t.Helper()
				j.ok(begin())
				j.until(what, func() bool { return l.cntr == n })
			}
			count("a put to 1", 1, func() codes.Code { return k.Put(1, 8, at(word), at(word), 0, 0, at(&l.cntr)) })
			l.want(t, "after a put", counter.StatusReceived, counter.StatusInitial, counter.StatusInitial, counter.StatusInvalid, counter.StatusInitial)
			count("a put from 1", 2, func() codes.Code { return j.tasks[1].Put(0, 8, at(word), at(word), at(&l.cntr), 0, 0) })
			l.want(t, "after two", counter.StatusReceived, counter.StatusInitial, counter.StatusReceived, counter.StatusInvalid, counter.StatusInitial)
			count("a third", 3, func() codes.Code { return k.Get(1, 8, at(word), at(word), 0, at(&l.cntr)) })
			l.want(t, "after one too many", counter.StatusReceived, counter.StatusInitial, counter.StatusReceived, counter.StatusInvalid, counter.StatusInitial)
			count("one to itself", 4, func() codes.Code { return k.Put(0, 8, at(word), at(word), 0, at(&l.cntr), 0) })
			l.want(t, "after one to itself", counter.StatusReceived, counter.StatusInitial, counter.StatusReceived, counter.StatusInvalid, counter.StatusReceived)
			for i, expected := range []int{counter.Purged, counter.Quiet} { // task 3 was before
				if got := k.CounterPurged(at(&l.cntr)); got != expected {
					t.Errorf("before a purge, asked %d times: %d", i+1, got)
				}
			}
			want(t, "purge", k.Purge(1), codes.Success)
			want(t, "purge", k.Purge(2), codes.Success)
			l.want(t, "after purges", counter.StatusPurgedReceived, counter.StatusPurged, counter.StatusPurgedReceived, counter.StatusInvalid, counter.StatusReceived)
			for i, expected := range []int{counter.Purged, counter.Quiet} {
				if got := k.CounterPurged(at(&l.cntr)); got != expected {
					t.Errorf("news, asked %d times: %d, want %d", i+1, got, expected)
				}
			}
			k.UnlistCounter(at(&l.cntr))
			if got := k.CounterPurged(at(&l.cntr)); got != counter.Unlisted {
				t.Errorf("without a list: %d", got)
			}
		})
	}
}

// TestDestListOfAnotherCounter: memory that was a counter with a list and is now another one is not
// taken for it.
func TestDestListOfAnotherCounter(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	k := j.tasks[0]
	l := new(listed)
	word := new(uint64)
	want(t, "set", l.set(k, 1), codes.Success)
	l.member = 0 // as if the place had been used anew
	j.ok(k.Put(1, 8, at(word), at(word), 0, 0, at(&l.cntr)))
	j.until("a put", func() bool { return l.cntr == 1 })
	want(t, "purge", k.Purge(1), codes.Success)
	l.want(t, "after it", counter.StatusInitial)
}

func TestDestListErrors(t *testing.T) {
	j := newJob(t, 2, paths["udp"])
	k := j.tasks[0]
	l := new(listed)
	want(t, "task out of range", l.set(k, 1, 2), codes.ErrTgt)
	l.want(t, "nothing is stored", -7, -7)
	dest, status := new([2]uint32), new([2]int32)
	want(t, "negative", k.ListCounter(at(&l.cntr), -1, at(dest), at(status), at(&l.member)),
		codes.ErrTgt)
	want(t, "too many", k.ListCounter(at(&l.cntr), counter.MaxList+1, at(dest), at(status),
		at(&l.member)), codes.ErrTgt)
	want(t, "list not readable", k.ListCounter(at(&l.cntr), 2, 4096, at(status), at(&l.member)),
		codes.ErrRetPtrNull)
	want(t, "status not writable", k.ListCounter(at(&l.cntr), 2, at(dest), 4096, at(&l.member)),
		codes.ErrRetPtrNull)
	if n := drainErrors(t, k, codes.ErrRetPtrNull, 0); n != 2 {
		t.Errorf("%d calls of the error handler for bad addresses, want 2", n)
	}
	want(t, "none", k.ListCounter(at(&l.cntr), 2, 0, 0, at(&l.member)), codes.Success)
}

// A counter with a list takes everything away from the lane at once: it would count without noting
// the task.
func TestListClosesLane(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	k := j.tasks[0]
	if k.lane == nil {
		t.Skip("this kernel permits no lane")
	}
	b := make([]byte, 32)
	list := func(dest transport.Addr) {
		t.Helper()
		if code := k.ListCounter(addrOf(b), 1, dest, addrOf(b)+8,
			addrOf(b)+16); code != codes.Success {
			t.Fatal(codes.Name(code))
		}
	}
	for range 2 {
		list(addrOf(b) + 4)
		if k.lane.Off&layout.OffLists == 0 {
			t.Error("the lane still counts for a counter with a list")
		}
		list(0)
		if k.lane.Off != 0 {
			t.Error("the lane is off without a list")
		}
	}
}
