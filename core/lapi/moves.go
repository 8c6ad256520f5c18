package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/token"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// vectorMove is a put or get of a vector that the link over an adapter makes by itself. Its message
// is ready, and goes if the link cannot. Fences wait for a put as long as it is in Context.moves,
// for a get as for all gets.
type vectorMove struct {
	token.Item
	move singlecopy.Move
	m    *send.Message
	n    uint64
	h    wire.Vector // what the message's header says
	put  send.After
	get  *answerOp // nil: it is a put
}

// newMove is a move of m, of n bytes.
func (c *Context) newMove(m *send.Message, n uint64, h wire.Vector) *vectorMove {
	v := c.moves.New(m.Seq())
	v.m, v.n, v.h, v.put, v.get = m, n, h, send.After{}, nil
	v.move.Owner, v.move.Done = v, c.vectorMoved
	v.move.Notice = transport.Notice{uint64(h.TgtCntr), 0}
	return v
}

// movePut begins a put of org to tgt, of which m has the vectors.
func (c *Context) movePut(p *peer.Peer, m *send.Message, org, tgt *vector.Vector, n uint64,
	x *Transfer) {
	v := c.newMove(m, n, wire.Vector{TgtCntr: x.TgtCntr, Reply: uint64(x.CmplCntr)})
	v.put, v.move.Notices = x.after(), true
	v.move.Notice[1] = uint64(x.CmplCntr)
	c.out.Used(p, codes.PutErr, v.put.Counted)
	c.copier.Move(&v.move, p, false, org, tgt, n)
}

// moveGet begins a get from tgt to org, for which o waits.
func (c *Context) moveGet(p *peer.Peer, m *send.Message, org, tgt *vector.Vector, n uint64,
	x *Transfer, o *answerOp) {
	v := c.newMove(m, n, wire.Vector{TgtCntr: x.TgtCntr, Reply: o.Token(), Single: c.out.Single})
	v.get, v.move.Notices = o, x.TgtCntr != 0
	c.out.Used(p, codes.GetErr, false)
	c.copier.Move(&v.move, p, true, org, tgt, n)
}

// vectorMoved ends a move, or sends its message.
func (c *Context) vectorMoved(move *singlecopy.Move, err error) {
	v := move.Owner.(*vectorMove)
	m, n, o, after, h := v.m, v.n, v.get, v.put, v.h
	p := m.Peer()
	v.m, v.get, v.put = nil, nil, send.After{}
	c.moves.Free(v)
	switch {
	case err == transport.ErrNotSupported && o != nil:
		o.keep(m)
		c.out.StartVector(m, &h, n)
	case err == transport.ErrNotSupported:
		m.After = after
		c.out.StartVector(m, &h, n)
	case err != nil:
		c.moveFailed(p, o, after, err)
		c.out.Drop(m)
	case o != nil:
		c.out.Drop(m)
		c.answered(o)
	default:
		c.out.Drop(m)
		c.counters.AddFor(after.OrgCntr, codes.PutErr, c.me, p.ID)
		c.completed(sendComplete)
		c.due.Sent(after.Done, p, codes.Success)
	}
}

// moveFailed ends a move whose peer is gone. cutOff gives up the rest, o too.
func (c *Context) moveFailed(p *peer.Peer, o *answerOp, after send.After, err error) {
	if err == transport.ErrUnreachable && !p.Dead() && c.term == nil {
		c.left(p)
	}
	switch {
	case o == nil:
		c.due.Sent(after.Done, p, p.Gone())
	case !p.Dead(): // the link closes
		o.failed = true
		c.answered(o)
	}
}

// movesTo says of which kind the oldest move to or from p is.
func (c *Context) movesTo(p *peer.Peer) (codes.ErrType, bool) {
	for v := c.moves.Oldest(); v != nil; v = c.moves.Next(v) {
		if v.m.Peer() == p {
			return v.m.Kind(), true
		}
	}
	return 0, false
}
