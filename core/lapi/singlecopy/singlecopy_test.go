package singlecopy

import (
	"testing"

	"lapi/core/lapi/peer"
	"lapi/transport"
)

// TestHints: of both flags the one against bulk transfer wins.
func TestHints(t *testing.T) {
	for flags, want := range map[uint32]Hint{0: NoHint, UseBulkXfer: ByBulk,
		NotUseBulkXfer: ByPackets, UseBulkXfer | NotUseBulkXfer: ByPackets} {
		if got := HintOf(flags); got != want {
			t.Errorf("flags %#x: %d", flags, got)
		}
	}
}

var via = &peer.Reach{}

// TestWorth: the user's wish decides, else the length; what the link cannot copy never is
// a single copy, and within a task no hint counts.
func TestWorth(t *testing.T) {
	const bulk = 100_000
	plain := New(Config{BulkMin: bulk, CopyMax: 128})
	wish := New(Config{Bulk: true, BulkMin: bulk, CopyMax: 128})
	for _, c := range []struct {
		name   string
		copier *Copier
		peer   peer.Peer
		n      uint64
		hint   Hint
		want   bool
	}{
		{"by bulk", plain, peer.Peer{Reach: via, SingleCopy: true}, 8, ByBulk, true},
		{"nothing", plain, peer.Peer{Reach: via, SingleCopy: true}, 0, ByBulk, false},
		{"by packets", wish, peer.Peer{Reach: via, SingleCopy: true}, 1 << 30, ByPackets, false},
		{"cannot", wish, peer.Peer{Reach: via}, 1 << 30, ByBulk, false},
		{"by size", plain, peer.Peer{Reach: via, SingleCopy: true}, putMin, NoHint, true},
		{"below", plain, peer.Peer{Reach: via, SingleCopy: true}, putMin - 1, NoHint, false},
		{"self", plain, peer.Peer{Reach: via, SingleCopy: true, IsSelf: true}, selfMost, ByPackets, true},
		{"short to self", plain, peer.Peer{Reach: via, SingleCopy: true, IsSelf: true}, 8, ByBulk, false},
	} {
		if got := c.copier.Put(&c.peer, c.n, c.hint); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	can := &peer.Peer{Reach: via, SingleCopy: true}
	if plain.Am(can, 128, ByBulk) || !plain.Am(can, 129, ByBulk) {
		t.Error("data that the user may overwrite on return is read later")
	}
	if wish.Route(can, bulk, NoHint) != transport.RouteSingleCopy ||
		wish.Route(can, bulk-1, NoHint) != transport.RouteAny ||
		wish.Route(can, bulk, ByPackets) != transport.RouteMessages ||
		wish.Route(&peer.Peer{Reach: via}, bulk, ByBulk) != transport.RouteMessages {
		t.Error("the route is not the user's")
	}
}
