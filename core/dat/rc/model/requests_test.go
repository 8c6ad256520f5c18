package model

import (
	"math/rand/v2"
	"slices"

	"lapi/core/dat/rc"
)

// newContext makes a context of a process's memory.
func (w *world) newContext(process int, b []byte, r rights) *context {
	p := w.procs[process]
	p.contexts++
	c := &context{number: p.contexts<<20 | p.contexts, at: b, rights: r}
	w.publish(process, c)
	return c
}

// anyLength is that of a request.
func (w *world) anyLength(random *rand.Rand, op rc.Op) uint32 {
	most := w.large
	if op == rc.Send {
		most = shortest
	}
	switch {
	case w.full:
		return 400 + random.Uint32N(112)
	case random.IntN(5) == 0:
		return 0
	case random.IntN(6) == 0:
		return random.Uint32N(most)
	case random.IntN(3) == 0:
		return random.Uint32N(700)
	}
	return 1 + random.Uint32N(80)
}

// newRequest makes a request of a kind.
func (w *world) newRequest(random *rand.Rand, e *end, op rc.Op) *request {
	p := e.peer()
	r := &request{number: uint64(len(e.requests)), op: op, place: -1,
		solicited: random.IntN(4) == 0, fence: random.IntN(6) == 0,
		suppress: random.IntN(6) == 0, unsignalled: random.IntN(8) == 0}
	if r.n = 8; op < rc.CompareSwap {
		r.n = w.anyLength(random, op)
	}
	r.local = split(random, slot(e.own, r.number), r.n, e.main.number)
	if op >= rc.CompareSwap {
		r.local = []piece{{slot(e.own, r.number)[:8], e.main.number}}
	}
	switch op {
	case rc.Send:
		if random.IntN(12) == 0 && p.known != nil {
			r.invalidate, r.context = true, p.known.number
			r.failing = p.unlessKnown(r.context)
		}
	case rc.Write, rc.Read:
		w.aim(random, e, r)
	default:
		w.aimWord(random, e, r)
	}
	for _, q := range r.local {
		clear(q.at)
	}
	if op <= rc.Write {
		r.fill(e)
	}
	return r
}

// aim says where a write or read goes.
func (w *world) aim(random *rand.Rand, e *end, r *request) {
	p := e.peer()
	if r.op == rc.Write {
		r.immediate = random.IntN(3) == 0
		r.data = random.Uint32()
	}
	if r.op == rc.Read && random.IntN(2) == 0 {
		at := random.Uint32N(constant - r.n + 1)
		r.remote = piece{p.constant[at : at+r.n], p.main.number}
		r.expect = append([]byte{}, r.remote.at...)
	} else {
		r.place = random.IntN(places)
		at := random.Uint32N(min(200, slotSize-r.n+1))
		r.remote = piece{p.place(r.place)[at : at+r.n], p.main.number}
		if r.op == rc.Read {
			r.expect = append([]byte{}, p.expected[r.place][at:at+r.n]...)
		}
	}
	if random.IntN(5) == 0 && p.known != nil {
		r.remote.context, r.ofWindow = p.known.number, true
		if r.n > 0 {
			r.failing = p.unlessKnown(r.remote.context)
		}
	}
	if r.op == rc.Read && random.IntN(6) == 0 && e.window != nil && r.n > 0 {
		r.window, e.ownWindow = true, true
		for i := range r.local {
			r.local[i].context = e.window.number
		}
	}
}

// unlessKnown: a window that the peer was already asked to invalidate gives no access.
func (e *end) unlessKnown(context uint32) cause {
	if e.peer().unlessUsed(context) {
		return nothing
	}
	return badRemote
}

