package wireup

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
)

// TestRegistrationLimit: with LAPI_REGISTRATION_LIMIT=0 the origin's memory is registered for the
// transfer and no longer; with room for it, it stays registered for the next.
func TestRegistrationLimit(t *testing.T) {
	const length = 128 << 10
	for limit, kept := range map[uint64]int{0: 0, 1 << 30: 1} {
		fabric := fake.NewRandom(1)
		var devices []*fake.Device
		var links []VerbsLink
		for task := range 2 {
			n := (&rack{t: t}).net(job.UserSpace{Wanted: true, Most: 1})
			n.me, n.job.RegistrationLimit = task, limit
			n.cfg.OpenPort = func(string, int) (ibv.Device, error) {
				d, err := fabric.Device()
				devices = append(devices, d)
				return d, err
			}
			if err := n.openVerbs(); err != nil {
				t.Fatal(err)
			}
			links = append(links, n.Verbs)
		}
		for i, l := range links {
			if err := l.Connect(transport.Endpoint(1-i), links[1-i].Address()); err != nil {
				t.Fatal(err)
			}
		}
		put(t, links, 4096) // makes what the link registers for itself
		before, moved := devices[0].Regions(), devices[0].Moved()
		put(t, links, length)
		if got := devices[0].Regions() - before; got != kept {
			t.Errorf("limit %d: %d registrations are kept, want %d", limit, got, kept)
		}
		if devices[0].Moved() == moved {
			t.Errorf("limit %d: copied", limit)
		}
		for _, l := range links {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// put has the first link put n bytes to the second's memory.
func put(t *testing.T, links []VerbsLink, n int) {
	t.Helper()
	var memories [2][]byte
	for i := range memories {
		var err error
		if memories[i], err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(memories[i]) })
	}
	memories[0][n-1] = 7
	done := false
	op := &transport.Op{Local: memory.AddrOf(memories[0]), Remote: memory.AddrOf(memories[1]),
		N: uint64(n), Done: func(_ *transport.Op, err error) {
			if done = true; err != nil {
				t.Error(err)
			}
		}}
	if _, err := links[0].Put(1, op); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !done; { // only guards against a hang
		for _, l := range links {
			l.Progress(16)
		}
		if time.Now().After(end) {
			t.Fatal("the put never ended")
		}
	}
	if memories[1][n-1] != 7 {
		t.Error("the data is not there")
	}
}
