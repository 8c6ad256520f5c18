package bulk

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/wire"
)

// grant is the keys that a peer has, for one range and one operation.
type grant struct {
	peer    *Peer // nil: free
	regions [wire.PortsMax]ibv.Region
	list    [wire.PortsMax][]ibv.Region // or for several ranges
	reads   bool                        // the peer reads
}

// onWant gives a peer keys for exactly the range of its operation. Where memory cannot be
// registered, or is not there, there is none: then the data is copied.
func (p *Peer) onWant(c *wire.Control) {
	s := p.set
	r := reply{kind: wire.KindGrant, Control: wire.Control{Token: c.Token, Status: wire.StatusRefused}}
	access := ibv.RemoteRead
	if c.Status == wire.WantWrite {
		access = ibv.RemoteWrite
	}
	if p.granted < CallsMax {
		g := grant{peer: p, reads: c.Status == wire.WantRead}
		for i, m := range s.memory {
			if c.Ports&(1<<i) == 0 || m == nil || m.gone {
				continue
			}
			if e, err := m.remote(transport.Addr(c.Addr), c.N, access); err == nil {
				g.regions[i], r.Keys[i], r.Status = e, e.Remote, wire.StatusOK
			}
		}
		if r.Status == wire.StatusOK {
			r.Offset = uint64(s.newGrant(g))
		}
	}
	p.answer(r)
}

func (s *Set) newGrant(g grant) uint32 {
	g.peer.granted++
	if last := len(s.freeGrant) - 1; last >= 0 {
		i := s.freeGrant[last]
		s.freeGrant = s.freeGrant[:last]
		s.grants[i] = g
		return i
	}
	s.grants = append(s.grants, g)
	return uint32(len(s.grants) - 1)
}

// release takes the keys of a grant back.
func (s *Set) release(i uint32) {
	g := &s.grants[i]
	for k, r := range g.regions {
		if r != (ibv.Region{}) {
			s.memory[k].forget(r)
		}
		g.releaseList(s, k)
	}
	g.peer.granted--
	*g = grant{}
	s.freeGrant = append(s.freeGrant, i)
}

func (p *Peer) onFinish(c *wire.Control) {
	s := p.set
	if c.Offset >= uint64(len(s.grants)) || s.grants[c.Offset].peer != p {
		return // not its own
	}
	kind := transport.NoticePut
	if s.grants[c.Offset].reads {
		kind = transport.NoticeGet
	}
	s.release(uint32(c.Offset))
	p.answer(reply{kind: wire.KindFinished, Control: wire.Control{Token: c.Token}})
	if c.Status == wire.StatusNoticedLast {
		p.notice(kind, c.N, c.Notice)
	}
}
