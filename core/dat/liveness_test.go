package dat

import (
	"testing"

	"lapi/transport"
)

// leavingLink is a link of the node whose peer leaves between two looks.
type leavingLink struct {
	turnLink
	looks, disconnected int
}

func (l *leavingLink) HasLeft(transport.Endpoint) bool {
	l.looks++
	return l.looks > 1
}

func (l *leavingLink) Disconnect(transport.Endpoint, error) { l.disconnected++ }

// endings counts the processes whose end is reported.
type endings struct {
	linkUsers
	left int
}

func (e *endings) gone(_ *peer, left bool) {
	if left {
		e.left++
	}
}

// TestPeerLeavesBetweenLooks: the link of a process that leaves while a tick looks at it keeps its peer
// until it has parted, and parts in the next tick.
func TestPeerLeavesBetweenLooks(t *testing.T) {
	l := New(Config{Clock: func() int64 { return 1 }})
	l.network = noNetwork{}
	h, users := &neighbourhood{peers: &l.peers}, &endings{}
	l.peers.users = users
	link := &leavingLink{}
	n := &neighbour{state: joined, inside: true}
	n.data = dataLink{link: link, node: n, made: 1, peers: make([]*peer, 1)}
	n.data.peers[0] = &peer{of: h.peers, data: &n.data, remote: -1, opened: true}
	h.list, h.links = append(h.list, n), append(h.links, &n.data)
	h.tick(1)
	if n.data.peers[0] == nil {
		t.Fatal("the peer of a link in use was forgotten")
	}
	h.tick(2)
	if n.state != parted || link.disconnected != 1 || users.left != 1 {
		t.Errorf("state %d, disconnected %d times, left %d", n.state, link.disconnected, users.left)
	}
}
