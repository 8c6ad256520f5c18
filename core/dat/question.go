package dat

import (
	"encoding/binary"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
)

// Members of lower rank wait for those of higher rank to connect. So that they hear of one whose
// process is gone, they ask those that have not come: by a request that is no member's. Whoever
// lives rejects it. Nobody is asked who comes soon.

// firstAsk is after how long the first question goes, lastAsk the longest pause between two, ns.
const (
	firstAsk = 50e6
	lastAsk  = 1e9
)

// question is whether a member's process is there.
type question struct{ f *fellow }

// questionMagic is all of the private data of one.
const questionMagic = 0x3f4c4f43 // "COL?"

// ask asks all members of higher rank that have not come.
func (c *Collective) ask(now int64) {
	c.askPause = min(2*c.askPause, lastAsk)
	c.askAt = now + c.askPause
	for _, f := range c.fellows[c.group.Self+1:] {
		if c.over {
			return
		}
		if f.peer == nil && f.attempt == nil && f.asked == nil && f.address.Blob != nil {
			f.ask()
		}
	}
}

func (f *fellow) ask() {
	l := f.c.ia.library
	private := binary.LittleEndian.AppendUint32(nil, questionMagic)
	c, _, r := l.dial(&question{f}, f.address.Addr, f.address.Qualifier, serviceGroup,
		max(f.c.until-l.cfg.Clock(), 1), private)
	if r != codes.Success {
		return // it may come all the same
	}
	c.Known = true
	f.asked = c
}

// answered: only that nobody is there says something. The member may be about to come otherwise.
func (q *question) answered(why cm.Reason) {
	f := q.f
	f.asked = nil
	if why == cm.NobodyThere && f.peer == nil && f.attempt == nil {
		f.c.fail()
	}
}

// cardOf implements caller.
func (q *question) cardOf(d *dataLink, p *peer) [cm.CardSize]byte {
	c := q.f.c.ia.library.cardOf(d, p)
	return c.bytes()
}
