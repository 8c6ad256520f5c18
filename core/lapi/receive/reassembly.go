package receive

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// keepLead gathers what leads the data: what came along with the first message, and in fragments
// before it.
func (r *Receiver) keepLead(in *incoming, uhdr, data []byte, prefix uint64) {
	size := len(uhdr) + int(prefix)
	if cap(in.lead) < size {
		in.lead = make([]byte, max(size, wire.MaxUhdrSize))
	}
	in.lead = in.lead[:size]
	rest := in.lead[copy(in.lead, uhdr):]
	in.lengths = in.lead[in.am.UhdrLen:]
	in.leadGot = uint64(copy(rest, data))
	for i := range in.early {
		if e := &in.early[i]; e.offset < prefix {
			in.leadGot += uint64(copy(rest[e.offset:], e.data))
		}
	}
}

// takeLead drops from the early fragments what of them leads the data.
func (r *Receiver) takeLead(p *peer.Peer, in *incoming, prefix uint64) {
	kept := in.early[:0]
	for _, e := range in.early {
		n := min(max(prefix, e.offset)-e.offset, uint64(len(e.data)))
		r.from[p.ID].early -= int(n)
		if n < uint64(len(e.data)) {
			kept = append(kept, earlyPart{e.offset + n - prefix, e.data[n:]})
		}
	}
	clear(in.early[len(kept):])
	in.early = kept
}

// Fragment is the handler of MsgAmFragment.
func (r *Receiver) Fragment(m *transport.Msg) transport.Verdict {
	var h wire.Part
	p := &r.cfg.Peers[m.From]
	if !h.Decode(m.Hdr) || h.Message > 1<<32-1 {
		return p.Malformed()
	}
	in := r.find(p, uint32(h.Message))
	if in.fetching {
		return p.Malformed()
	}
	if in.hasHeader {
		return r.part(p, in, h.Offset, m.Data)
	}
	return r.keepEarly(p, in, h.Offset, m.Data)
}

// part handles a part of the stream of a message whose header is known.
func (r *Receiver) part(p *peer.Peer, in *incoming, offset uint64, data []byte) transport.Verdict {
	prefix := in.prefix()
	total := in.am.Length + prefix
	if in.am.Listed {
		total = prefix
	}
	if !wire.Inside(offset, uint64(len(data)), total) {
		return transport.Accept // malformed: dropped
	}
	n := min(max(prefix, offset)-offset, uint64(len(data))) // of the prefix
	behind := data[n:]
	at := offset + n - prefix // of behind
	done := in.handled || in.leadGot+n == prefix && n > 0
	if !done && len(behind) > 0 { // data before the header handler can run
		if r.keepEarly(p, in, at, behind) == transport.Refuse {
			return transport.Refuse
		}
		behind = nil
	}
	if n > 0 {
		copy(in.lead[uint64(len(in.lead))-prefix+offset:], data[:n])
		if in.leadGot+n == prefix {
			if v := r.runHeader(p, in, in.lead[:in.am.UhdrLen], 0); v == transport.Refuse {
				return v
			}
		}
		in.leadGot += n
		if in.handled && in.am.Rendezvous { // that was the end of its list
			r.fetch(p, in)
		}
	}
	if in.handled {
		r.place(p, in, at, behind)
		r.goOn(p, in)
	}
	return transport.Accept
}

// goOn places the early fragments of a message whose buffer is known, and ends the message if they
// were all. While the message is fetched nothing else of it comes.
func (r *Receiver) goOn(p *peer.Peer, in *incoming) {
	if !in.fetching {
		r.placeEarly(p, in)
		r.endIfComplete(p, in)
	}
}

// keepEarly copies a fragment that cannot be placed yet. Refuse: too much is kept for this task; it
// comes again.
func (r *Receiver) keepEarly(p *peer.Peer, in *incoming, offset uint64,
	data []byte) transport.Verdict {
	o := &r.from[p.ID]
	if o.early+len(data) > earlyMax {
		return transport.Refuse
	}
	o.early += len(data)
	in.early = append(in.early, earlyPart{offset, append([]byte(nil), data...)})
	return transport.Accept
}

// placeEarly puts the kept fragments where they belong, now that the buffer is known.
func (r *Receiver) placeEarly(p *peer.Peer, in *incoming) {
	for i := range in.early {
		e := &in.early[i]
		r.from[p.ID].early -= len(e.data)
		r.place(p, in, e.offset, e.data)
		e.data = nil
	}
	in.early = in.early[:0]
}

// place copies a piece of the data to the buffer and counts it.
func (r *Receiver) place(p *peer.Peer, in *incoming, offset uint64, data []byte) {
	in.received += uint64(len(data))
	if in.failed || in.buried || len(data) == 0 {
		return
	}
	var err error
	switch {
	case in.vectored:
		err = in.tgt.Scatter(offset, data)
	case in.placement != nil:
		err = in.placement.CopyIn(offset, data)
	default:
		err = memory.CopyIn(in.buffer+transport.Addr(offset), data)
	}
	if bad, ok := err.(*dgsm.Error); ok {
		r.misplaced(p, in, bad)
	} else if err != nil {
		in.failed = true
		r.cfg.Faults.Target(err, codes.AmErr, p, 0)
	}
}

// endIfComplete ends in once all its data is in place.
func (r *Receiver) endIfComplete(p *peer.Peer, in *incoming) {
	if in.handled && in.received >= in.am.Length {
		r.complete(p, in)
		r.drop(p, in)
	}
}

// complete: all data is in place, or dropped.
func (r *Receiver) complete(p *peer.Peer, in *incoming) {
	if !in.failed {
		r.cfg.Completed(p, handlers.Completion{Handler: in.handler, Info: in.info, Origin: p.ID,
			Epoch:   p.Epoch(),
			TgtCntr: in.am.TgtCntr, CmplCntr: in.am.CmplCntr}, in.inline)
	}
}
