package dat

import (
	"encoding/binary"
	"slices"

	"lapi/core/dat/coll"
	"lapi/transport/arena"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Between nodes the members of a group whose adapters are all RDMA adapters have rails: a queue pair
// each, with staging memory (cshim/dat/coll/group.h). They are made by an exchange after that of
// places (coll.Meeting). If some member cannot make its own, all of them go by UDP.

// railPort is the port of an adapter that groups have opened once more: their queue pairs and
// completion queues are no others'. It stays open until the last adapter closes.
type railPort struct {
	d      ibv.Device
	info   ibv.Info
	native bool // C posts to it, and polls
}

// rails are the rails of a group. They implement coll.Meeting and coll.Rails.
type rails struct {
	c       *Collective
	port    *railPort
	pd      ibv.PD
	list    []*rail // by rank; nil: there is none
	ranks   []int   // ranks whose rails are active
	regions []opRegion
	pause   int64 // ns until a sleeping thread looks
	next    int64 // when it does
	probeAt int64 // 0: nothing waits
	found   [16]ibv.Completion
	leaving bool
	until   int64 // of leaving
	told    bool  // a failure was reported
}

// rail is the way to a member.
type rail struct {
	rank   int
	qp     ibv.QP
	number uint32
	psn    uint32
	active bool // both ends are connected
	cq     ibv.CQ
	region ibv.Region
	memory []byte
	left   bool // no sent message is under way
}

// opRegion is memory of an operation that is registered.
type opRegion struct {
	span    coll.Span
	written bool
	ibv.Region
}

const (
	railDepth    = 128 // room for requests in a queue pair
	railReserve  = 4   // of these, for the last one
	railPauseMin = 500e3
	railPauseMax = 16e6 // ns
	railLeave    = 2e9  // ns that the end of a group waits for sent data
	railProbe    = 1e9  // ns between two probes of the peers
	railVersion  = 1
	railWriteMax = 1 << 30 // bytes of one write
	railLastID   = 1 << 62
	psnMask      = 1<<24 - 1
)

// railMemory is the size of a rail's memory.
var railMemory = int(layout.Paged(layout.DatRailMemSize))

// portOf is the adapter's port for rails; nil: it has none.
func (g *groupTable) portOf(ia *IA) *railPort {
	k, ok := ia.engine.(*deviceEngine)
	if !ok {
		return nil
	}
	if p := g.ports[ia]; p != nil {
		return p
	}
	d, err := g.cfg.Adapters.OpenPort(k.info)
	if err != nil {
		return nil
	}
	_, native := d.(interface{ Native() })
	p := &railPort{d: d, info: d.Info(), native: native}
	if g.ports == nil {
		g.ports = map[*IA]*railPort{}
	}
	g.ports[ia] = p
	return p
}

// closePorts closes the ports with the last adapter.
func (g *groupTable) closePorts() {
	for _, r := range slices.Clone(g.railed) {
		r.close()
	}
	for _, p := range g.ports {
		_ = p.d.Close()
	}
	g.ports = nil
}

// meetByRails makes this member's rails, and begins the exchange; false: no members have them.
func (c *Collective) meetByRails() bool {
	all, _ := c.group.Flags()
	if all&areaRails == 0 || all&areaMapped != 0 || c.group.Nodes() < 2 {
		return false
	}
	r := &rails{c: c, port: c.ia.library.groups.portOf(c.ia),
		list: make([]*rail, c.group.Size), pause: railPauseMin}
	c.rails = r
	g := &c.ia.library.groups
	g.railed = append(g.railed, r)
	c.group.Meet(r)
	return true
}

// railsMet settles whether the group has rails, as all members do.
func (c *Collective) railsMet() {
	if c.group.RailsAgreed() {
		c.group.SetRails(c.rails)
		return
	}
	c.rails.close()
	c.rails = nil
}

// open makes the end of a rail.
func (r *rails) open(rank int) (w *rail, err error) {
	if r.port == nil {
		return nil, ibv.ErrGone
	}
	if r.pd == 0 {
		if r.pd, err = r.port.d.AllocPD(); err != nil {
			return nil, err
		}
	}
	w = &rail{rank: rank, psn: uint32(r.c.ia.library.cfg.Random()) & psnMask}
	if err = r.fill(w); err != nil {
		r.free(w)
		return nil, err
	}
	return w, nil
}

// fill makes the memory and the queue pair of a rail.
func (r *rails) fill(w *rail) (err error) {
	d, info := r.port.d, &r.port.info
	if w.memory, err = arena.Map(railMemory); err != nil {
		return err
	}
	addr := uint64(memory.AddrOf(w.memory))
	if w.region, err = d.RegMR(r.pd, addr, uint64(railMemory), addr,
		ibv.LocalWrite|ibv.RemoteWrite); err != nil {
		return err
	}
	depth := min(railDepth, info.MaxRequests)
	if w.cq, err = d.CreateCQ(min(depth+1, info.MaxCQE)); err != nil {
		return err
	}
	w.qp, w.number, err = d.CreateQP(ibv.QPAttr{PD: r.pd, SendCQ: w.cq, RecvCQ: w.cq,
		MaxRequests: depth, MaxReceives: 1, RequestSegments: 1, ReceiveSegments: 1,
		MaxInline: info.MaxInline})
	return err
}

// free releases the queue pair and the memory of a rail.
func (r *rails) free(w *rail) {
	d := r.port.d
	if w.qp != 0 {
		d.DestroyQP(w.qp)
	}
	if w.cq != 0 {
		_ = d.DestroyCQ(w.cq)
	}
	if w.region.MR != 0 {
		_ = d.DeregMR(w.region.MR)
	}
	if w.memory != nil {
		arena.Unmap(w.memory)
	}
}

// Offer implements coll.Meeting.
//
//	 0  version  u32; 0: there is no rail
//	 4  number   u32  of the queue pair
//	 8  psn      u32
//	12  mtu      u32
//	16  GID      16 bytes
//	32  LID      u32
//	36  rkey     u32
//	40  address  u64  of the memory
//	48  0        16 bytes
func (r *rails) Offer(rank int) []byte {
	w, err := r.open(rank)
	if err != nil {
		return make([]byte, coll.OfferSize)
	}
	r.list[rank] = w
	return appendOffer(nil, &r.port.info, w, uint64(memory.AddrOf(w.memory)))
}

func appendOffer(b []byte, i *ibv.Info, w *rail, addr uint64) []byte {
	le := binary.LittleEndian
	for _, v := range []uint32{railVersion, w.number, w.psn, uint32(i.MTU)} {
		b = le.AppendUint32(b, v)
	}
	b = append(b, i.GID[:]...)
	b = le.AppendUint32(b, uint32(i.LID))
	b = le.AppendUint32(b, w.region.Remote)
	b = le.AppendUint64(b, addr)
	return append(b, make([]byte, 16)...)
}

// railOffer is the contents of an offer.
type railOffer struct {
	to     ibv.Remote
	rkey   uint32
	memory uint64
}

// readOffer reads an offer, which is from outside; false: there is no rail. own is this end's adapter.
func readOffer(b []byte, own *ibv.Info) (o railOffer, ok bool) {
	le := binary.LittleEndian
	if len(b) != coll.OfferSize || le.Uint32(b) != railVersion {
		return o, false
	}
	o.to = ibv.Remote{QPN: le.Uint32(b[4:]), PSN: le.Uint32(b[8:]) & psnMask,
		MTU: int(min(le.Uint32(b[12:]), uint32(own.MTU))), LID: uint16(le.Uint32(b[32:])), Reads: 1}
	copy(o.to.GID[:], b[16:])
	o.rkey, o.memory = le.Uint32(b[36:]), le.Uint64(b[40:])
	return o, true
}

// Connect implements coll.Meeting.
func (r *rails) Connect(rank int, offer []byte) bool {
	w, i := r.list[rank], &r.port.info
	o, ok := readOffer(offer, i)
	if w == nil || !ok || r.port.d.ConnectQP(w.qp, w.psn, o.to) != nil {
		return false
	}
	config := layout.DatRailConfig{Memory: uint64(memory.AddrOf(w.memory)), Remote: o.memory,
		Lkey: w.region.Local, Rkey: o.rkey, Inlined: uint32(i.MaxInline),
		Depth: uint32(min(railDepth, i.MaxRequests) - railReserve)}
	if r.port.native {
		config.Qp, config.Cq = uint64(w.qp), uint64(w.cq)
	}
	return r.c.view.Rail(rank, &config)
}

// Activate implements coll.Meeting.
func (r *rails) Activate(rank int) {
	r.list[rank].active = true
	r.ranks = append(r.ranks, rank)
}

// leave begins the end: sent data must still arrive, as members that are behind may need it.
func (r *rails) leave() {
	if r.leaving {
		return
	}
	l := r.c.ia.library
	r.leaving, r.until = true, l.cfg.Clock()+railLeave
	for _, rank := range r.ranks {
		w := r.list[rank]
		if w.left = !r.c.made || !r.c.group.IsIn(rank); w.left {
			continue
		}
		last := &ibv.Work{ID: railLastID, Op: ibv.OpWrite, Signaled: true,
			Segments: []ibv.Segment{{Addr: uint64(memory.AddrOf(w.memory)), N: 8,
				Key: w.region.Local}}}
		last.RemoteAddr, last.RKey = r.c.view.Last(rank)
		w.left = r.port.d.PostSend(w.qp, last) != nil
	}
}

// left says whether nothing is under way any more, and then releases everything.
func (r *rails) left() bool {
	if !r.leaving {
		return false
	}
	all := true
	for _, rank := range r.ranks {
		w := r.list[rank]
		if !w.left && !r.c.group.IsIn(rank) {
			w.left = true
		}
		for !w.left {
			n := r.port.d.PollCQ(w.cq, r.found[:])
			for _, c := range r.found[:max(n, 0)] {
				w.left = w.left || c.ID == railLastID || c.Status != ibv.Success
			}
			if n <= 0 {
				break
			}
		}
		all = all && w.left
	}
	if !all && r.c.ia.library.cfg.Clock() < r.until {
		return false
	}
	r.close()
	return true
}

// close releases everything. The adapter touches none of it any more after that.
func (r *rails) close() {
	r.Deregister()
	for rank, w := range r.list {
		if w != nil {
			r.free(w)
			r.list[rank] = nil
		}
	}
	r.ranks = nil
	if r.pd != 0 {
		_ = r.port.d.DeallocPD(r.pd)
		r.pd = 0
	}
	g := &r.c.ia.library.groups
	g.railed = slices.DeleteFunc(g.railed, func(o *rails) bool { return o == r })
}

var (
	_ coll.Rails   = (*rails)(nil)
	_ coll.Meeting = (*rails)(nil)
)
