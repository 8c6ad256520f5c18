package dat

import (
	"slices"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	node "lapi/cshim/dat/rc"
	"lapi/transport"
	"lapi/transport/layout"
)

// SRQ is a shared receive queue.
type SRQ struct {
	base
	PZ           *PZ
	Max, MaxIOV  int32
	LowWatermark int32
	users        int
	c            *layout.DatSrq // the receives, which C has
	queue        rc.Shared      // as connections of core's see it
	shared       receiveQueue   // what the engine has of it
}

// NewSRQ is dat_srq_create.
func (ia *IA) NewSRQ(pz Handle, max, maxIOV, low int32) (*SRQ, codes.Return) {
	p, r := findIn[*PZ](ia, pz, codes.InvalidHandlePZ, false)
	switch {
	case r != codes.Success:
		return nil, r
	case max <= 0 || max > ia.limits.SRQDTOs || maxIOV < 0 || maxIOV > ia.limits.IOV || low < 0 ||
		low > max:
		return nil, codes.Arg(3)
	}
	s := &SRQ{PZ: p, Max: max, MaxIOV: maxIOV, LowWatermark: low}
	if r := ia.engine.openQueue(s); r != codes.Success {
		return nil, r
	}
	if !ia.add(KindSRQ, s) {
		s.shared.close()
		return nil, codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	if !s.open() {
		s.shared.close()
		ia.remove(s)
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	p.users++
	ia.count(iaSRQCreate)
	return s, codes.Success
}

// Free is dat_srq_free.
func (s *SRQ) Free() codes.Return {
	if s.users > 0 {
		return codes.InvalidState.With(codes.InvalidStateSRQInUse)
	}
	s.PZ.users--
	s.shared.close()
	s.close()
	s.ia.remove(s)
	s.ia.count(iaSRQFree)
	return codes.Success
}

// discard implements Object.
func (s *SRQ) discard() { s.Free() }

// open makes C's part.
func (s *SRQ) open() bool {
	s.c = node.OpenShared(uint64(s.handle), uint64(s.PZ.handle), s.Max, s.MaxIOV, s.shared.address())
	if s.c == nil {
		return false
	}
	s.slot.Lane = uint64At(s.c)
	s.c.Low = uint32(s.LowWatermark)
	c := &s.ia.library.nodeConns
	c.shared = append(c.shared, s)
	s.queue.Next = s.next
	s.queue.Waits = func(n int) { s.c.CoreWaits = uint32(n) }
	return true
}

func (s *SRQ) close() {
	s.slot.Lane = 0
	c := &s.ia.library.nodeConns
	c.shared = slices.DeleteFunc(c.shared, func(o *SRQ) bool { return o == s })
	node.CloseShared(s.c)
	s.c = new(layout.DatSrq)
}

// next takes the oldest receive out, for a connection of core's; nil: there is none. Whether its
// memory is still what it was is looked up when data comes.
func (s *SRQ) next() *rc.Receive {
	d, segments, ok := node.TakeShared(s.c)
	if !ok {
		return nil
	}
	p := &posted{ia: s.ia, cookie: d.Cookie, pz: s.PZ, need: LocalWrite, epoch: ^uint64(0), srq: s}
	r := &rc.Receive{Owner: p}
	for _, g := range segments {
		p.triplets = append(p.triplets, Triplet{Addr: g.Addr, N: g.N, Context: g.Context})
		r.Segments = append(r.Segments, rc.Segment{Addr: transport.Addr(g.At), N: g.N})
	}
	return r
}

// Post is dat_srq_post_recv, which C has judged.
func (s *SRQ) Post(triplets []Triplet, cookie uint64) codes.Return {
	return s.shared.post(triplets, cookie)
}

// Unknown is a count that nobody knows: DAT_VALUE_UNKNOWN.
const Unknown = -2

// Counts are what a query reports: receives that wait, and those that endpoints have taken and not
// completed, or Unknown.
func (s *SRQ) Counts() (available, outstanding int) { return s.shared.counts() }

// Resize is dat_srq_resize.
func (s *SRQ) Resize(most int32) codes.Return {
	waiting, taken := s.shared.counts()
	switch {
	case most <= 0 || most > s.ia.limits.SRQDTOs:
		return codes.Arg(2)
	case int(most) < waiting+max(taken, 0):
		return codes.InvalidState.With(codes.InvalidStateSRQInUse)
	}
	if r := s.shared.resize(most); r != codes.Success {
		return r
	}
	s.Max, s.c.Max = most, uint32(most)
	return codes.Success
}

// SetLow is dat_srq_set_lw: once, an asynchronous event reports that fewer receives wait.
func (s *SRQ) SetLow(low int32) codes.Return {
	if low < 0 || low > s.Max {
		return codes.Arg(2)
	}
	s.LowWatermark, s.c.Low = low, uint32(low)
	s.shared.watch(low)
	s.checkLow()
	return codes.Success
}

// checkLow notifies the consumer if few receives are left.
func (s *SRQ) checkLow() {
	if waiting, _ := s.shared.counts(); waiting < int(s.LowWatermark) {
		s.tellLow()
	}
}

// collectLow is checkLow by C's count.
func (s *SRQ) collectLow() {
	if s.c.IsLow != 0 {
		s.c.IsLow = 0
		s.tellLow()
	}
}

func (s *SRQ) tellLow() {
	if s.LowWatermark > 0 {
		s.LowWatermark, s.c.Low = 0, 0
		s.ia.asyncError(EventEPBroken, s.handle, asyncSRQLow)
	}
}
