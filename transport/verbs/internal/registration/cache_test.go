package registration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
)

// A request inside a registered range finds it; a longer request does not.
func TestHits(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	touch(t, c, d, a+100, 3*pageSize)
	touch(t, c, d, a+100, 3*pageSize)
	touch(t, c, d, a+101, 3*pageSize-1)
	touch(t, c, d, a+3*pageSize+99, 1)
	counts(t, c, 3, 1, 0, 0, 0)
	touch(t, c, d, a+99, 2)
	touch(t, c, d, a+3*pageSize+99, 2)
	counts(t, c, 3, 3, 0, 0, 0)
	if n := d.registered(); n != 3 {
		t.Errorf("%d registrations of three ranges that overlap", n)
	}
	touch(t, c, d, a, 4*pageSize) // stands for all three
	counts(t, c, 3, 4, 3, 0, 0)
	if n := d.registered(); n != 1 {
		t.Errorf("%d registrations after a range that holds all others", n)
	}
}

// A registration serves those who ask for no more access than it has.
func TestAccess(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	ask := func(access transport.Access) {
		t.Helper()
		e, err := c.Acquire(transport.Addr(a), size, access)
		if err != nil {
			t.Fatal(err)
		}
		d.check(t, e, a, a+size, access)
		c.Release(e)
	}
	ask(transport.AccessRead)
	ask(transport.AccessWrite)
	counts(t, c, 0, 2, 0, 0, 0)
	ask(all)
	counts(t, c, 0, 3, 2, 0, 0)
	ask(transport.AccessRead)
	ask(transport.AccessWrite)
	counts(t, c, 2, 3, 2, 0, 0)
	ask(all | transport.AccessAtomic | 1<<6)
	ask(all | 1<<6)
	ask(0)
	counts(t, c, 4, 4, 3, 0, 0)
}

func TestBounds(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	for _, r := range []struct {
		addr transport.Addr
		n    uint64
	}{
		{4096, 0}, {^transport.Addr(0), 1}, {^transport.Addr(0) - 9, 20}, {1, ^uint64(0)},
		{^transport.Addr(0) - 4096, 4096},
	} {
		if _, err := c.Acquire(r.addr, r.n, all); err != ErrParam {
			t.Errorf("%#x, %d: %v", uint64(r.addr), r.n, err)
		}
	}
	if d.calls != 0 {
		t.Errorf("%d calls of the device", d.calls)
	}
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	for _, n := range []uint64{0, 1 - a} { // the other ends at address 1
		if _, err := c.AcquireAll(nil, []transport.Range{{Addr: transport.Addr(a), N: n}},
			all); err != ErrParam {
			t.Errorf("%d bytes of registered memory: %v", n, err)
		}
	}
}

// Of a list all are acquired, in order, or none; the kernel is asked once for those that are kept.
func TestLists(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	list := make([]transport.Range, 3)
	for i := range list {
		list[i] = transport.Range{Addr: transport.Addr(a + uint64(i)*2*pageSize), N: pageSize}
	}
	held := []*Entry{nil}
	for _, looks := range []int{0, 1} {
		before := s.looks
		var err error
		if held, err = c.AcquireAll(held[:1], list, all); err != nil || len(held) != 4 {
			t.Fatal(held, err)
		}
		for i, r := range list {
			d.check(t, held[i+1], uint64(r.Addr), uint64(r.Addr)+r.N, all)
		}
		if looks != 0 && s.looks-before != looks {
			t.Errorf("the kernel was asked %d times", s.looks-before)
		}
		c.ReleaseAll(held[1:])
	}
	counts(t, c, 3, 3, 0, 0, 0)
	if held, err := c.AcquireAll(held[:1], append(list, transport.Range{}), all); err != ErrParam ||
		len(held) != 1 {
		t.Errorf("with a range that is no memory: %d held, %v", len(held), err)
	}
	if c.Close(); d.registered() != 0 {
		t.Error("something of it is in use")
	}
}

