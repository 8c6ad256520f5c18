package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// SRQ is a shared receive queue.
type SRQ struct {
	base
	PZ           *PZ
	Max, MaxIOV  int32
	LowWatermark int32
	users        int
	queue        rc.Shared
	posted       int          // receives that are not complete
	shared       receiveQueue // what the adapter has of it
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
	s.ia.remove(s)
	s.ia.count(iaSRQFree)
	return codes.Success
}

// discard implements Object.
func (s *SRQ) discard() { s.Free() }

// Post is dat_srq_post_recv.
func (s *SRQ) Post(triplets []Triplet, cookie uint64) codes.Return {
	switch {
	case s.posted >= int(s.Max):
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	case len(triplets) > int(s.MaxIOV):
		return codes.Arg(2)
	}
	r, ret := s.ia.receive(s.PZ, triplets, cookie)
	if ret != codes.Success {
		return ret
	}
	s.posted++
	r.Owner.(*posted).srq = s
	if ret = s.shared.post(r); ret != codes.Success {
		s.posted--
	}
	return ret
}

// Counts are what a query tells: receives that wait, and those that endpoints have taken.
func (s *SRQ) Counts() (available, outstanding int) {
	n := s.shared.waiting()
	return n, s.posted - n
}

// Resize is dat_srq_resize.
func (s *SRQ) Resize(max int32) codes.Return {
	switch {
	case max <= 0 || max > s.ia.limits.SRQDTOs:
		return codes.Arg(2)
	case int(max) < s.posted:
		return codes.InvalidState.With(codes.InvalidStateSRQInUse)
	}
	if r := s.shared.resize(max); r != codes.Success {
		return r
	}
	s.Max = max
	return codes.Success
}

// SetLow is dat_srq_set_lw: once, the asynchronous EVD hears when fewer receives wait.
func (s *SRQ) SetLow(low int32) codes.Return {
	if low < 0 || low > s.Max {
		return codes.Arg(2)
	}
	s.LowWatermark = low
	s.shared.watch(low)
	s.checkLow()
	return codes.Success
}

// checkLow tells the consumer if few receives are left.
func (s *SRQ) checkLow() {
	if s.shared.waiting() < int(s.LowWatermark) {
		s.tellLow()
	}
}

func (s *SRQ) tellLow() {
	if s.LowWatermark > 0 {
		s.LowWatermark = 0
		s.ia.asyncError(EventEPBroken, s.handle, asyncSRQLow)
	}
}
