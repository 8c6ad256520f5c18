package receive

import (
	"fmt"
	"slices"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/progress"
	"lapi/transport"
)

// unknown is an active message whose handler index is not registered (yet): it is refused until it
// is, or TIMEOUT is over.
type unknown struct {
	p     *peer.Peer
	id    uint32
	index transport.Addr
	since int64
	given bool // reported: bury it when it comes again
}

// wait refuses a message whose index is not registered. After TIMEOUT the error handlers of both
// tasks are called and the message is dropped.
func (r *Receiver) wait(p *peer.Peer, in *incoming) transport.Verdict {
	for i := range r.unknown {
		u := &r.unknown[i]
		if u.p != p || u.id != in.am.ID {
			continue
		}
		if !u.given {
			return transport.Refuse
		}
		r.unknown = slices.Delete(r.unknown, i, i+1)
		in.handled, in.buried, in.failed = true, true, true
		return transport.Accept
	}
	r.unknown = append(r.unknown, unknown{p: p, id: in.am.ID, index: in.am.Handler,
		since: r.cfg.Clock()})
	return transport.Refuse
}

// Unknown is how many messages wait for their index.
func (r *Receiver) Unknown() int { return len(r.unknown) }

// CheckUnknown drops messages whose index was registered meanwhile and reports those whose index
// was not within timeout, ns; negative: for ever.
func (r *Receiver) CheckUnknown(timeout int64) {
	kept := r.unknown[:0]
	for _, u := range r.unknown {
		if r.indices[u.index] != 0 {
			continue
		}
		if !u.given && timeout >= 0 && r.cfg.Clock()-u.since > timeout {
			u.given = true
			r.unregistered(u)
		}
		kept = append(kept, u)
	}
	r.unknown = kept
}

// unregistered reports u to the error handlers of both tasks. The origin's report leaves before the
// message is accepted.
func (r *Receiver) unregistered(u unknown) {
	r.cfg.Faults.Raise(codes.ErrHdrHndlrNull, codes.AmErr, u.p.ID,
		fmt.Sprintf("an active message of task %d names header handler index %d, which "+
			"LAPI_Addr_set has not registered", u.p.ID, u.index))
	if u.p.IsSelf {
		r.cfg.Lost(u.p, codes.ErrHdrHndlrNull)
		return
	}
	r.cfg.Faults.Tell(u.p, codes.ErrHdrHndlrNull, codes.AmErr, u.index, 0)
}

// Deadline is when CheckUnknown must run; 0: never.
func (r *Receiver) Deadline(timeout int64) (at int64) {
	for i := range r.unknown {
		if u := &r.unknown[i]; !u.given && timeout >= 0 {
			at = progress.Earlier(at, u.since+timeout)
		}
	}
	return at
}

func (r *Receiver) forgetUnknown(p *peer.Peer) {
	r.unknown = slices.DeleteFunc(r.unknown, func(u unknown) bool { return u.p == p })
}
