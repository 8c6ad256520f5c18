package window

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// slots has those that are free.
type slots []int32

func (s *slots) Free(slot int32) { *s = append(*s, slot) }

func newWindow() (*Window, *slots, *int32) {
	w, s, sending := new(Window), new(slots), new(int32)
	for i := range int32(2 * RingSize) {
		s.Free(i)
	}
	w.Init(new(layout.VerbsPeer), 1, 0, s, sending)
	return w, s, sending
}

// TestOverQueuePairs: packets that go over queue pairs which fail at random arrive once and in
// order, no more of them than the credit permits are under way, and their slots come back.
func TestOverQueuePairs(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		w, s, sending := newWindow()
		peer, _, _ := newWindow() // packets that the peer has taken in
		of := map[int32]uint64{}  // the number of the packet in a slot
		carried, posted := uint64(0), []int32{}
		made := 0
		for made < 500 || w.Ring.Count > 0 {
			switch r.IntN(8) {
			case 0, 1, 2: // make
				if made == 500 || !w.Room(true) {
					break
				}
				made++
				slot := (*s)[len(*s)-1]
				*s = (*s)[:len(*s)-1]
				of[slot] = w.Number
				w.Push(slot, wire.HeadSize, &wire.Head{Kind: wire.KindMessage})
				if w.Number > w.Credit {
					t.Fatalf("seed %d: packet %d is beyond the credit", seed, w.Number)
				}
			case 3, 4: // post
				if slot, _, upTo, ok := w.Next(); ok {
					if upTo != w.Ring.Done+uint64(w.Ring.Posted)+1 {
						t.Fatalf("seed %d: the %d-th", seed, upTo)
					}
					w.Posted(w.Signals(false), 0)
					posted = append(posted, slot)
				}
			case 5: // the peer takes the next
				if int(carried-w.Ring.Done) < len(posted) && carried >= w.Ring.Done {
					if !peer.Take(of[posted[carried-w.Ring.Done]]) {
						t.Fatalf("seed %d: another packet than %d comes", seed, peer.Expected)
					}
					carried++
				}
			case 6: // the adapter tells
				before := w.Ring.Done
				if carried > before && w.Complete(carried) {
					posted = posted[carried-before:]
				}
				if w.Complete(carried + 100) {
					t.Fatal("more is complete than was posted")
				}
				w.Grant(peer.Grantable())
			case 7: // the queue pair fails
				if r.IntN(10) == 0 {
					if _, ok := w.Restart(peer.Expected); !ok {
						t.Fatalf("seed %d: packet %d is not there any more", seed, peer.Expected)
					}
					carried, posted = 0, nil
				}
			}
		}
		if peer.Expected != 500 || *sending != 0 || len(*s) != 2*RingSize {
			t.Errorf("seed %d: %d packets came, %d slots are taken", seed, peer.Expected, *sending)
		}
		free := slices.Clone(*s)
		slices.Sort(free)
		if len(slices.Compact(free)) != 2*RingSize {
			t.Errorf("seed %d: a slot came back twice", seed)
		}
		if _, ok := w.Restart(501); ok {
			t.Error("the peer expects a packet that there is not")
		}
	}
}

// TestCredit: half a window is said to the peer at the latest, more only as refused messages permit,
// and nothing twice; after another queue pair has opened all is said again.
func TestCredit(t *testing.T) {
	w, _, _ := newWindow()
	for i := range uint64(wire.Window / 2) {
		if w.Owes() {
			t.Fatalf("after %d packets", i)
		}
		if w.Take(i+1) || !w.Take(i) {
			t.Fatal("it does not take the next packet alone")
		}
	}
	if !w.Owes() {
		t.Error("half a window is not said")
	}
	if w.Posted(false, w.Grantable()); w.Owes() {
		t.Error("it is said twice")
	}
	if w.Begin(); !w.Owes() {
		t.Error("it is not said over the next queue pair")
	}
	if w.Narrow(HeldMax + wire.Window); w.Grantable() != w.Expected {
		t.Errorf("%d packets more with too many refused messages", w.Grantable()-w.Expected)
	}
	if w.Narrow(0); w.Grantable() != w.Expected+wire.Window {
		t.Error("the window stays narrow")
	}
}

// TestNews: C's notes are taken in once; a post of C's that failed over a queue pair that has ended
// is none.
func TestNews(t *testing.T) {
	w, _, _ := newWindow()
	w.Use(5, 6)
	w.Failed, w.Heard, w.Wanted, w.Listed = 1, 1, 9, 1
	w.Reclaim()
	came, failed, mark, ok := w.News()
	if !ok || failed || !came || mark != 9 || w.Usable != 0 || w.Qp != 0 {
		t.Error(came, failed, mark)
	}
	if _, _, _, ok = w.News(); ok {
		t.Error("it comes again")
	}
}

// TestMarks: no flush is taken for accepted that was not asked for; the last of as many packets as
// twice before asks by itself.
func TestMarks(t *testing.T) {
	w, _, _ := newWindow()
	w.Push(1, wire.HeadSize, &wire.Head{Kind: wire.KindFlush, Asks: true})
	if w.Accept(2) || !w.Accept(1) || w.Flushed != 1 {
		t.Errorf("accepted up to %d", w.Flushed)
	}
	for round := range 3 {
		for i := range 4 {
			if asks := w.AsksByItself(); asks != (round == 2 && i == 3) {
				t.Errorf("round %d, packet %d: %v", round, i, asks)
			}
		}
		w.CountBurst()
	}
}