// aimWord says to which word an atomic operation goes, and what it finds.
func (w *world) aimWord(random *rand.Rand, e *end, r *request) {
	p := e.peer()
	r.fence = r.fence || random.IntN(4) == 0
	switch {
	case r.op == rc.CompareSwap:
		r.remote = piece{p.words[8:16], p.main.number}
		r.want, r.compare, r.operand = p.swapped, p.swapped, p.swapped+1+random.Uint64N(1<<40)
		if random.IntN(4) == 0 {
			r.compare++
		}
	case random.IntN(2) == 0:
		o := w.procs[p.process]
		r.common, r.operand = true, 1
		r.remote = piece{o.memory[:8], o.main.number}
	default:
		r.remote = piece{p.words[:8], p.main.number}
		r.want, r.operand = p.adds, random.Uint64()
	}
}

// posted: a request was taken, so it is to have its effect.
func (w *world) posted(e *end, r *request) {
	p := e.peer()
	switch {
	case r.op == rc.Write:
		if r.place >= 0 {
			at := cap(p.place(r.place)) - cap(r.remote.at)
			r.under = append([]byte{}, p.expected[r.place][at:at+int(r.n)]...)
			copy(p.expected[r.place][at:], gathered(r.local))
		}
	case r.op == rc.CompareSwap && r.compare == r.want:
		p.swapped = r.operand
	case r.op == rc.FetchAdd && !r.common:
		p.adds += r.operand
	}
}

// spoil makes a request that cannot succeed.
func (w *world) spoil(random *rand.Rand, e *end, r *request) {
	p := e.peer()
	switch {
	case r.op == rc.Bind:
		r.failing = badBind
	case r.op == rc.Send && random.IntN(2) == 0:
		r.invalidate, r.context, r.failing = true, p.main.number, badRemote
	case r.n == 0:
	case r.op == rc.Send || random.IntN(2) == 0:
		c := w.notOwn(random, e)
		for i := range r.local {
			r.local[i].context = c
		}
		r.failing, r.window = badLocal, false
	default:
		r.failing = badRemote
		switch random.IntN(4) {
		case 0:
			r.remote.context += 1 << 20
		case 1:
			need := map[rc.Op]rights{rc.Write: remoteWrite, rc.Read: remoteRead,
				rc.CompareSwap: remoteAtomic, rc.FetchAdd: remoteAtomic}[r.op]
			r.remote.context = w.newContext(p.process, p.all, allRights&^need).number
		case 2: // a byte is beyond, or before
			b := r.remote.at[:len(r.remote.at)-1]
			if random.IntN(2) == 0 {
				b = r.remote.at[1:]
			}
			r.remote.context = w.newContext(p.process, b, allRights).number
		case 3:
			c := w.newContext(p.process, p.all, allRights)
			c.foreign = true
			w.publish(p.process, c)
			r.remote.context = c.number
		}
	}
}

// notOwn is a context by which an end must not name its own memory.
func (w *world) notOwn(random *rand.Rand, e *end) uint32 {
	c := w.newContext(e.process, e.all, allRights)
	switch random.IntN(3) {
	case 0:
		return c.number + 1<<20
	case 1:
		c.foreign = true
	case 2:
		c.window = true
	}
	w.publish(e.process, c)
	return c.number
}

// postRequest posts a request at random.
func (w *world) postRequest(random *rand.Rand, e *end, spoil bool) {
	ops := []rc.Op{rc.Send, rc.Send, rc.Send, rc.Write, rc.Write, rc.Write, rc.Read, rc.Read,
		rc.CompareSwap, rc.FetchAdd}
	w.postOf(random, e, ops[random.IntN(len(ops))], spoil)
}

// postOf posts one of a kind.
func (w *world) postOf(random *rand.Rand, e *end, op rc.Op, spoil bool) {
	if len(e.requests)-e.done >= w.most || !e.opened || e.forgotten {
		return
	}
	r := w.newRequest(random, e, op)
	if spoil {
		w.spoil(random, e, r)
	}
	w.give(e, r)
}

