package dat

import (
	"lapi/core/dat/rc"
	"lapi/transport"
)

// connections has the ended connections. A connection that ends while links are being received from
// is kept until the connection manager's earlier messages are taken, though they come by other
// sockets: programs count on that order.
type connections struct {
	receiving bool     // from links: connections that end are kept in ended
	ended     []ending // empty between calls
}

// ending is a connection that has ended, and is not reported yet.
type ending struct {
	e   *EP
	how rc.Ending
}

// end reports that e's connection is over, now or soon.
func (o *connections) end(e *EP, how rc.Ending) {
	if o.receiving {
		o.ended = append(o.ended, ending{e, how})
	} else {
		e.ended(how)
	}
}

// report reports the connections that have ended.
func (o *connections) report() {
	for i, end := range o.ended {
		o.ended[i].e = nil
		end.e.ended(end.how)
	}
	o.ended = o.ended[:0]
}

// connOwner is an endpoint as the owner of its connection of rc.
type connOwner struct{ e *EP }

// Access implements rc.Owner.
func (o connOwner) Access(_ *rc.Conn, context uint32, addr transport.Addr, n uint64,
	right rc.Right) (transport.Addr, bool) {
	return o.e.ia.remote(o.e.PZ, context, addr, n, right)
}

// Invalidate implements rc.Owner: a peer may make its own window useless.
func (o connOwner) Invalidate(_ *rc.Conn, context uint32) bool { return o.e.invalidate(context) }

func (e *EP) invalidate(context uint32) bool {
	r := e.ia.contexts.find(context)
	if r == nil || r.pz != e.PZ || r.rmr == nil {
		return false
	}
	r.rmr.unbind()
	return true
}

// Completed implements rc.Owner.
func (o connOwner) Completed(_ *rc.Conn, r *rc.Request) { o.e.completed(r) }

// Received implements rc.Owner.
func (o connOwner) Received(_ *rc.Conn, r *rc.Receive) { o.e.received(r) }

// Ended implements rc.Owner.
func (o connOwner) Ended(_ *rc.Conn, how rc.Ending) { o.e.ia.library.conns.end(o.e, how) }
