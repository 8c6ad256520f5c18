package dat

import (
	"slices"
	"testing"

	"lapi/transport"
	"lapi/transport/layout"
)

// turnLink is a link that notes how many messages it was asked for.
type turnLink struct {
	transport.Link
	asked []int
	busy  bool
}

func (l *turnLink) Progress(most int) int {
	l.asked = append(l.asked, most)
	return 0
}

func (l *turnLink) Node() *layout.NodeLink { return nil }

func (l *turnLink) NodePeer(transport.Endpoint) (*layout.NodePeer, int) { return nil, 0 }

func (l *turnLink) Busy() bool { return l.busy }

func (l *turnLink) OrderPeers() {}

func (l *turnLink) AwaitCopy(int, *uint32) {}

func (l *turnLink) Descriptors() []int { return nil }

type noNetwork struct{ Network }

func (noNetwork) Receive(int, Arrivals) int { return 0 }

// TestLaneKeeps: after a turn in which the lane has left core no message, core takes none of a link
// of the node, as it would take the connection with it; and it sees to the link now and then.
func TestLaneKeeps(t *testing.T) {
	lane := &layout.DatLane{}
	l := New(Config{Lane: lane})
	l.self, l.network = &turnLink{}, noNetwork{}
	link := &turnLink{}
	d := &dataLink{link: link, node: &neighbour{state: joined}}
	l.peers.links = []*dataLink{d}
	expect := func(what string, leave uint32, want ...int) {
		t.Helper()
		link.asked, lane.Leave = nil, leave
		l.progressLinks()
		if !slices.Equal(link.asked, want) {
			t.Errorf("%s: %v, not %v", what, link.asked, want)
		}
	}
	expect("a message is core's", layout.DatLeaveNothing, progressBatch)
	expect("none is", layout.DatLeaveMessages, 0)
	expect("nor is the link's turn", layout.DatLeaveLinks)
	link.busy = true
	expect("it has something to do", layout.DatLeaveLinks, progressBatch)
	link.busy, d.node.ended = false, true
	expect("the line has ended", layout.DatLeaveLinks, progressBatch)
	d.node, d.opened = nil, 1
	expect("over UDP", layout.DatLeaveLinks, progressBatch)
}