// give posts a request. It is in the lists first, since its event may be there at once.
func (w *world) give(e *end, r *request) {
	over := e.ended || e.disconnected
	_, late := w.over(e.peer())
	r.late = late && r.op != rc.Bind
	e.requests = append(e.requests, r)
	if r.takes() {
		e.messages = append(e.messages, r)
	}
	if r.op == rc.Write && r.place >= 0 {
		e.peer().writes[r.place] = append(e.peer().writes[r.place], int(r.number))
	}
	if r.common {
		w.procs[e.peer().process].word.added++
	}
	w.note("%v: %v", e, r)
	w.giving = e
	taken := w.post(e, r)
	w.giving = nil
	if taken {
		w.posted(e, r)
		if r.invalidate && w.trouble == 0 {
			e.peer().known = nil
		}
		if over {
			w.errorf("%v: %v is taken, though it is over, or is to be", e, r)
		}
		return
	}
	w.note("  is refused")
	if t := w.troubleOf(e.connection); !over && !t.any() {
		w.errorf("%v: %v is refused", e, r)
	}
	e.requests = e.requests[:len(e.requests)-1]
	if r.takes() {
		e.messages = e.messages[:len(e.messages)-1]
	}
	if list := e.peer().writes; r.op == rc.Write && r.place >= 0 {
		list[r.place] = list[r.place][:len(list[r.place])-1]
		e.peer().writes = list
	}
	if r.common {
		w.procs[e.peer().process].word.added--
	}
}

// postBind binds an end's window anew, to all of its memory.
func (w *world) postBind(random *rand.Rand, e *end, spoil bool) {
	if len(e.requests)-e.done >= w.most || !e.opened || e.forgotten {
		return
	}
	if e.binds > 0 && w.trouble == 0 {
		return // another would take a right away
	}
	p := w.procs[e.process]
	p.contexts++
	r := &request{number: uint64(len(e.requests)), op: rc.Bind, place: -1,
		bind: &context{number: p.contexts<<20 | p.contexts, at: e.all, rights: allRights,
			window: true}}
	if spoil {
		w.spoil(random, e, r)
	}
	e.binds++
	w.give(e, r)
}

// postAReceive posts a receive, to the process's queue if the end has none of its own.
func (w *world) postAReceive(random *rand.Rand, e *end, short bool) {
	n := uint32(shortest)
	if short {
		n = random.Uint32N([]uint32{2, 64, 512, shortest}[random.IntN(4)])
	}
	if e.shared {
		s := w.procs[e.process].shared
		if len(s.waiting) >= w.most {
			return
		}
		r := &receive{number: s.posted, n: n}
		r.local = split(random, slot(s.memory, r.number), n, w.procs[e.process].main.number)
		r.prepare(slot(s.memory, r.number))
		s.waiting[r.number] = r
		s.short = s.short || short
		s.posted++
		w.note("process %d: shared receive %d of %d", e.process, r.number, n)
		if !w.postShared(e.process, r) {
			w.errorf("process %d: shared receive %d is refused", e.process, r.number)
		}
		return
	}
	if len(e.receives)-e.received >= w.most || e.forgotten {
		return
	}
	r := &receive{number: uint64(len(e.receives)), n: n}
	b := slot(e.inboxes, r.number)
	r.local = split(random, b, n, w.contextForReceives(random, e))
	r.prepare(b)
	e.receives = append(e.receives, r)
	w.note("%v: receive %d of %d in %d", e, r.number, n, len(r.local))
	if w.postReceive(e, r) {
		return
	}
	w.note("  is refused")
	if t := w.troubleOf(e.connection); !t.any() {
		w.errorf("%v: receive %d is refused", e, r.number)
	}
	e.receives = e.receives[:r.number]
}

// contextForReceives mostly has the right.
func (w *world) contextForReceives(random *rand.Rand, e *end) uint32 {
	if e.revoked&localWrite == 0 || random.IntN(4) == 0 {
		return e.main.number
	}
	if e.spare == nil {
		e.spare = w.newContext(e.process, e.all, allRights)
	}
	return e.spare.number
}

// unlessUsed says whether an end has not ended a window already.
func (e *end) unlessUsed(context uint32) bool {
	return !slices.ContainsFunc(e.messages, func(m *request) bool {
		return m.invalidate && m.context == context
	})
}
