package registration

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	driver "lapi/cshim/ibv"
	"lapi/transport"
	"lapi/transport/ibv"
)

// Tests over a real adapter: it writes where the program looks. `make verbs-test` has them, in a
// machine with soft-RoCE.

// real is an adapter with two queue pairs that are connected to each other. A write by the first is
// as a peer's.
type real struct {
	ibv.Device
	t     testing.TB
	pd    ibv.PD
	cq    ibv.CQ
	qp    ibv.QP
	from  uint64 // a page to write from
	local ibv.Region
}

func (r *real) Register(a transport.Addr, n uint64, access transport.Access) (Handle, error) {
	of := ibv.LocalWrite
	if access&transport.AccessWrite != 0 {
		of |= ibv.RemoteWrite
	}
	region, err := r.RegMR(r.pd, uint64(a), n, uint64(a), of)
	return Handle{LKey: region.Local, RKey: region.Remote, MR: region.MR}, err
}

func (r *real) Deregister(h Handle) error { return r.DeregMR(h.MR.(ibv.MR)) }

// openReal opens the adapter that LAPI_TEST_VERBS names, or skips the test.
func openReal(t testing.TB) *real {
	t.Helper()
	name := os.Getenv("LAPI_TEST_VERBS")
	if name == "" {
		t.Skip("LAPI_TEST_VERBS names no adapter")
	}
	a, err := driver.Open(driver.Choice{Name: name, GIDIndex: -1})
	if err != nil {
		t.Fatal(err)
	}
	r := &real{Device: a, t: t, from: mmap(t, 0, pageSize)}
	if r.pd, err = a.AllocPD(); err != nil {
		t.Fatal(err)
	}
	if r.cq, err = a.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	var pair [2]ibv.QP
	var number [2]uint32
	for i := range pair {
		if pair[i], number[i], err = a.CreateQP(ibv.QPAttr{PD: r.pd, SendCQ: r.cq, RecvCQ: r.cq,
			MaxRequests: 16, MaxReceives: 1, RequestSegments: 1, ReceiveSegments: 1}); err != nil {
			t.Fatal(err)
		}
	}
	info := a.Info()
	for i, qp := range pair {
		if err := a.ConnectQP(qp, 1, ibv.Remote{QPN: number[1-i], PSN: 1, GID: info.GID,
			LID: info.LID, MTU: min(info.MTU, 1024), Reads: 1}); err != nil {
			t.Fatal(err)
		}
	}
	r.qp = pair[0]
	if r.local, err = a.RegMR(r.pd, r.from, pageSize, r.from, ibv.LocalWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, qp := range pair {
			a.DestroyQP(qp)
		}
		_ = a.DeregMR(r.local.MR)
		_ = a.DestroyCQ(r.cq)
		_ = a.DeallocPD(r.pd)
		_ = a.Close()
	})
	return r
}

// post has the adapter write the word of r.from.
func (r *real) post(to uint64, key uint32) error {
	return r.PostSend(r.qp, &ibv.Work{Op: ibv.OpWrite, Signaled: true, RemoteAddr: to, RKey: key,
		Segments: []ibv.Segment{{Addr: r.from, N: 8, Key: r.local.Local}}})
}

// write has the adapter write one word, new each time, to each page from lo on, and looks for it.
func (r *real) write(e *Entry, lo, n uint64) {
	r.t.Helper()
	for at := lo; at < lo+n; at += pageSize {
		*word(r.from) = lastStamp.Add(1)
		if err := r.post(at, e.Handle.RKey); err != nil {
			r.t.Fatal(err)
		}
		var done [1]ibv.Completion
		for end := time.Now().Add(time.Minute); r.PollCQ(r.cq, done[:]) == 0; {
			if time.Now().After(end) {
				r.t.Fatal("the write never completes")
			}
		}
		if done[0].Status != ibv.Success {
			r.t.Fatalf("the write ends with %v", done[0].Status)
		}
		if got := *word(at); got != *word(r.from) {
			r.t.Fatalf("the page at %#x holds %d after %d was written", at, got, *word(r.from))
		}
	}
}

// Data that a peer writes after a change is in the memory that the program sees.
func TestAdapterWrites(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			r := openReal(t)
			c := New(r, Config{Say: func(text string) { t.Fatal(text) }})
			defer c.Close()
			a := fresh(t, 0, size)
			for range 3 {
				e, err := c.Acquire(transport.Addr(a), size, all)
				if err != nil {
					t.Fatal(err)
				}
				r.write(e, a, size)
				c.Release(e)
				a = change.change(t, a)
			}
			if s := c.Stats(); s.Hits != 0 || s.Misses != 3 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A parent that writes after a fork goes on seeing what the adapter writes, by the old
// registration.
func TestAdapterFork(t *testing.T) {
	r := openReal(t)
	c := New(r, Config{Say: func(text string) { t.Fatal(text) }})
	defer c.Close()
	a := fresh(t, 0, size)
	for range 2 {
		e, err := c.Acquire(transport.Addr(a), size, all)
		if err != nil {
			t.Fatal(err)
		}
		child := fork()
		stamp(a, a+size)
		r.write(e, a, size)
		c.Release(e)
		_ = unix.Kill(int(child), unix.SIGKILL)
		_, _ = unix.Wait4(int(child), nil, 0, nil)
	}
	counts(t, c, 1, 1, 0, 0, 0)
}

// A cache without notices of changes would do this: the data goes where nobody looks. Without this
// the test above could not fail.
func TestAdapterWritesStale(t *testing.T) {
	r := openReal(t)
	a := fresh(t, 0, pageSize)
	h, err := r.Register(transport.Addr(a), pageSize, all)
	if err != nil {
		t.Fatal(err)
	}
	r.write(&Entry{Handle: h}, a, pageSize)
	munmap(t, a, pageSize)
	fresh(t, a, pageSize)
	before := *word(a)
	*word(r.from) = lastStamp.Add(1)
	if err := r.post(a, h.RKey); err != nil {
		t.Fatal(err)
	}
	for done := make([]ibv.Completion, 1); r.PollCQ(r.cq, done) == 0; {
	}
	if *word(a) != before {
		t.Error("the old registration writes to the new page")
	}
	_ = r.Deregister(h)
}

// A hit, beside what it saves.
func BenchmarkAdapter(b *testing.B) {
	r := openReal(b)
	c := New(r, Config{})
	defer c.Close()
	const n = 64 << 10
	a := fresh(b, 0, n)
	b.Run("hit", func(b *testing.B) {
		for b.Loop() {
			e, _ := c.Acquire(transport.Addr(a), n, all)
			c.Release(e)
		}
	})
	b.Run("register and deregister 64 KiB", func(b *testing.B) {
		for b.Loop() {
			h, _ := r.Register(transport.Addr(a), n, all)
			_ = r.Deregister(h)
		}
	})
}
