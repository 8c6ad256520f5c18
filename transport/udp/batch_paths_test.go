package udp

import (
	"net/netip"
	"testing"
	"time"

	"lapi/transport"
)

// linkGatherer sends at Push, and on request finds the socket of one path full.
type linkGatherer struct {
	linkOutlet
	waiting []waitingPacket
	full    int // path; -1: none
	bounces []Bounce
}

func (g *linkGatherer) Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	g.waiting = append(g.waiting, waitingPacket{path, to, head, data, n, nil})
	return Gathered
}

func (g *linkGatherer) Push() []Bounce {
	g.bounces = g.bounces[:0]
	for i, w := range g.waiting {
		if int(w.path) == g.full {
			g.bounces = append(g.bounces, Bounce{Tag: i, Outcome: Full})
		} else {
			g.Transmit(w.path, w.to, w.head, w.data, w.n)
		}
	}
	g.waiting = g.waiting[:0]
	return g.bounces
}

// TestBounceBeforeMissing: while the packets of a path that went down are resent, packets of the
// same burst with lower numbers come back from another path's socket. They are resent, too.
func TestBounceBeforeMissing(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit(), gigabit())
	g := &linkGatherer{linkOutlet: linkOutlet{r, 0}, full: -1}
	r.ms[0].setOutlet(g)
	s := r.stream(0, 1, 1000)
	over := func() bool {
		done := s.feed()
		r.ms[0].Push()
		return done
	}
	r.until(time.Minute, over) // windows are open now
	tested := 0
	for n := range 60 {
		s.left = 5 + n
		s.feed()
		paths := map[Path]bool{}
		for _, w := range g.waiting {
			paths[w.path] = true
		}
		if len(paths) > 1 {
			tested++
			g.full = int(g.waiting[0].path)
			down := g.waiting[len(g.waiting)-1].path
			if int(down) == g.full {
				down = g.waiting[len(g.waiting)-2].path
			}
			r.ms[0].PathDown(r.now, down)
			g.full = -1
			r.ms[0].PathUp(r.now, down)
		}
		r.until(time.Minute, over)
		r.pass(3 * time.Second)
	}
	r.want("packets that arrive", r.got[1], 1000+60*5+59*30)
	if tested == 0 {
		t.Error("no burst went by several paths: nothing was tested")
	}
}
