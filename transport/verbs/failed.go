package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// Note reports a request or receive of q that has failed, once for each queue pair: those behind it
// are flushed. It is kept until the next queue pair works.
func (q *queue) Note(f ibv.Failure, r paths.Request) {
	if q.noted {
		return
	}
	q.noted = true
	l, p, value := q.peer.link, q.peer, r.Value()
	at := func(slot int32) uint64 { return uint64(memory.AddrOf(l.ports.Bytes(slot))) }
	switch {
	case r.IsReceive():
		f.Receive = true
		f.Local, f.N = at(int32(value)), wire.PacketMax
	case r.IsSend():
		f.Op = ibv.OpSend
		if slot, n, ok := p.Of(value); ok {
			f.Local, f.N = at(slot), uint64(n)
		}
	case r.IsMove():
		l.transfers.Describe(value, &f)
	}
	p.failure = &f
	if l.cfg.RequestFailed != nil {
		l.cfg.RequestFailed(p.ep, f)
	}
}

// A queue is paths.Pair.

func (q *queue) Received(b []byte, taken int) { q.receive(b, taken) }
func (q *queue) Sent(upTo uint64)             { q.peer.packetsSent(upTo) }
func (q *queue) Broke()                       { q.fail() }
func (q *queue) Sparable() bool               { return q.peer.routes.Sparable() }
func (q *queue) Moved(request uint64, s ibv.Status) {
	q.peer.link.transfers.Moved(&q.Lane, request, s)
}

// Failure is the last request or receive with ep that has failed, unless a queue pair has worked
// since; false: there is none.
func (r *roster) Failure(ep transport.Endpoint) (ibv.Failure, bool) {
	if p := r.peers[ep]; p != nil && p.failure != nil {
		return *p.failure, true
	}
	return ibv.Failure{}, false
}
