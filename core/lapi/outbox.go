package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/udp"
)

// outboxes is core's side of the outboxes (cshim/lane/outbox.h): small puts over UDP that C writes
// into the open packet.
//
// Put reserves the rest of that packet, when nothing else of this package is under way, and
// Enter, with which every entry begins, commits it and notes the puts that have joined. So nothing
// else here has to know of outboxes.
type outboxes struct {
	*layout.Outboxes
	userCode int             // calls of user code by this package that are under way
	of       []layout.Outbox // by task
	memory   []byte          // where these lie: not on the Go heap
	reserved []*peer.Peer
}

// openOutboxes is a step of LAPI_Init. Failing to is no reason to fail.
func (s *setup) openOutboxes() codes.Code {
	if !s.o.Commits || s.net.UDP == nil || s.cfg.FastLane == job.FastLaneOff || s.trace != nil {
		return codes.Success
	}
	if s.outboxes = newOutboxes(len(s.peers)); s.outboxes.Outboxes == nil {
		return codes.Success
	}
	// a longer one does not wait in a packet
	s.outboxes.Most = uint32(min(s.attributes.bufCopy, udp.ShortData))
	for i := range s.peers {
		if p := &s.peers[i]; p.Link == s.net.UDP {
			s.outboxes.Most = min(s.outboxes.Most, uint32(p.AtOnce()))
		}
	}
	if s.cfg.FastLane == job.FastLaneRandom {
		s.outboxes.Random = uint32(s.me)*2654435761 | 1
	}
	s.host = newAttentive(s.host, &s.outboxes)
	s.shared.Outboxes = s.outboxes.address()
	return codes.Success
}

// reserve lets C add messages to the open packet for p, if there is one.
func (c *Context) reserve(p *peer.Peer) {
	o := &c.outboxes
	if o.Outboxes == nil || p.Link != c.net.UDP || p.Dead() || c.counters.Listed() ||
		c.term != nil || o.userCode > 0 {
		return
	}
	if _, waits := c.out.Waits(p); waits {
		return
	}
	tail, messages := c.net.UDP.Reserve(p.Ep)
	if messages <= 0 {
		return
	}
	at := uint64(addressOfTail(tail))
	o.of[p.ID] = layout.Outbox{At: at, End: at + uint64(cap(tail)), Room: uint32(messages)}
	o.reserved = append(o.reserved, p)
}

// Enter begins every entry into this package but New and TermEnd: it commits what was reserved, and
// takes in what C did meanwhile.
func (c *Context) Enter() {
	if len(c.outboxes.reserved) > 0 {
		c.commit()
	}
}

func (c *Context) commit() {
	o := &c.outboxes
	for _, p := range o.reserved {
		box := o.of[p.ID]
		o.of[p.ID] = layout.Outbox{}
		if box.Messages == 0 {
			continue
		}
		tail, _ := c.net.UDP.Reserve(p.Ep)
		c.net.UDP.Commit(p.Ep, int(box.At-uint64(addressOfTail(tail))), int(box.Messages),
			int(box.Data))
		c.counters.IssuedMany(p.ID, codes.PutErr, int(box.Completions))
		c.out.Issue(uint64(box.Messages))
		c.out.Used(p, codes.PutErr, box.Completions == box.Messages)
	}
	o.reserved = o.reserved[:0]
}

// attentive is a Host that counts the calls of user code under way: an entry by user code is inside
// another entry, and must reserve nothing.
type attentive struct {
	host.Watched
	boxes *outboxes
}

func newAttentive(h Host, boxes *outboxes) Host {
	return &attentive{host.Watched{Host: h,
		Began: func(string, int32, uint64, transport.Addr) { boxes.userCode++ },
		Ended: func(int32, int32) { boxes.userCode-- }}, boxes}
}

func (a *attentive) DDM(handler, in, inout transport.Addr, n uint64, operand,
	operation int32) int64 {
	a.boxes.userCode++
	defer func() { a.boxes.userCode-- }() // it may fault
	return a.Host.DDM(handler, in, inout, n, operand, operation)
}
