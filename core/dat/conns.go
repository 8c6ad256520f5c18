package dat

import (
	"lapi/core/dat/rc"
	"lapi/transport"
)

// connections is the owner of all connections of rc, each of which is an endpoint's. A connection
// that ends while links are being received from is kept until the connection manager's earlier
// messages are taken, though they come by other sockets: programs count on that order.
type connections struct {
	receiving bool     // from links: what ends is kept in ended
	ended     []ending // empty between calls
}

// ending is a connection that has ended, and is not reported yet.
type ending struct {
	e   *EP
	how rc.Ending
}

// report reports the connections that have ended.
func (o *connections) report() {
	for i, end := range o.ended {
		o.ended[i].e = nil
		end.e.ended(end.how)
	}
	o.ended = o.ended[:0]
}

// Access implements rc.Owner.
func (o *connections) Access(c *rc.Conn, context uint32, addr transport.Addr, n uint64,
	right rc.Right) (transport.Addr, bool) {
	e := c.Owner.(*EP)
	return e.ia.remote(e.PZ, context, addr, n, right)
}

// Usable implements rc.Owner.
func (o *connections) Usable(c *rc.Conn, owner any) bool {
	return c.Owner.(*EP).ia.usable(owner.(*posted))
}

// Invalidate implements rc.Owner: a peer may make its own window useless.
func (o *connections) Invalidate(c *rc.Conn, context uint32) bool {
	return c.Owner.(*EP).invalidate(context)
}

func (e *EP) invalidate(context uint32) bool {
	r := e.ia.contexts.find(context)
	if r == nil || r.pz != e.PZ || r.rmr == nil {
		return false
	}
	r.rmr.unbind()
	return true
}

// Completed implements rc.Owner.
func (o *connections) Completed(c *rc.Conn, r *rc.Request) { c.Owner.(*EP).completed(r) }

// Received implements rc.Owner.
func (o *connections) Received(c *rc.Conn, r *rc.Receive) { c.Owner.(*EP).received(r) }

// Ended implements rc.Owner.
func (o *connections) Ended(c *rc.Conn, how rc.Ending) {
	if e := c.Owner.(*EP); o.receiving {
		o.ended = append(o.ended, ending{e, how})
	} else {
		e.ended(how)
	}
}

// Bind implements rc.Owner.
func (o *connections) Bind(_ *rc.Conn, owner any) bool { return owner.(*posted).bind.apply() }

var _ rc.Owner = (*connections)(nil)
