package lapi

import (
	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/layout"
)

// outboxes is core's side of the outboxes (cshim/outbox.h): small puts over UDP that C writes into the packet which waits for company.
//
// Put lends that packet's end at its end, when nothing else of this package is under way, and Enter, with which every entry begins, takes it back and
// notes what has joined. So nothing else here knows of it.
type outboxes struct {
	*layout.Outboxes
	of     []layout.Outbox // by task
	memory []byte          // where these lie: not on the Go heap
	lent   []*task
}

// openOutboxes is a step of LAPI_Init. Failing to is no reason to fail.
func (s *setup) openOutboxes() codes.Code {
	if !s.o.Lends || s.udp == nil || s.cfg.FastLane == job.FastLaneOff || s.trace != nil {
		return codes.Success
	}
	if s.outboxes = newOutboxes(len(s.tasks)); s.outboxes.Outboxes == nil {
		return codes.Success
	}
	s.outboxes.Most = uint32(s.bufCopy)
	for i := range s.tasks {
		if t := &s.tasks[i]; t.link == s.udp {
			s.outboxes.Most = min(s.outboxes.Most, uint32(t.atOnce))
		}
	}
	if s.cfg.FastLane == job.FastLaneRandom {
		s.outboxes.Random = uint32(s.me)*2654435761 | 1
	}
	s.host = attentive{s.host, s.Context}
	s.shared.Outboxes = s.outboxes.address()
	return codes.Success
}

// lend lets C add messages to the packet for t that waits for company, if there is one.
func (c *Context) lend(t *task) {
	o := &c.outboxes
	if o.Outboxes == nil || t.link != c.udp || t.dead || t.pending.head != nil || len(c.lists) > 0 || c.term != nil || c.userCode > 0 {
		return
	}
	tail, messages := c.udp.Reserve(t.ep)
	if messages <= 0 {
		return
	}
	at := uint64(addressOfTail(tail))
	o.of[t.id] = layout.Outbox{At: at, End: at + uint64(cap(tail)), Room: uint32(messages)}
	o.lent = append(o.lent, t)
}

// Enter begins every entry into this package but New and TermEnd: it takes back what was lent, and takes in what C did meanwhile.
func (c *Context) Enter() {
	if len(c.outboxes.lent) > 0 {
		c.takeBack()
	}
}

func (c *Context) takeBack() {
	o := &c.outboxes
	for _, t := range o.lent {
		box := o.of[t.id]
		o.of[t.id] = layout.Outbox{}
		if box.Messages == 0 {
			continue
		}
		tail, _ := c.udp.Reserve(t.ep)
		c.udp.Commit(t.ep, int(box.At-uint64(addressOfTail(tail))), int(box.Messages), int(box.Data))
		t.lastKind = PutErr
		t.expected += int(box.Completions)
		*c.issued += uint64(box.Messages)
		c.use(t, PutErr)
	}
	o.lent = o.lent[:0]
}

// attentive is a Host that counts the calls of user code under way: what that calls is within another entry, and must lend nothing.
type attentive struct {
	Host
	c *Context
}

func (a attentive) HeaderHandler(handler, uhdr transport.Addr, uhdrLen uint32, msgLen uint64, src int32, onePacket transport.Addr, r *HeaderResult) {
	a.c.userCode++
	a.Host.HeaderHandler(handler, uhdr, uhdrLen, msgLen, src, onePacket, r)
	a.c.userCode--
}

func (a attentive) VectorHeaderHandler(handler, uhdr transport.Addr, uhdrLen uint32, lengths transport.Addr, src int32, onePacket transport.Addr, r *HeaderResult) {
	a.c.userCode++
	a.Host.VectorHeaderHandler(handler, uhdr, uhdrLen, lengths, src, onePacket, r)
	a.c.userCode--
}

func (a attentive) SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code) {
	a.c.userCode++
	a.Host.SendHandler(handler, info, tgt, reason)
	a.c.userCode--
}

func (a attentive) CompletionHandler(handler, info transport.Addr) {
	a.c.userCode++
	a.Host.CompletionHandler(handler, info)
	a.c.userCode--
}

func (a attentive) DDM(handler, in, inout transport.Addr, n uint64, operand, operation int32) int64 {
	a.c.userCode++
	defer func() { a.c.userCode-- }() // it may fault
	return a.Host.DDM(handler, in, inout, n, operand, operation)
}
