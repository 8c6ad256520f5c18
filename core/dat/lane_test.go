package dat

import (
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

// TestLinkIsSeen: core sees to a link of the node, by which C receives, in one turn of many; and in each
// if something of core's is there.
func TestLinkIsSeen(t *testing.T) {
	lane := &layout.DatLane{}
	l := New(Config{Lane: lane})
	l.self, l.network = &turnLink{}, noNetwork{}
	link := &turnLink{}
	d := &dataLink{link: link, node: &neighbour{state: joined}}
	l.peers.links = []*dataLink{d}
	expect := func(what string, rings uint32, want int) {
		t.Helper()
		link.asked = nil
		for range 2 * seenTurns {
			lane.Rings = rings
			l.progressLinks()
		}
		if len(link.asked) != want {
			t.Errorf("%s: %d times, not %d", what, len(link.asked), want)
		}
	}
	expect("nothing is there", 0, 2)
	expect("a message is core's", 1, 2*seenTurns)
	link.busy = true
	expect("it has something to do", 0, 2*seenTurns)
	link.busy, d.node.ended = false, true
	expect("the line has ended", 0, 2*seenTurns)
	d.node, d.opened = nil, 1
	expect("over UDP", 0, 2*seenTurns)
}
