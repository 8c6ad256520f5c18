package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport/memory"
)

// multicast is an LAPI_MC_XFER under way that has a send completion handler: as many active messages as its group had members when it
// began. The handler runs once, when the last of them needs the origin's data no more.
type multicast struct {
	next *multicast // in Context.freeMulticasts
	left int        // messages that still need the data
	done Callback   // the user's
	of   int        // what the handler is told: the group, or the first task whose message was given up
	code codes.Code // and why that was
}

// multicast is LAPI_MC_XFER: an active message to each task of the group Tgt, this one included if it is a member. Every
// member's message is one of its own for fences, flow control and failures, and reads the user's data by itself. It has no
// counters. Nothing is sent if a member cannot be sent to.
func (c *Context) multicast(x *Transfer) codes.Code {
	members, ok := c.groups[x.Tgt]
	if !ok {
		return codes.ErrTgt
	}
	for _, id := range members {
		if _, code := c.target(id); code != codes.Success {
			return code
		}
	}
	if code := c.checkAm(x); code != codes.Success {
		return code
	}
	uhdr := c.multicastHeader[:x.UhdrLen]
	if err := memory.CopyOut(uhdr, x.Uhdr); err != nil { // now, not when some members have got theirs
		c.fault(err, codes.ErrOrgAddrNull, AmErr, c.me)
		return codes.ErrUhdrNull
	}
	part := Callback{}
	if done := x.done(); done.Handler != 0 {
		part.multicast = c.newMulticast(done, x.Tgt, len(members))
	}
	one := Transfer{HdrHdl: x.HdrHdl, Uhdr: memory.AddrOf(uhdr), UhdrLen: x.UhdrLen, N: x.N, Flags: x.Flags} // it has no counters
	for _, id := range members {
		c.sendAm(&c.tasks[id], &one, x.OrgAddr, part)
	}
	return codes.Success
}

func (c *Context) newMulticast(done Callback, group uint32, members int) *multicast {
	p := c.freeMulticasts
	if p == nil {
		p = new(multicast)
	} else {
		c.freeMulticasts = p.next
	}
	*p = multicast{left: members, done: done, of: int(group), code: codes.Success}
	return p
}

// partDone: one of p's messages, that to t, needs the data no more.
func (c *Context) partDone(p *multicast, t *task, code codes.Code) {
	if code != codes.Success && p.code == codes.Success {
		p.of, p.code = t.id, code
	}
	if p.left--; p.left > 0 {
		return
	}
	c.sent = append(c.sent, sendCompletion{p.done, p.of, p.code})
	p.next = c.freeMulticasts
	c.freeMulticasts = p
}
