package dat

import (
	"fmt"
	"slices"

	"lapi/core/dat/coll"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
)

// Rails at work: the plan's messages, the turns of groups that have rails, sleep.

// Has implements coll.Rails, as all below.
func (r *rails) Has(rank int) bool { return r.list[rank] != nil && r.list[rank].active }

// Send implements coll.Rails.
func (r *rails) Send(rank int, m *coll.RailMessage, at transport.Addr) (bool, error) {
	out := layout.DatRailMessage{Addr: uint64(at), Check: m.Check, Total: m.Total,
		N: uint64(m.N), Seq: m.Seq, What: uint32(m.What), Kind: uint32(m.Kind)}
	switch r.c.view.Send(rank, &out) {
	case 1:
		return true, nil
	case 0:
		return false, nil
	}
	return false, &transport.FaultError{Addr: at}
}

// Next implements coll.Rails.
func (r *rails) Next(rank int, m *coll.RailMessage) (transport.Addr, bool) {
	var in layout.DatRailMessage
	if !r.c.view.Next(rank, &in) {
		return 0, false
	}
	*m = coll.RailMessage{What: uint8(in.What), Kind: coll.Kind(in.Kind), Seq: in.Seq,
		Check: in.Check, Total: in.Total, N: int(in.N)}
	return transport.Addr(in.Addr), true
}

// Take implements coll.Rails.
func (r *rails) Take(rank int) { r.c.view.TakeNext(rank) }

// Register implements coll.Rails.
func (r *rails) Register(s coll.Span, written bool) (coll.RailKeys, bool) {
	for _, o := range r.regions {
		if s.Addr >= o.span.Addr && uint64(s.Addr-o.span.Addr)+s.N <= o.span.N &&
			(o.written || !written) {
			return coll.RailKeys(o.Keys), true
		}
	}
	access := ibv.Access(0)
	if written {
		access = ibv.LocalWrite | ibv.RemoteWrite
	}
	of, err := r.port.d.RegMR(r.pd, uint64(s.Addr), s.N, uint64(s.Addr), access)
	if err != nil {
		return coll.RailKeys{}, false
	}
	r.regions = append(r.regions, opRegion{s, written, of})
	return coll.RailKeys(of.Keys), true
}

// Deregister implements coll.Rails.
func (r *rails) Deregister() {
	for _, o := range r.regions {
		_ = r.port.d.DeregMR(o.MR)
	}
	r.regions = r.regions[:0]
}

// Grant implements coll.Rails.
func (r *rails) Grant(rank int, to coll.Grant) bool {
	return r.c.view.Grant(rank, &layout.DatRailGrant{Addr: to.Addr, N: to.N, Key: uint64(to.Key),
		Number: to.Number})
}

// Granted implements coll.Rails.
func (r *rails) Granted(rank int, number uint64) (coll.Grant, bool) {
	var g layout.DatRailGrant
	ok := r.c.view.Granted(rank, number, &g)
	return coll.Grant{Addr: g.Addr, N: g.N, Key: uint32(g.Key), Number: g.Number}, ok
}

// Write implements coll.Rails.
func (r *rails) Write(rank int, s coll.Span, keys coll.RailKeys, to coll.Grant, at uint64) uint64 {
	n := min(to.N-at, r.port.info.MaxMessage, railWriteMax)
	if !r.c.view.Write(rank, uint64(s.Addr)+at, keys.Local, to.Addr+at, to.Key, uint32(n)) {
		return 0
	}
	return n
}

// Written implements coll.Rails.
func (r *rails) Written(rank int) uint64 {
	r.c.view.PollRail(rank)
	return r.state(rank).Written
}

// Failed implements coll.Rails.
func (r *rails) Failed(rank int) bool { return r.state(rank).Failed != 0 }

// state is that of a rail. A peer that sleeps is woken.
func (r *rails) state(rank int) layout.DatRailState {
	s := r.c.view.RailState(rank)
	if s.Wake != 0 {
		r.c.group.Wake(rank)
	}
	if s.Failed != 0 && !r.told {
		r.told = true
		r.report(rank, &s)
	}
	return s
}

// report reports the first failure of a rail.
func (r *rails) report(rank int, s *layout.DatRailState) {
	l := r.c.ia.library
	if l.cfg.Debug == nil {
		return
	}
	why := ibv.Status(s.Status).String()
	switch s.Status {
	case layout.DatRailBroken:
		why = "it, its completion queue or the adapter is broken"
	case layout.DatRailRefused:
		why = "the adapter has refused a request"
	}
	l.cfg.Debug(fmt.Sprintf("group %d: the queue pair to member %d has failed: %s, vendor_err %#x; "+
		"queue pair %#x of adapter %s, port %d", r.c.id, rank, why, s.Vendor,
		r.list[rank].number, r.port.info.Name, r.port.info.Port))
}

// short says whether C does the group's short operations.
func (c *Collective) short() bool { return c.engine == layout.DatEngineRails }

// sync has the plan number its operations as C does.
func (c *Collective) sync() {
	if !c.short() || c.view == nil {
		return
	}
	number, queued := c.view.Number()
	c.group.Sync(number, uint64(max(queued-c.group.Numbered(), 0)))
}

// learnEnds has C learn from which operation on some member takes part in none.
func (c *Collective) learnEnds() {
	if until, ended := c.group.Ended(); ended && c.short() && c.view != nil {
		c.view.Until(until)
	}
}

// Woken implements coll.Owner.
func (c *Collective) Woken(from int) {
	if c.rails != nil && c.view != nil && c.rails.Has(from) {
		c.view.RailWoken(from)
	}
}

