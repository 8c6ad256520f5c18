package bulk

import (
	"slices"

	"lapi/transport"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// grant is the keys that a peer has, for the ranges of one operation.
type grant struct {
	peer  *Peer                                // nil: free
	held  [wire.PortsMax][]*registration.Entry // by port: of each range, or none
	reads bool                                 // the peer reads
}

// grantedMax is how many registrations a peer may have by grants for lists.
const grantedMax = 1024

// onWant gives a peer keys for ranges: each port has those of all, or none. Where memory cannot be
// registered, or is not there, there are none: then the data is copied.
func (p *Peer) onWant(answer wire.Kind, c *wire.Control, ranges []transport.Range) {
	s := p.set
	s.asked = ranges
	r := reply{kind: answer, Control: wire.Control{Token: c.Token, Status: wire.StatusRefused}}
	if p.granted < CallsMax {
		name := s.newGrant(p, c.Status == wire.WantRead)
		for i, m := range s.memory {
			if c.Ports&(1<<i) == 0 || m == nil || m.gone ||
				len(ranges) > 1 && p.regions+len(ranges) > grantedMax {
				continue
			}
			held, err := m.cache.AcquireAll(s.grants[name].held[i], ranges, reachable)
			if s.grants[name].held[i] = held; err == nil {
				p.regions += len(held)
				r.Ports |= 1 << i
				r.Keys[i] = held[0].Handle.RKey
			}
		}
		if r.Ports != 0 {
			r.Status, r.Offset = wire.StatusOK, uint64(name)
		} else {
			s.release(name, 0)
			p.granted--
		}
	}
	p.answer(r)
}

func (s *Set) newGrant(p *Peer, reads bool) (name uint32) {
	if last := len(s.freeGrant) - 1; last >= 0 {
		name, s.freeGrant = s.freeGrant[last], s.freeGrant[:last]
	} else {
		name = uint32(len(s.grants))
		s.grants = append(s.grants, grant{})
	}
	p.granted++
	s.grants[name].peer, s.grants[name].reads = p, reads
	return name
}

// release takes the keys of a grant back. A request of the peer's over a port in lost may still be
// on its way, so these registrations are not kept: they are returned.
func (s *Set) release(name, lost uint32) (ended []discarded) {
	g := &s.grants[name]
	for i := range g.held {
		if lost&(1<<i) != 0 {
			for _, e := range g.held[i] {
				ended = s.discard(i, e, ended)
				s.memory[i].cache.Discard(e)
				ended = append(ended, discarded{s.memory[i].cache, e})
			}
			g.peer.regions -= len(g.held[i])
			g.held[i] = g.held[i][:0]
		}
		s.releaseWith(g, i)
	}
	g.peer = nil
	s.freeGrant = append(s.freeGrant, name)
	s.attendEnding()
	return ended
}

// releaseWith takes the keys of a grant for port i back.
func (s *Set) releaseWith(g *grant, i int) {
	if len(g.held[i]) > 0 {
		s.memory[i].cache.ReleaseAll(g.held[i])
		g.peer.regions -= len(g.held[i])
		g.held[i] = g.held[i][:0]
	}
}

// discarded is a registration that ends with its last use.
type discarded struct {
	cache *registration.Cache
	entry *registration.Entry
}

// ending is a Finish that is answered when all of after have ended: from then on no request that
// was lost on its way changes the memory.
type ending struct {
	peer *Peer
	kind transport.NoticeKind
	wire.Control
	after []discarded
}

func (p *Peer) onFinish(c *wire.Control) {
	s := p.set
	e := ending{peer: p, kind: transport.NoticePut, Control: *c}
	switch {
	case c.Status == wire.StatusRegion:
		p.granted++ // until it is answered, as a grant is
		e.after = s.withdraw(transport.Addr(c.Addr), c.N, c.Ports)
		s.attendEnding()
	case c.Offset >= uint64(len(s.grants)) || s.grants[c.Offset].peer != p:
		return // not its own
	default:
		if s.grants[c.Offset].reads {
			e.kind = transport.NoticeGet
		}
		e.after = s.release(uint32(c.Offset), c.Ports)
	}
	if e.ended() {
		e.finish()
		return
	}
	s.ending = append(s.ending, e)
}

func (e *ending) ended() bool {
	return !slices.ContainsFunc(e.after, func(d discarded) bool { return !d.cache.Ended(d.entry) })
}

func (e *ending) finish() {
	e.peer.granted--
	e.peer.answer(reply{kind: wire.KindFinished, Control: wire.Control{Token: e.Token}})
	if e.Status == wire.StatusNoticedLast {
		e.peer.notice(e.kind, e.N, e.Notice)
	}
}

// finishEnded answers the Finish of p's that may be answered now.
func (p *Peer) finishEnded() {
	s := p.set
	for i := 0; i < len(s.ending); i++ {
		if e := s.ending[i]; e.peer == p && e.ended() {
			s.ending = slices.Delete(s.ending, i, i+1)
			e.finish()
			i = -1 // its owner may have done anything
		}
	}
}

// attendEnding: registrations were released, perhaps the last uses of such that are to end.
func (s *Set) attendEnding() {
	for _, e := range s.ending {
		e.peer.task.Attend()
	}
}