// A registration that is discarded is not found again, and ends with its last use.
func TestDiscard(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	e := acquire(t, c, d, a, size)
	if acquire(t, c, d, a, size) != e {
		t.Fatal("it is not kept")
	}
	c.Discard(e)
	other := acquire(t, c, d, a, size)
	if other == e || c.Ended(e) || d.registered() != 2 {
		t.Errorf("found again (%v), or ended (%v) in use", other == e, c.Ended(e))
	}
	if c.Release(e); !c.Ended(e) || d.registered() != 1 {
		t.Error("it has not ended with its last use")
	}
	if c.Discard(other); !c.Ended(other) || d.registered() != 0 {
		t.Error("it has not ended at once")
	}
}

// Of the unused ranges the longest unused goes first; nothing is registered beyond the limits.
func TestLimits(t *testing.T) {
	for name, config := range map[string]Config{
		"entries": {Entries: 3},
		"bytes":   {Bytes: 3 * 2 * pageSize}, // each crosses a page's end
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			c := open(t, d, config)
			a := fresh(t, 0, size)
			at := func(i uint64) uint64 { return a + i*2*pageSize + pageSize/2 }
			for i := range uint64(3) {
				touch(t, c, d, at(i), pageSize)
			}
			touch(t, c, d, at(0), pageSize)
			touch(t, c, d, at(3), pageSize) // in place of 1
			counts(t, c, 1, 4, 1, 0, 0)
			touch(t, c, d, at(0), pageSize)
			touch(t, c, d, at(2), pageSize)
			counts(t, c, 3, 4, 1, 0, 0)
			held := acquire(t, c, d, at(3), pageSize)
			touch(t, c, d, at(1), pageSize) // in place of 0
			touch(t, c, d, at(4), pageSize) // in place of 2
			touch(t, c, d, at(5), pageSize) // in place of 1: 3 is in use
			counts(t, c, 4, 7, 4, 0, 0)
			others := []*Entry{held, acquire(t, c, d, at(4), pageSize), acquire(t, c, d, at(5), pageSize)}
			if _, err := c.Acquire(transport.Addr(at(6)), pageSize, all); !errors.Is(err, ErrCopy) {
				t.Errorf("with all in use: %v", err)
			}
			for _, e := range others {
				c.Release(e)
			}
			if d.most > 3*pageSize {
				t.Errorf("%d bytes were registered at one time", d.most)
			}
			if s := c.Stats(); s.Refused != 1 || s.Entries != 3 || s.Bytes != 3*2*pageSize {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A range that cannot be registered evicts no other.
func TestTooLarge(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{Bytes: 4 * pageSize})
	a := fresh(t, 0, size)
	touch(t, c, d, a, pageSize)
	if _, err := c.Acquire(transport.Addr(a), 5*pageSize, all); !errors.Is(err, ErrCopy) {
		t.Errorf("%v", err)
	}
	counts(t, c, 0, 1, 0, 0, 0)
}

// The device fails at each of its first calls in turn.
func TestRegisterFails(t *testing.T) {
	for _, code := range []unix.Errno{unix.EFAULT, unix.EPERM, unix.ENOMEM, unix.EAGAIN} {
		for at := 1; at <= 4; at++ {
			d := &fakeDevice{}
			d.failRegister = func(call int) error {
				if call == at {
					return fmt.Errorf("fake: %w", code)
				}
				return nil
			}
			t.Run(fmt.Sprint(int(code), at), func(t *testing.T) {
				c := open(t, d, Config{})
				a := fresh(t, 0, size)
				failed := 0
				for i := range uint64(3) {
					e, err := c.Acquire(transport.Addr(a+i*pageSize), pageSize, all)
					if err != nil {
						if !errors.Is(err, ErrCopy) || !errors.Is(err, code) {
							t.Errorf("error %v", err)
						}
						failed++
						continue
					}
					d.check(t, e, a+i*pageSize, a+(i+1)*pageSize, all)
					c.Release(e)
				}
				memory := code == unix.ENOMEM || code == unix.EAGAIN
				want := 1
				if at == 4 || memory && at > 1 { // others are given up, and it is tried again
					want = 0
				}
				if s := c.Stats(); failed != want || s.Refused != uint64(want) ||
					s.Entries != d.registered() {
					t.Errorf("%d of 3 failed: %+v, %d registered", failed, s, d.registered())
				}
			})
		}
	}
}

// For lack of lockable memory all unused entries are given up, and entries in use are not.
func TestOutOfMemory(t *testing.T) {
	d := &fakeDevice{}
	d.failRegister = func(int) error {
		if d.registered() > 1 {
			return unix.ENOMEM
		}
		return nil
	}
	c := open(t, d, Config{})
	a := fresh(t, 0, size)
	held := acquire(t, c, d, a, pageSize)
	touch(t, c, d, a+pageSize, 1)
	other, err := c.Acquire(transport.Addr(a+2*pageSize), 1, all)
	if err != nil {
		t.Fatal(err)
	}
	counts(t, c, 0, 3, 1, 0, 0)
	if _, err := c.Acquire(transport.Addr(a+3*pageSize), 1, all); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("with all in use: %v", err)
	}
	d.check(t, held, a, a+pageSize, all)
	c.Release(held)
	c.Release(other)
}

// A registration that the device will not give up is counted, and not found again.
func TestDeregisterFails(t *testing.T) {
	d := &fakeDevice{failDeregister: func() error { return unix.EBUSY }}
	c := open(t, d, Config{Entries: 1})
	a := fresh(t, 0, size)
	touch(t, c, d, a, pageSize)
	touch(t, c, d, a+pageSize, pageSize)
	touch(t, c, d, a, pageSize)
	counts(t, c, 0, 3, 2, 0, 0)
	if s := c.Stats(); s.Lost != 2 || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
	d.failDeregister = nil
	d.live = map[uint32]*pinned{d.next: d.live[d.next]}
}

// Where the kernel does not report changes nothing is kept, and the reason is logged once.
func TestNothingKept(t *testing.T) {
	refused := func(*Cache) error { return unix.EPERM }
	for name, c := range map[string]struct {
		config Config
		attach func(*Cache) error
		said   string
	}{
		"refused":     {Config{}, refused, unix.EPERM.Error()},
		"fork unsafe": {Config{ForkUnsafe: true}, join, "forked child"},
		"off":         {Config{Off: true}, join, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{}
			var said []string
			c.config.Say = func(text string) { said = append(said, text) }
			cache := newCache(d, c.config, c.attach)
			a := fresh(t, 0, size)
			for range 3 {
				touch(t, cache, d, a, size)
			}
			counts(t, cache, 0, 3, 0, 0, 3)
			cache.Close()
			if d.registered() != 0 {
				t.Error("registered after Close")
			}
			if text := strings.Join(said, "\n"); (c.said == "") != (text == "") ||
				!strings.Contains(text, c.said) || len(said) > 1 {
				t.Errorf("said %q", said)
			}
		})
	}
}

// Two caches, as of two adapters, know of the same memory.
func TestTwoCaches(t *testing.T) {
	d, e := &fakeDevice{}, &fakeDevice{}
	c := open(t, d, Config{})
	o := open(t, e, Config{})
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	touch(t, o, e, a, size)
	munmap(t, a, size)
	fresh(t, a, size)
	touch(t, c, d, a, size)
	touch(t, o, e, a, size)
	touch(t, o, e, a, size)
	counts(t, c, 0, 2, 0, 1, 0)
	counts(t, o, 1, 2, 0, 1, 0)
	c.Close()
	munmap(t, a, size)
	fresh(t, a, size)
	touch(t, o, e, a, size)
	counts(t, o, 1, 3, 0, 2, 0)
}
