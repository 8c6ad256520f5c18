package receive

import (
	"fmt"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// runHeader calls the user's header handler and keeps its results. Refuse: the message must come
// again.
func (r *Receiver) runHeader(p *peer.Peer, in *incoming, uhdr []byte,
	onePacket transport.Addr) transport.Verdict {
	if in.am.Length > wire.MaxMessageSize {
		r.tooLong(p, in)
		return transport.Accept
	}
	if in.am.Listed && !in.org.Listed(&in.amv, in.am.Length, in.lead[in.am.UhdrLen:]) {
		in.handled, in.buried, in.failed = true, true, true
		p.Malformed()
		return transport.Accept
	}
	handler := in.am.Handler
	if handler < wire.HandlerIndices {
		if handler = transport.Addr(r.indices[handler]); handler == 0 {
			return r.wait(p, in)
		}
	}
	call, result := &r.call, &r.result
	*result = host.HeaderResult{}
	*call = host.HeaderCall{Handler: handler, UhdrLen: uint32(len(uhdr)), MsgLen: in.am.Length,
		Src: int32(p.ID), OnePacket: onePacket, Vectored: in.vectored}
	if len(uhdr) > 0 {
		copy(r.uhdr, uhdr)
		call.Uhdr = memory.AddrOf(r.uhdr)
	}
	if in.vectored {
		call.Lengths = r.showLengths(in)
	}
	(*r.cfg.Host).HeaderHandler(call, result)
	return r.heed(p, in, result)
}

// tooLong ends a message whose length does not even fit in a header handler's argument here: its
// origin is a 64-bit task, this is none.
func (r *Receiver) tooLong(p *peer.Peer, in *incoming) {
	in.handled, in.buried, in.failed = true, true, true
	r.cfg.Faults.Raise(codes.ErrDataLen, codes.AmErr, p.ID,
		fmt.Sprintf("message of %d bytes from task %d, which a 32-bit task cannot take; send it "+
			"in parts", in.am.Length, p.ID))
	r.cfg.Faults.Tell(p, codes.ErrDataLen, codes.AmErr, 0, 0)
}

// heed takes in a header handler's results.
func (r *Receiver) heed(p *peer.Peer, in *incoming, result *host.HeaderResult) transport.Verdict {
	if result.CtlFlags == host.CtlDrop {
		return transport.Refuse
	}
	in.handled = true
	in.buffer = result.Buffer
	in.buried = result.CtlFlags == host.CtlBury || result.Buffer == 0 && result.DGSP == 0
	in.handler, in.info = result.Completion, result.Info
	in.inline = result.RetFlags&(host.RetLocalState|host.RetSendReply) != 0
	switch {
	case in.buried:
	case in.vectored:
		r.scatterTo(p, in)
	case result.DGSP != 0:
		r.scatterBy(p, in, result)
	}
	return transport.Accept
}

// scatterBy makes the data go where the DGSP says that the header handler named, as many bytes and
// from where in its stream on as the handler said. If the DGSP is bad, the error handlers of both
// tasks are called, and the data is dropped.
func (r *Receiver) scatterBy(p *peer.Peer, in *incoming, result *host.HeaderResult) {
	l, err := r.cfg.Placements.Scatter(transport.Addr(result.DGSP), in.buffer, result.Skip,
		min(result.Bytes, in.am.Length), r.ddm, int32(in.am.Atom))
	if err != nil {
		r.misplaced(p, in, err)
		return
	}
	in.placement = l
}

// misplaced: the DGSP that the header handler named cannot be used.
func (r *Receiver) misplaced(p *peer.Peer, in *incoming, err *dgsm.Error) {
	in.failed = true
	r.cfg.Faults.Raise(err.Code, codes.AmErr, p.ID,
		"the DGSP that the header handler named cannot be used: "+err.Text)
	if !p.IsSelf {
		r.cfg.Faults.Tell(p, err.Code, codes.AmErr, 0, 0)
	}
}

// scatterTo reads the vector that the header handler returned and checks it against the origin's.
// If it does not fit, the error handlers of both tasks are called and the data is dropped.
func (r *Receiver) scatterTo(p *peer.Peer, in *incoming) {
	err := r.loader.Returned(&in.tgt, in.buffer, &in.amv, in.lengths)
	if err == nil {
		return
	}
	if err.Fault != nil {
		r.cfg.Faults.Here(err.Fault, err.Code, codes.IntErr)
	}
	in.failed = true
	r.cfg.Faults.Raise(err.Code, codes.AmErr, p.ID,
		fmt.Sprintf("the vector that the header handler returned for a message of task %d cannot "+
			"take it", p.ID))
	if !p.IsSelf {
		r.cfg.Faults.Tell(p, err.Code, codes.AmErr, in.buffer, 0)
	}
}

// showLengths is where the header handler finds the lengths of the origin's blocks: ulongs of this
// task, not on the Go heap. Of a strided vector, whose blocks are all alike, there is one.
// in.lengths are they, as they cross the wire.
func (r *Receiver) showLengths(in *incoming) transport.Addr {
	n := int(8 * uint64(in.amv.Count))
	switch {
	case in.amv.Kind == wire.VectorStrided:
		n = 8
	case in.whole && vector.WordSize == 8: // in the link's memory
		return memory.AddrOf(in.lengths)
	}
	room := n
	if vector.WordSize == 4 {
		room += n / 2
	}
	var err error
	if r.lengths, err = arena.Grow(r.lengths, room); err != nil {
		r.cfg.Faults.RaiseHere(codes.ErrMemoryExhausted, codes.AmErr,
			"no memory for the lengths of a vector's blocks")
		in.lengths = nil
		return 0
	}
	lengths := r.lengths[:n]
	switch {
	case in.amv.Kind == wire.VectorStrided:
		wire.Order.PutUint64(lengths, in.amv.Block)
	case in.am.Rendezvous:
		in.org.WriteLengths(lengths, 0)
	default:
		copy(lengths, in.lengths)
	}
	in.lengths = lengths
	if vector.WordSize == 8 {
		return memory.AddrOf(lengths)
	}
	narrow := r.lengths[n:]
	for i := 0; i < n; i += 8 {
		wire.Order.PutUint32(narrow[i/2:], uint32(wire.Order.Uint64(lengths[i:])))
	}
	return memory.AddrOf(narrow)
}
