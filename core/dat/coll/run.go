package coll

import "lapi/transport/memory"

// step does one step of the oldest operation; false: there is none, or it waits.
func (g *Group) step() bool {
	if len(g.ops) == 0 {
		return false
	}
	o := g.ops[0]
	switch {
	case g.broken:
		o.Failed = true
		g.finish(o)
	case !o.begun:
		g.begin(o)
	case o.pending > 0:
		return false
	case o.Kind == SetClock:
		g.finish(o)
	default:
		g.endRound(o)
	}
	return true
}

// begin begins an operation whose turn it is.
func (g *Group) begin(o *Operation) {
	o.begun = true
	if g.ended && g.seq >= g.until && o.Kind != SetClock || g.lost && o.Kind == SetClock {
		g.fail()
		return
	}
	if o.Kind == SetClock {
		g.beginClock(o)
		return
	}
	o.plan = g.plan(&o.Args)
	if o.plan.failed {
		g.fail()
		return
	}
	g.beginRound(o)
}

// beginRound begins the next round; after the last one the operation is over.
func (g *Group) beginRound(o *Operation) {
	if o.at == len(o.plan.rounds) {
		g.finish(o)
		return
	}
	r := &o.plan.rounds[o.at]
	o.pending = len(r.recvs) + len(r.sends)
	for _, t := range r.sends {
		g.queue(o, t)
	}
	for _, t := range r.recvs {
		if g.broken {
			return
		}
		g.expect(o, t)
	}
}

// endRound does the work of a round when all of its messages have arrived.
func (g *Group) endRound(o *Operation) {
	r := &o.plan.rounds[o.at]
	for _, w := range r.then {
		if w.reduces {
			size := uint64(g.cfg.Kernel.Size(o.Op, o.Type))
			g.cfg.Kernel.Reduce(o.Op, o.Type, w.to.Addr, w.from.Addr, w.from.N/size)
			continue
		}
		if memory.Copy(w.to.Addr, w.from.Addr, w.from.N) != nil {
			g.fail() // the consumer's memory cannot be accessed
			return
		}
	}
	if r.rest != nil && !r.rest() {
		g.fail()
		return
	}
	o.Failed = o.Failed || o.plan.tooLong
	o.at++
	g.beginRound(o)
}

// finish takes the oldest operation out, and reports it.
func (g *Group) finish(o *Operation) {
	g.ops[0] = nil
	g.ops = g.ops[1:]
	if o.Kind != SetClock {
		g.seq++
	}
	if o.Kind == Create {
		if !o.Failed && !g.learnPlaces() {
			o.Failed = true
			g.fail()
		}
		g.forgetPlaces()
	}
	if o.Kind == Connect && !o.Failed {
		g.meeting.conclude(g.Size)
	}
	o.over = true
	g.settle(o)
	g.cfg.Owner.Completed(o)
}

// settle releases the memory of an operation, when no link needs it any more.
func (g *Group) settle(o *Operation) {
	if !o.over || o.held > 0 || o.plan == nil {
		return
	}
	g.cutRails()
	for _, b := range o.plan.scratch {
		g.cfg.Memory.Put(b)
	}
	o.plan = nil
}
