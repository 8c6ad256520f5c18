package peer

import (
	"testing"

	"lapi/core/lapi/codes"
)

// TestGone: why operations fail, and that the generation changes whenever all that was under way is
// given up.
func TestGone(t *testing.T) {
	var p Peer
	want := func(what string, code codes.Code, epoch uint32) {
		t.Helper()
		if p.Gone() != code || p.Epoch() != epoch || p.Dead() != (code != codes.Success) {
			t.Errorf("%s: %s, epoch %d", what, codes.Name(p.Gone()), p.Epoch())
		}
	}
	want("at first", codes.Success, 0)
	p.GiveUp()
	want("dead", codes.ErrNoConnectivity, 1)
	p.Resume()
	want("resumed", codes.Success, 1)
	p.Purge()
	p.GiveUp()
	want("purged", codes.ErrTgtPurged, 2)
	p.Resume()
	want("resumed again", codes.Success, 2)
}

// TestRoom: a header leaves its message less data, and never less than none.
func TestRoom(t *testing.T) {
	p := Peer{Reach: &Reach{}}
	shared := p.Reach
	p.CutFor(1000)
	if p.Room(24) != 976 || p.Room(2000) != 0 || p.SendMax()%8 != 0 || p.SendMax() >= 1000 {
		t.Errorf("room %d and %d, largest fragment %d", p.Room(24), p.Room(2000), p.SendMax())
	}
	if shared.Room(0) != 0 {
		t.Error("the other tasks of the link are sent other messages, too")
	}
	own := p.Reach
	if p.CutFor(2000); p.Reach != own || p.Room(0) != 2000 {
		t.Errorf("room %d after the second change", p.Room(0))
	}
}
