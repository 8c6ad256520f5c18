package paths

import (
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/fallback"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// The spare port is over another link between the tasks, the carrier, as if that were an adapter
// (internal/fallback). It is one more way for the packets to a peer. RDMA there is none.

// UseSpare makes the spare port.
func (s *Set) UseSpare(c fallback.Carrier) {
	pt := &Port{set: s, index: wire.SpareIndex, adapter: fallback.New(c),
		VerbsPort: new(layout.VerbsPort), pairs: map[uint32]Pair{}}
	pt.info = pt.adapter.Info()
	pt.srq, _ = pt.adapter.CreateSRQ(0, receivesMax, 1)
	pt.buffers = pool.New(min(receivesMax, pt.info.MaxReceives), 0)
	pt.small = slots{ports: []*Port{pt}, size: datagramSize}
	s.spare = pt
}

func (pt *Port) isSpare() bool { return pt.index == wire.SpareIndex }

// Reach gives the carrier the address of ep. The datagrams' buffers are made for the first.
func (s *Set) Reach(ep transport.Endpoint, a transport.Address) error {
	var to wire.Address
	if s.spare == nil || !to.Decode(a.Bytes) || len(to.Carrier) == 0 {
		return nil
	}
	if s.spare.small.chunks == nil {
		if err := s.spare.small.grow(); err != nil {
			return err
		}
		if err := s.spare.receiveDatagrams(); err != nil {
			return err
		}
	}
	return s.spare.adapter.(*fallback.Adapter).Reach(ep, to.Carrier)
}

// SpareFailed: the carrier has given ep up.
func (s *Set) SpareFailed(ep transport.Endpoint) {
	if s.spare != nil && !s.closed {
		s.spare.adapter.(*fallback.Adapter).Failed(ep)
		s.spare.events()
	}
}

// UsesSpare says whether something goes over the spare port.
func (s *Set) UsesSpare() bool { return s.spare != nil && len(s.spare.pairs) > 0 }
