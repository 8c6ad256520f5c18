package paths

import (
	"testing"

	"lapi/transport/ibv/fake"
)

// TestScatteredSlotsGoOutOfUse: after many packets the receive buffers of few peers may lie in every
// chunk. As they are filled, lower slots take their place, and the chunks are given back.
func TestScatteredSlotsGoOutOfUse(t *testing.T) {
	s, _, _ := newSet(t, fake.New(), 1)
	pt, chunks := s.ports[0], 8
	var all, last []int32
	for range chunks * slotsAtOnce {
		slot, ok := s.Slot()
		if !ok {
			t.Fatal("no memory")
		}
		if all = append(all, slot); slot%12 == 0 {
			all, last = all[:len(all)-1], append(last, slot)
		}
	}
	for _, slot := range append(all, last...) { // the latest are taken first
		s.Free(slot)
	}
	pt.want(34)
	pt.fillReceives()
	if s.Shrink(); s.Slots() != chunks*slotsAtOnce {
		t.Fatalf("%d slots: the buffers are not scattered", s.Slots())
	}
	for slot, holder := range s.slots.holder {
		if holder == pt.holder() { // a packet has come
			pt.Receives--
			pt.giveBack(int32(slot))
		}
	}
	pt.fillReceives()
	s.Shrink()
	if most := spareSlots + 2*slotsAtOnce; s.Slots() > most {
		t.Errorf("%d slots, and %d would do", s.Slots(), most)
	}
}

// TestStates: of each step in each state only what the table has happens, and a port that is lost is
// Gone to its owner until it is opened again.
func TestStates(t *testing.T) {
	for by := range steps {
		for from := range states {
			pt := &Port{state: from}
			did := pt.step(by)
			if to := transitions[by][from]; did != (to != never) || did && pt.state != to ||
				!did && pt.state != from {
				t.Errorf("step %d from state %d: %v, state %d", by, from, did, pt.state)
			}
			if pt.gone() != (pt.State() == Gone) {
				t.Errorf("state %d: gone %v, and to its owner %d", pt.state, pt.gone(), pt.State())
			}
			if did && from >= Gone && !pt.gone() && (by != reopened || from != released) {
				t.Errorf("step %d from state %d ends in %d", by, from, pt.state)
			}
		}
	}
}
