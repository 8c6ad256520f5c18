package dat

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/simnet"
)

// move is a change of state.
type move struct{ from, to EPState }

// actor is an endpoint that random things are done to, and what must come of them.
type actor struct {
	*simEnd
	state  EPState // as it was last seen
	cr     *CR     // a request that waits for it, or for any
	rsp    *RSP
	posted int // receives and sends
	told   int // completions
	began  int // connections that stand, or attempts
	events map[EventNumber]int
}

// chaos is random actors over a bad network.
type chaos struct {
	*world
	actors []*actor
	cr     []*EVD // of each process
	seen   map[move]bool
}

// badNetworks are what random runs go over.
var badNetworks = []simnet.Way{{},
	{Loss: 0.1, DelayMin: time.Millisecond, DelayMax: 30 * time.Millisecond},
	{Duplicate: 0.5, DelayMin: time.Microsecond, DelayMax: 5 * time.Millisecond},
	{Loss: 0.3, Duplicate: 0.3, DelayMin: time.Microsecond, DelayMax: 100 * time.Millisecond}}

// look notes changes of state, and takes events.
func (c *chaos) look() {
	for _, a := range c.actors {
		if a.ep.freed {
			continue
		}
		if s := a.ep.State; s != a.state {
			c.seen[move{a.state, s}] = true
			a.state = s
		}
	}
	for i, e := range c.cr {
		for e.Len() > 0 {
			ev, _ := e.Dequeue()
			h := Handle(binary.LittleEndian.Uint64(ev.Data[24:]))
			cr, r := Find[*CR](c.procs[i].l, h, codes.InvalidHandleCR)
			if r != codes.Success {
				c.t.Fatalf("an event of a request that is none: %#x", uint64(h))
			}
			c.requested(i, cr)
		}
	}
	for _, a := range c.actors {
		a.drain(c.t)
	}
}

// requested gives a request to an actor: to that of its endpoint, or to any that may take it.
func (c *chaos) requested(i int, cr *CR) {
	for _, a := range c.actors {
		if cr.ep != nil && a.ep == cr.ep ||
			cr.ep == nil && a.cr == nil && a.p == c.procs[i] && a.ep.State == Unconnected {
			a.cr = cr
			return
		}
	}
	if cr.ep == nil { // nobody has time
		c.must("reject", cr.Reject(nil))
		return
	}
	a := &actor{simEnd: &simEnd{p: c.procs[i], ep: cr.ep}, cr: cr, state: cr.ep.State,
		events: map[EventNumber]int{}}
	a.recv, a.req, a.con = a.p.evd(EVDDTO), a.p.evd(EVDDTO), a.p.evd(EVDConnection)
	c.actors = append(c.actors, a)
}

// drain takes events. They must fit the steps before.
func (a *actor) drain(t testing.TB) {
	for _, e := range []*EVD{a.recv, a.req} {
		for e.Len() > 0 {
			ev, _ := e.Dequeue()
			if s := binary.LittleEndian.Uint32(ev.Data[16:]); s > 1 {
				t.Errorf("a transfer has status %d", s)
			}
			a.told++
		}
	}
	for a.con.Len() > 0 {
		ev, _ := a.con.Dequeue()
		a.events[ev.Number]++
		up := a.events[EventEstablished]
		down := a.events[EventDisconnected] + a.events[EventBroken]
		failed := a.events[EventPeerRejected] + a.events[EventNonPeerRejected] +
			a.events[EventTimedOut] + a.events[EventAcceptCompletionError]
		if up > a.began || down+failed > a.began {
			t.Errorf("%d attempts, and events %v", a.began, a.events)
		}
	}
}

