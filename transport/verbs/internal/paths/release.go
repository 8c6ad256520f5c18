package paths

import (
	"lapi/transport/ibv"
	"lapi/transport/layout"
)

// An adapter that the kernel takes away may not go, nor come back, before the last process has closed
// it: soft-RoCE's driver waits for that. So what the port had is given back as soon as the adapter
// cannot be opened again, and until it can the port is over none.

// release gives back what pt had of its adapter; lost is lostSlots' result.
func (s *Set) release(pt *Port, lost []int32) {
	if _, released := pt.adapter.(none); released {
		return
	}
	s.dispose(pt)
	s.putLost(lost)
	pt.adapter = none{info: pt.info}
	pt.pd, pt.cq, pt.srq, pt.ud = 0, 0, 0, 0
	pt.small, pt.kept = slots{ports: []*Port{pt}, size: datagramSize}, nil
	*pt.VerbsPort = layout.VerbsPort{Index: pt.Index, Most: pt.Most, MaxInline: pt.MaxInline}
}

// putLost gives receive buffers back that went down with an adapter.
func (s *Set) putLost(lost []int32) {
	for _, slot := range lost {
		if s.slots.holder[slot] = 0; !s.link.Claim(slot) {
			s.slots.put(slot)
		}
	}
}

// none is the adapter of a port that was released: nothing can be made, and nothing comes. Other
// calls name objects, of which there are none.
type none struct {
	ibv.Device
	info ibv.Info
}

func (n none) Info() ibv.Info { return n.info }
func (none) RegMR(ibv.PD, uint64, uint64, uint64, ibv.Access) (r ibv.Region, err error) {
	return r, ibv.ErrGone
}
func (none) CreateQP(ibv.QPAttr) (ibv.QP, uint32, error)       { return 0, 0, ibv.ErrGone }
func (none) CreateAH(ibv.PD, ibv.GID, uint16) (ibv.AH, error)  { return 0, ibv.ErrGone }
func (none) PostSend(ibv.QP, *ibv.Work) error                  { return ibv.ErrGone }
func (none) PostRecv(ibv.QP, ibv.SRQ, []ibv.Recv) (int, error) { return 0, ibv.ErrGone }
func (none) PollCQ(ibv.CQ, []ibv.Completion) int               { return 0 }
func (none) ArmCQ(ibv.CQ, bool) error                          { return ibv.ErrGone }
func (none) Quiet(func(ibv.CQ))                                {}
func (none) Event() (e ibv.Event)                              { return e }
func (none) Files() []int                                      { return nil }
func (none) Close() error                                      { return nil }
