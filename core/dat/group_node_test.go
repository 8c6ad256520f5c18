package dat

import (
	"testing"

	"lapi/core/dat/coll"
	"lapi/transport"
	"lapi/transport/layout"
)

// giverLink notes for whose copy it was asked to wait.
type giverLink struct {
	turnLink
	awaited []*uint32
	ended   func() uint64
	early   bool // before the others could see the end
}

func (l *giverLink) NodePeer(ep transport.Endpoint) (*layout.NodePeer, int) { return nil, int(ep) }

func (l *giverLink) AwaitCopy(ring int, word *uint32) {
	l.awaited = append(l.awaited, word)
	l.early = l.early || ring != 7 || l.ended() == 0
}

// TestGiverAwaited: a failed group of two hands no memory back that the other is about to write; of a
// larger group nobody writes another's, nor does who is gone.
func TestGiverAwaited(t *testing.T) {
	for _, c := range []struct {
		size, rank uint32
		gone       bool
		want       int
	}{{2, 0, false, 1}, {2, 1, false, 1}, {3, 1, false, 0}, {2, 0, true, 0}} {
		l := New(Config{Clock: func() int64 { return 1 }})
		area := make([]byte, int(c.size)*seatSize)
		seats := elements[layout.DatSeat](area)
		n := &nodeGroup{DatGroup: &layout.DatGroup{
			Config: layout.DatGroupConfig{Size: c.size, Rank: c.rank}}, area: area}
		link := &giverLink{ended: func() uint64 { return seats[c.rank].Ended }}
		g := &Collective{node: n}
		g.ia = &IA{library: l}
		g.group = coll.New(coll.Config{Self: int(c.rank), Size: int(c.size), Owner: g, Memory: l,
			Clock: l.cfg.Clock})
		for i := range int(c.size) {
			if !c.gone {
				n.Config.Peers[i] = 1
			}
			g.fellows = append(g.fellows, &fellow{c: g, rank: i,
				peer: &peer{data: &dataLink{link: link}, ep: 7}})
		}
		g.failNode()
		if len(link.awaited) != c.want || link.early {
			t.Errorf("%+v: waited for %d copies, too early: %v", c, len(link.awaited), link.early)
		}
		if c.want > 0 && len(link.awaited) > 0 && link.awaited[0] != &seats[1-c.rank].Giving {
			t.Errorf("%+v: it is not the other's word", c)
		}
	}
}