// act does something random to an actor.
func (c *chaos) act(a *actor) {
	e, p := a.ep, a.p
	other := c.procs[c.random.IntN(len(c.procs))]
	begun := func(r codes.Return) {
		if r == codes.Success {
			a.began++
		}
	}
	switch c.random.IntN(12) {
	case 0, 1:
		begun(e.Connect(other.addr, 1+c.random.Uint64N(4), int64(c.random.IntN(2))*2e9, nil))
	case 2, 3:
		if a.cr != nil && !a.cr.freed {
			h := Handle(0)
			if a.cr.ep == nil {
				h = e.Handle()
			}
			begun(a.cr.Accept(h, nil))
		}
	case 4:
		if a.cr != nil && !a.cr.freed {
			c.must("reject", a.cr.Reject(nil))
			a.cr = nil
		}
	case 5:
		e.Disconnect(c.random.IntN(2) == 0)
	case 6, 7:
		e.Reset()
	case 8:
		if a.rsp == nil {
			a.rsp, _ = p.ia.NewRSP(3, e.Handle(), c.cr[slices.Index(c.procs, p)].Handle())
		} else {
			c.must("rsp_free", a.rsp.Free())
			a.rsp = nil
		}
	case 9:
		if !e.configured() {
			attr := DefaultAttr
			c.must("modify", e.Modify(FieldPZ|FieldRecv|FieldRequest|FieldConnect|FieldAttr,
				EPArgs{PZ: p.pz.Handle(), Recv: a.recv.Handle(), Request: a.req.Handle(),
					Connect: a.con.Handle(), Attr: &attr}))
		}
	case 10:
		if e.configured() && e.PostReceive(nil, 0, 0) == codes.Success {
			a.posted++
		}
	case 11:
		if e.configured() && e.Post(PostArgs{Op: rc.Send}) == codes.Success {
			a.posted++
		}
	}
	p.l.Push()
	p.node.Touch()
}

// settle ends everything. Each transfer has completed, each connection has ended once.
func (c *chaos) settle() {
	for range 3 { // what is accepted late is ended later
		for _, a := range c.actors {
			if a.cr != nil && !a.cr.freed {
				_ = a.cr.Reject(nil)
			}
			if a.rsp != nil {
				c.must("rsp_free", a.rsp.Free())
				a.rsp = nil
			}
			a.ep.Disconnect(false)
			a.p.l.Push()
			a.p.node.Touch()
		}
		for range 30 {
			c.run(time.Second)
			c.look()
		}
	}
	for i, a := range c.actors {
		switch a.ep.State {
		case Unconnected, UnconfiguredUnconnected, Disconnected:
		default:
			c.t.Errorf("endpoint %d is in state %d in the end", i, a.ep.State)
			continue
		}
		if a.ep.State == Unconnected { // its receives wait for a connection
			a.told += int(a.ep.c.Receives)
		}
		if a.posted != a.told {
			c.t.Errorf("endpoint %d: %d of %d transfers have completed", i, a.told, a.posted)
		}
		ended := 0
		for number, n := range a.events {
			if number != EventEstablished {
				ended += n
			}
		}
		if ended != a.began {
			c.t.Errorf("endpoint %d: %d of %d attempts have ended: %v", i, ended, a.began, a.events)
		}
		c.must("ep_free", a.ep.Free())
	}
}

func runChaos(t *testing.T, seed uint64, seen map[move]bool) {
	c := &chaos{world: newWorld(t, seed, 3, badNetworks[seed%uint64(len(badNetworks))]), seen: seen}
	for _, p := range c.procs {
		cr := p.evd(EVDCR)
		c.cr = append(c.cr, cr)
		for q := uint64(1); q <= 2; q++ { // the second makes endpoints
			_, r := p.ia.NewPSP(q, cr.Handle(), q == 2)
			c.must("psp", r)
		}
		for range 4 {
			a := &actor{simEnd: p.end(nil), events: map[EventNumber]int{}}
			c.actors = append(c.actors, a)
		}
	}
	for range 600 {
		c.act(c.actors[c.random.IntN(len(c.actors))])
		c.look()
		for range c.random.IntN(6) {
			c.net.Step()
			c.look()
		}
	}
	c.settle()
}

// TestTransitions: random things are done to endpoints of three processes over bad networks. Every
// change of state that the table has happens, and no other; whatever was begun ends, once.
func TestTransitions(t *testing.T) {
	seen := map[move]bool{}
	for seed := range uint64(40) {
		if raced && seed%5 > 0 {
			continue // `make sim` runs all
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runChaos(t, seed, seen) })
	}
	known := map[move]bool{}
	for s := range transitions {
		for from, to := range transitions[s] {
			if to != notAllowed && EPState(from) != to {
				known[move{EPState(from), to}] = true
			}
		}
	}
	// Accept of a request that was given up fails at once: two steps in one call.
	twice := map[move]bool{}
	for from, to := range transitions[stepAccept] {
		if to != notAllowed {
			twice[move{EPState(from), transitions[stepFailed][to]}] = true
		}
	}
	for m := range known {
		if !seen[m] && !raced {
			t.Errorf("no endpoint went from state %d to %d", m.from, m.to)
		}
	}
	for m := range seen {
		if !known[m] && !twice[m] {
			t.Errorf("an endpoint went from state %d to %d", m.from, m.to)
		}
	}
}
