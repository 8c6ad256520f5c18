package pool

import "testing"

// TestFewPeers: there is room at once for all that few peers may send ahead, and Each more.
func TestFewPeers(t *testing.T) {
	s := New(4096, 0)
	if s.Target() != 0 {
		t.Errorf("without peers: %d", s.Target())
	}
	s.Want(34)
	if s.Target() != 34+Each || s.Together() != Each {
		t.Errorf("one peer: %d, %d together", s.Target(), s.Together())
	}
	s.Want(-34)
	if s.Target() != 0 {
		t.Errorf("after the last: %d", s.Target())
	}
}

// TestManyPeers: of many peers there is Floor, twice as many each time that half of it has come at
// once, never more than the limit or what peers may fill; and Floor again when nothing comes.
func TestManyPeers(t *testing.T) {
	s := New(4096, 1000*34)
	if s.Target() != Floor || s.Came(Floor/2-1) || !s.Came(Floor/2) || s.Target() != 2*Floor {
		t.Fatalf("after half of it: %d", s.Target())
	}
	for range 10 {
		s.Came(4096)
	}
	if s.Target() != 4096 || s.Came(4096) {
		t.Errorf("at the limit: %d", s.Target())
	}
	if s.Shrink() || s.Target() != 4096 { // 4096 have come since
		t.Errorf("while they come: %d", s.Target())
	}
	for range 10 {
		s.Shrink()
	}
	if s.Target() != Floor {
		t.Errorf("after quiet: %d", s.Target())
	}
	s.Want(-990 * 34)
	if s.Target() != 340+Each {
		t.Errorf("with ten peers left: %d", s.Target())
	}
}

// TestSmallAdapter: where the adapter has few buffers none waits to go back with others.
func TestSmallAdapter(t *testing.T) {
	s := New(5, 34)
	if s.Target() != 5 || s.Together() != 1 || s.Came(5) {
		t.Errorf("%d, %d together", s.Target(), s.Together())
	}
}