// turn goes on with the rails of a group that is made; it returns how much progress it made.
func (r *rails) turn() (n int) {
	c := r.c
	if c.over || c.view == nil || !c.made {
		return 0
	}
	c.sync()
	r.serve()
	if c.view.GoOn() {
		n++
	}
	r.serve()
	r.probe()
	for _, rank := range r.ranks {
		c.view.PollRail(rank)
		r.state(rank)
	}
	if op, lists := c.view.Wanted(2 * c.group.Size); op != nil {
		c.sync()
		c.EVD.useByCore(1)
		c.PostJudged(op, lists)
		n++
	}
	switch {
	case c.view.Broken() && !c.group.Broken():
		c.sync()
		c.group.Fail()
	case c.group.Broken() && !c.view.Broken() && c.short():
		c.view.FailAll()
	}
	if c.group.Pending() > 0 || c.group.Broken() {
		done, busy := c.group.Pump()
		if n += done; busy {
			c.Touched()
		}
		r.serve()
	}
	if n > 0 {
		r.pause = railPauseMin
	}
	r.next = c.ia.library.cfg.Clock() + r.pause
	return n
}

// failShort fails the operations posted to a group of C's: first those of the plan, which are
// older.
func (c *Collective) failShort() {
	c.sync()
	c.view.FailAll()
	c.group.Free()
	c.view.FailAll()
}

// probe has the adapter look for the peers, each second while an operation waits: nothing else may be
// under way to a peer that is gone. A rail that had failed a second before, of a member that has not
// said that it has ended since, fails the group: also if the operation waits for others, which may
// wait for that member.
func (r *rails) probe() {
	now := r.c.ia.library.cfg.Clock()
	switch {
	case !r.pending():
		r.probeAt = 0
	case r.probeAt == 0:
		r.probeAt = now + railProbe
	case now >= r.probeAt:
		r.probeAt = now + railProbe
		r.c.ia.library.groups.readEvents(r.port)
		for _, rank := range r.ranks {
			if r.state(rank).Failed != 0 && r.c.group.IsIn(rank) {
				r.c.sync()
				r.c.group.Fail()
				return
			}
			r.c.view.Probe(rank)
		}
		r.serve()
	}
}

// readEvents takes an adapter's asynchronous events: a queue pair, or all that the adapter has, is of no
// use any more. Its completions may be lost, as those of a completion queue that has failed: an operation
// would wait for them without end.
func (g *groupTable) readEvents(p *railPort) {
	for e := p.d.Event(); e.Kind != ibv.NoEvent; e = p.d.Event() {
		if e.Kind != ibv.Fatal && e.Kind != ibv.QPFailed {
			continue
		}
		for _, r := range g.railed {
			if r.port == p {
				r.broken(&e)
			}
		}
	}
}

// broken: what an event names has failed.
func (r *rails) broken(e *ibv.Event) {
	if r.c.view == nil {
		return
	}
	for _, rank := range r.ranks {
		if w := r.list[rank]; e.Kind == ibv.Fatal || e.QPN == w.number {
			r.c.view.RailCompleted(rank, 0, layout.DatRailBroken, uint32(e.Type))
		}
	}
}

// passed: the plan has done an operation of C's queue.
func (c *Collective) passed() {
	if c.short() && c.view != nil {
		c.EVD.useByCore(-1)
		c.view.Passed()
	}
}

// pending says whether an operation of the group waits.
func (r *rails) pending() bool {
	c := r.c
	if c.over || c.view == nil || !c.made {
		return false
	}
	if c.short() {
		_, queued := c.view.Number()
		return queued > 0 || c.group.Pending() > 0
	}
	return c.group.Pending() > 0
}

// serve posts and polls for C, where it cannot.
func (r *rails) serve() {
	if r.port.native {
		return
	}
	var p layout.DatRailPost
	for r.c.view.NextPost(&p) {
		w := ibv.Work{ID: p.Id, Op: ibv.OpWrite, Signaled: p.Flags&layout.DatRailSignaled != 0,
			Inline:     p.Flags&layout.DatRailInline != 0,
			Segments:   []ibv.Segment{{Addr: p.Local, N: p.N, Key: p.Lkey}},
			RemoteAddr: p.Remote, RKey: p.Rkey}
		if r.port.d.PostSend(r.list[p.Rank].qp, &w) != nil {
			r.c.view.RailCompleted(int(p.Rank), 0, layout.DatRailRefused, 0)
		}
	}
	for _, rank := range r.ranks {
		n := r.port.d.PollCQ(r.list[rank].cq, r.found[:])
		for _, c := range r.found[:max(n, 0)] {
			r.c.view.RailCompleted(rank, c.ID, uint32(c.Status), c.VendorErr)
		}
	}
}

// turnRails goes on with all groups that have rails.
func (g *groupTable) turnRails() (n int) {
	for _, r := range slices.Clone(g.railed) {
		if n += r.turn(); r.left() {
			r.c.Touched()
			n++
		}
	}
	return n
}

// armRails has peers learn that a thread sleeps; false: there is something to do.
func (g *groupTable) armRails() bool {
	for _, r := range g.railed {
		if r.pending() {
			r.c.view.Sleeps(!r.c.short() || r.c.group.Pending() > 0)
			r.serve()
			r.pause = min(2*r.pause, railPauseMax)
		}
	}
	return g.turnRails() == 0
}

// nextRails is when a sleeping thread looks at rails all the same; 0: never.
func (g *groupTable) nextRails() (next int64) {
	for _, r := range g.railed {
		switch {
		case r.leaving:
			next = progress.Earlier(next, g.cfg.Clock()+railPauseMin)
		case r.pending():
			next = progress.Earlier(next, r.next)
		}
	}
	return next
}

// Near says whether there are groups whose members write to each other's memory: a thread that waits
// for one spins before it sleeps.
func (l *Library) Near() bool { return len(l.groups.railed) > 0 }
