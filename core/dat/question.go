package dat

import (
	"encoding/binary"
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
)

// Members of lower rank wait for those of higher rank to connect. To learn that the process of such
// a member is gone, they send a question to each that has not connected: a connection request that
// is no member's. A live process rejects it. Members that connect soon are not asked.
//
// The rejection is proved by the key of the process that listens there. So a member named by a
// service point is asked, too, when a request has arrived that claims to be from it.

// firstAsk is the time until the first question, lastAsk the longest pause between two, ns.
const (
	firstAsk = 50e6
	lastAsk  = 1e9
)

// question asks whether a member's process is there, and which it is.
type question struct {
	cm.FailureOnly
	f *groupMember
}

// questionMagic is all of the private data of a question.
const questionMagic = 0x3f4c4f43 // "COL?"

// ask asks all members of higher rank that have not connected.
func (c *Collective) ask(now int64) {
	c.askPause = min(2*c.askPause, lastAsk)
	c.askAt = now + c.askPause
	for _, f := range c.members[c.group.Self+1:] {
		if c.over {
			return
		}
		if f.address.Blob != nil || !f.known && f.isClaimed() {
			f.ask()
		}
	}
}

// isClaimed says whether a request waits that claims to be the member's.
func (f *groupMember) isClaimed() bool {
	return slices.ContainsFunc(f.c.ia.library.groups.requests,
		func(q *joinRequest) bool { return q.from == f.rank && q.isFor(f.c) })
}

// ask asks a member that has not connected, unless a question is on its way.
func (f *groupMember) ask() {
	if f.peer != nil || f.attempt != nil || f.asked != nil {
		return
	}
	l := f.c.ia.library
	private := binary.LittleEndian.AppendUint32(nil, questionMagic)
	c, _, r := l.dial(&question{f: f}, f.address.Addr, f.address.Qualifier, serviceGroup,
		max(f.c.until-l.cfg.Clock(), 1), private, nil)
	if r != codes.Success {
		return // the member may still connect
	}
	c.Known = true
	f.asked = c
}

// Failed implements cm.Owner. That nobody is there ends the group, but for a service point that may
// be about to listen. A rejection says which process is there; it may come later.
func (q *question) Failed(c *cm.Conn, why cm.Reason, _ []byte) {
	f := q.f
	f.asked = nil
	switch {
	case f.c.over || f.peer != nil || f.attempt != nil:
	case f.address.Blob == nil && why == cm.Rejected:
		f.key, f.known = c.PeerKey, true
		f.c.admitAll()
	case f.address.Blob != nil && why == cm.NobodyThere:
		f.c.fail()
	}
}

// cardOf implements caller.
func (q *question) cardOf(d *dataLink, p *peer) [cm.CardSize]byte {
	c := q.f.c.ia.library.node.cardOf(d, p)
	return c.bytes()
}
