package bulk

import (
	"lapi/transport"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// Regions are memory that this task's owner has registered, whose keys it gives to peers by a way of
// its own. A put or get with such a key asks for none: it begins with RDMA, and ends with it.
//
//	        key is stale, or refused
//	moving ──────────────────────────> asking: as without a key
//	  │ all moved
//	  ▼                     requests were lost
//	over <──Finished── finished <──Finish(region)── finishing
//
// A request that was lost on its way may come late. So Finish reports it, as at the end of a grant;
// then the key ends, and all that have it ask again.

// regionsMax is how many registrations of one port regions may hold.
const regionsMax = registration.DefaultEntries / 2

// region is memory of this task.
type region struct {
	held [wire.PortsMax]*registration.Entry // by port
	uses int
}

// regionID is a region as its owner names it: two that are the same share one.
type regionID struct {
	addr transport.Addr
	n    uint64
	keys wire.Keys
}

// Register registers memory with each port. No keys: the memory cannot be registered, or regions
// hold half of the memory that may be.
func (s *Set) Register(addr transport.Addr, n uint64, access transport.Access) (keys wire.Keys) {
	if access &= reachable; access == 0 || n == 0 || len(s.regions) >= regionsMax ||
		s.inRegions+n > s.cfg.Registrations.Limit()/2 {
		return keys
	}
	r := &region{uses: 1}
	for i, m := range s.memory {
		if m == nil || m.gone {
			continue
		}
		if e, err := m.cache.Acquire(addr, n, access); err == nil {
			r.held[i], keys[i] = e, e.Handle.RKey
		}
	}
	id := regionID{addr, n, keys}
	switch old := s.regions[id]; {
	case keys == wire.Keys{}:
	case old != nil:
		old.uses++
		s.leave(r)
	default:
		s.regions[id] = r
		s.inRegions += n
	}
	return keys
}

// Deregister ends a use of a region.
func (s *Set) Deregister(addr transport.Addr, n uint64, keys wire.Keys) {
	id := regionID{addr, n, keys}
	r := s.regions[id]
	if r == nil {
		return
	}
	if r.uses--; r.uses == 0 {
		delete(s.regions, id)
		s.inRegions -= n
		s.leave(r)
		s.attendEnding()
	}
}

func (s *Set) leave(r *region) {
	for i := range r.held {
		s.leavePort(r, i)
	}
}

func (s *Set) leavePort(r *region, i int) {
	if r.held[i] != nil {
		s.memory[i].cache.Release(r.held[i])
		r.held[i] = nil
	}
}

// discard ends what all regions hold of e, a registration with port i that a lost request may still
// use.
func (s *Set) discard(i int, e *registration.Entry, ended []discarded) []discarded {
	cache := s.memory[i].cache
	for _, r := range s.regions {
		if r.held[i] == e {
			cache.Discard(e)
			r.held[i] = nil
			ended = append(ended, discarded{cache, e})
		}
	}
	return ended
}

// withdraw ends the keys of regions for memory that lost requests may still reach over the ports in
// lost.
func (s *Set) withdraw(addr transport.Addr, n uint64, lost uint32) (ended []discarded) {
	for id, r := range s.regions {
		if id.addr+transport.Addr(id.n) <= addr || addr+transport.Addr(n) <= id.addr {
			continue
		}
		for i, e := range r.held {
			if e != nil && lost&(1<<i) != 0 {
				ended = s.discard(i, e, ended)
			}
		}
	}
	return ended
}

// staleMax is how many keys of a peer's are known to be stale; of more some are tried again.
const staleMax = 256

// useKey has c, which would ask for keys, begin with those of a region.
func (c *call) useKey(key []byte) {
	p := c.peer
	if len(key) == 0 {
		return
	}
	keys := p.task.To().DecodeKeys(key)
	if keys == (wire.Keys{}) || p.stale[keys] {
		return
	}
	c.keys, c.region, c.state = keys, keys, moving
	p.task.Contact()
}

// byRegion says whether c moves by the keys of a region.
func (c *call) byRegion() bool { return c.region != wire.Keys{} }

// ask has c go on, or begin, as without the key of a region.
func (c *call) ask() error {
	c.region, c.keys, c.retry, c.state = wire.Keys{}, wire.Keys{}, false, asking
	return c.advance()
}

// finishRegion ends a c that has moved everything by the keys of a region, or cannot. errOver: it is
// over.
func (c *call) finishRegion() error {
	switch {
	case c.lost != 0:
		c.forgetKey()
		end := wire.Control{Token: c.token, Addr: uint64(c.op.Remote), N: c.op.N, Ports: c.lost,
			Status: wire.StatusRegion}
		if err := c.peer.task.Control(wire.KindFinish, &end, 0, 0); err != nil {
			return err
		}
		c.state, c.lost = finished, 0
	case c.retry || c.done < c.upTo:
		return c.ask()
	case c.done < c.op.N:
		c.goOn()
	default:
		return errOver
	}
	return nil
}

// forgetKey: the key of c's region is not tried again.
func (c *call) forgetKey() {
	p := c.peer
	if len(p.stale) >= staleMax {
		clear(p.stale)
	}
	if p.stale == nil {
		p.stale = map[wire.Keys]bool{}
	}
	p.stale[c.region] = true
}
