package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
)

// noteFailure reports a request or receive of q that has failed, once for each queue pair: those
// behind it are flushed. It is kept until the next queue pair works.
func (pt *port) noteFailure(q *queue, c *completion) {
	done := ibv.Completion{ID: c.Id, QPN: c.Qpn, Status: ibv.Status(c.Status),
		VendorErr: c.VendorErr}
	if q == nil || q.noted || !done.Failed() {
		return
	}
	q.noted = true
	f := pt.info.Report(&done)
	pt.locate(&f, q, c)
	q.peer.failure = &f
	if pt.link.cfg.RequestFailed != nil {
		pt.link.cfg.RequestFailed(q.peer.ep, f)
	}
}

// locate adds which request or receive it was, and its addresses.
func (pt *port) locate(f *ibv.Failure, q *queue, c *completion) {
	l, value := pt.link, c.Id&^idMask
	switch c.Id & idMask {
	case idReceive:
		f.Receive = true
		f.Local, f.N = uint64(l.slots.addr(int32(value))), slotSize
	case idSend:
		f.Op = ibv.OpSend
		if r := q.peer.ring(); value > r.Done && value <= r.Done+uint64(r.Posted) {
			s := r.at(int32(value - r.Done - 1))
			f.Local, f.N = uint64(l.slots.addr(int32(s.Slot))), uint64(s.N)
		}
	case idMove:
		l.transfers.Describe(value, f)
	}
}

// Failure is the last request or receive with ep that has failed, unless a queue pair has worked
// since; false: there is none.
func (l *Link) Failure(ep transport.Endpoint) (ibv.Failure, bool) {
	if p := l.peers[ep]; p != nil && p.failure != nil {
		return *p.failure, true
	}
	return ibv.Failure{}, false
}
