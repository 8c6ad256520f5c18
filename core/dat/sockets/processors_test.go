package sockets

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/shm"
)

// bound is a process on these processors, and the ends of its links.
type bound struct {
	*process
	links []*layout.NodePeer
}

type linkNoter struct {
	*Network
	of *bound
}

func (n linkNoter) NodeLink(me int, runs func() bool,
	failed func(transport.Endpoint, error)) (transport.Link, error) {
	l, err := n.Network.NodeLink(me, runs, failed)
	if s, ok := l.(*shm.Link); ok {
		end, _ := s.NodePeer(transport.Endpoint(1 - me))
		n.of.links = append(n.of.links, end)
	}
	return l, err
}

// newBound opens an adapter while the calling thread may use these processors only.
func newBound(t *testing.T, processors ...int) *bound {
	var before, only unix.CPUSet
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for _, p := range processors {
		only.Set(p)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		t.Skip("skipped: there are fewer processors: ", err)
	}
	defer unix.SchedSetaffinity(0, &before)
	b := &bound{}
	b.process = newProcessAs(t, Config{}, nil,
		func(n *Network) dat.Network { return linkNoter{n, b} })
	if now := new(unix.CPUSet); unix.SchedGetaffinity(0, now) != nil || *now != only {
		t.Skip("skipped: there are fewer processors")
	}
	return b
}

// sharing waits until each process shares processors, or none does, as its links say.
func sharing(t *testing.T, what string, want bool, bs ...*bound) {
	t.Helper()
	is := func(b *bound) bool {
		for _, end := range b.links {
			if (end.Crowded != 0) != want {
				return false
			}
		}
		return b.l.Crowded() == want
	}
	for end := time.Now().Add(20 * time.Second); ; {
		all := true
		for _, b := range bs {
			b.l.Progress()
			all = all && is(b)
		}
		if all {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: never so that sharing is %v", what, want)
		}
	}
}

// TestLinksOfCrowdedProcesses: processes that share processors do not look for room in vain. A
// client learns it from its server, which has more clients.
func TestLinksOfCrowdedProcesses(t *testing.T) {
	server, one := newBound(t, 0, 1), newBound(t, 0, 1)
	connect(t, one.end(nil, 0), server.end(nil, 0))
	exchangeOf(t, one, server)
	sharing(t, "two on two processors", false, server, one)
	two := newBound(t, 1, 0)
	connect(t, two.end(nil, 0), server.end(nil, 0))
	sharing(t, "three on two processors", true, server, one, two)
	two.ia.Close(false)
	two.l.Shut()
	two.ia = nil
	server.links, two.links = server.links[:1], nil
	sharing(t, "when one has gone", false, server, one)
}

// TestLinksOfBoundProcesses: each on a processor of its own shares none, however few there are.
func TestLinksOfBoundProcesses(t *testing.T) {
	a, b := newBound(t, 0), newBound(t, 1)
	connect(t, a.end(nil, 0), b.end(nil, 0))
	exchangeOf(t, a, b)
	sharing(t, "each on its own", false, a, b)
	c := newBound(t, 0)
	connect(t, c.end(nil, 0), a.end(nil, 0))
	sharing(t, "two on the same", true, a, c)
	sharing(t, "the other", false, &bound{process: b.process, links: b.links})
}

// exchangeOf sends a message over another connection, so that all that lines bring is here.
func exchangeOf(t *testing.T, a, b *bound) {
	t.Helper()
	x, y := a.end(nil, 0), b.end(nil, 0)
	connect(t, x, y)
	exchange(t, x, y)
}
