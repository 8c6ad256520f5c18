package progress

import (
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
)

// sleepy is a link that has work when it is armed, or not, and counts its wake-ups.
type sleepy struct {
	transport.Link
	work  bool
	armed int
	next  int64
}

func (l *sleepy) Descriptors() []int { return []int{7, -1} }
func (l *sleepy) Arm() bool          { l.armed++; return l.work }
func (l *sleepy) Disarm()            { l.armed-- }
func (l *sleepy) NextTimeout() int64 { return l.next }

// TestArm: no link stays armed if one of them has work.
func TestArm(t *testing.T) {
	a, b := &sleepy{next: 9}, &sleepy{next: 5}
	s := NewLinks([]transport.Link{a, b})
	if !s.Arm() || a.armed != 1 || b.armed != 1 || s.NextTimeout() != 5 ||
		len(s.Descriptors()) != 4 {
		t.Errorf("armed: %d %d, next %d, descriptors %v",
			a.armed, b.armed, s.NextTimeout(), s.Descriptors())
	}
	s.Disarm()
	b.work = true
	if s.Arm() || a.armed > 0 || b.armed > 0 {
		t.Errorf("with work at hand: armed %d %d", a.armed, b.armed)
	}
}

func TestEarlier(t *testing.T) {
	for _, k := range [][3]int64{{0, 0, 0}, {0, 4, 4}, {4, 0, 4}, {4, 3, 3}, {3, 4, 3}} {
		if got := Earlier(k[0], k[1]); got != k[2] {
			t.Errorf("the earlier of %d and %d is %d", k[0], k[1], got)
		}
	}
}

// TestBlock: a change is published once, and the sleeper is kicked once, only for what is due
// before it wakes.
func TestBlock(t *testing.T) {
	words, due := new(layout.Progress), new(uint32)
	b := NewBlock(words, due)
	if err := b.Open(1, 2, []int{-1, 0}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if words.SpinCalls != 1 || words.Yields != 2 || words.NumDescriptors != 2 {
		t.Errorf("the block says %+v", words)
	}
	b.Publish()
	b.Changed()
	b.Publish()
	b.Publish()
	if words.EventSeq != 1 {
		t.Errorf("one change is published %d times", words.EventSeq)
	}
	kicked := func() bool {
		n, err := unix.Read(int(words.Descriptors[0]), make([]byte, 8))
		return err == nil && n == 8
	}
	words.Poller = 1
	b.Arm(100)
	for _, next := range []int64{0, 100, 150} {
		b.Sooner(next)
		if kicked() {
			t.Errorf("kicked for %d", next)
		}
	}
	if b.Sooner(99); !kicked() || b.Armed() {
		t.Error("not kicked, or armed after it")
	}
	b.Arm(0)
	if b.Sooner(99); !kicked() {
		t.Error("not kicked in an endless sleep")
	}
}
