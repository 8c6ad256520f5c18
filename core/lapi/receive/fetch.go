package receive

import (
	"errors"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// errBadList: a list of blocks in the origin's memory cannot be the message's.
var errBadList = errors.New("the list of a message's blocks is not its")

// fetch is the target's side of a rendezvous whose buffer is known: it reads the origin's memory
// and notifies the origin.
func (r *Receiver) fetch(p *peer.Peer, in *incoming) {
	in.am.Listed = false // the list is taken in: if the stream begins anew, it is that of the data
	if in.buried || in.failed {
		in.received = in.am.Length
		r.tellFetched(p, in.am.Token, wire.FetchUnread)
		return
	}
	if in.placement != nil && !in.placement.List(&in.tgt,
		r.cfg.Copier.TargetBlocks(p, in.placement.Bytes())) {
		r.tellFetched(p, in.am.Token, wire.FetchPlaced)
		return
	}
	if p.OverAdapter() {
		r.beginFetch(p, in)
		return
	}
	outcome := wire.FetchDone
	err := r.fetchData(p, in)
	switch fault, isFault := err.(*transport.FaultError); {
	case isFault:
		in.failed, in.received = true, in.am.Length
		outcome = wire.FetchUnread
		r.fetchFault(p, fault)
	case err == nil:
		in.received = in.am.Length
	case err == errBadList:
		in.failed, in.received = true, in.am.Length
		p.Malformed()
	default:
		p.SingleCopy = false // the origin sends fragments
		outcome = wire.FetchRefused
	}
	r.tellFetched(p, in.am.Token, outcome)
}

// fetchData copies from the origin's blocks to this task's; there may be one at either end, or at
// both.
func (r *Receiver) fetchData(p *peer.Peer, in *incoming) error {
	copier, n := r.cfg.Copier, in.am.Length
	switch {
	case in.vectored:
		return copier.CopyVector(p, true, &in.tgt, &in.org, min(in.tgt.Total(), in.org.Total()))
	case !p.SingleCopy:
		return transport.ErrNotSupported
	case !in.pieces && in.placement == nil:
		return copier.Copy(p, true, in.buffer, in.am.Direct, n)
	case in.pieces:
		if err := r.readList(p, in); err != nil {
			return err
		}
	default:
		in.org.OneBlock(in.am.Direct, n)
	}
	if in.placement != nil {
		n = in.placement.Bytes()
	} else {
		in.tgt.OneBlock(in.buffer, n)
	}
	return copier.CopyVector(p, true, &in.tgt, &in.org, n)
}

// beginFetch has an adapter read the data from the origin's memory.
func (r *Receiver) beginFetch(p *peer.Peer, in *incoming) {
	if in.move == nil {
		in.move = &singlecopy.Move{Done: r.fetched}
	}
	n := in.am.Length
	switch {
	case in.vectored && in.amv.Kind == wire.VectorStrided:
		in.org.Origin(&in.amv, n)
	case !in.vectored && !in.pieces:
		in.org.OneBlock(in.am.Direct, n)
	}
	switch {
	case in.vectored:
		n = min(in.tgt.Total(), in.org.Total())
	case in.placement != nil:
		n = in.placement.Bytes()
	default:
		in.tgt.OneBlock(in.buffer, n)
	}
	in.p, in.fetching, in.beginning, in.move.Owner = p, true, true, in
	r.cfg.Copier.Move(in.move, p, true, &in.tgt, &in.org, n)
	in.beginning = false
}

// fetched ends what beginFetch began. A message of a peer that is gone stays until GiveUp.
func (r *Receiver) fetched(m *singlecopy.Move, err error) {
	in := m.Owner.(*incoming)
	p := in.p
	in.fetching = false
	outcome := wire.FetchDone
	switch {
	case p.Dead() || err == transport.ErrUnreachable || err == transport.ErrClosed:
		return
	case err != nil: // messages find out which address is bad, if one is
		outcome = wire.FetchRefused
	default:
		in.received = in.am.Length
	}
	r.tellFetched(p, in.am.Token, outcome)
	if !in.beginning { // else goOn does
		r.endIfComplete(p, in)
	}
}

// fetchList reads the origin's blocks before the header handler runs, which is to see their
// lengths. Any error but a fault or errBadList means that the target cannot read the origin's
// memory.
func (r *Receiver) fetchList(p *peer.Peer, in *incoming) error {
	if !p.SingleCopy {
		return transport.ErrNotSupported
	}
	in.org.Origin(&in.amv, in.am.Length)
	if in.org.Strided() {
		return nil
	}
	err := r.readList(p, in)
	if fault, ok := err.(*transport.FaultError); ok {
		r.fetchFault(p, fault)
	} else if err != nil && err != errBadList {
		p.SingleCopy = false
	}
	return err
}

// readList reads the list of the origin's blocks.
func (r *Receiver) readList(p *peer.Peer, in *incoming) error {
	in.org.Origin(&in.amv, in.am.Length)
	at, n := in.org.NewList()
	if err := r.cfg.Copier.Copy(p, true, at, in.amv.Base, n); err != nil {
		return err
	}
	if !in.org.ValidList() {
		return errBadList
	}
	return nil
}

// fetchFault is about an address, here or at the origin, that a fetch could not access.
func (r *Receiver) fetchFault(p *peer.Peer, fault *transport.FaultError) {
	if !fault.Remote {
		r.cfg.Faults.Target(fault, codes.AmErr, p, 0)
		return
	}
	r.cfg.Faults.Fetch(p, fault.Addr)
}

func (r *Receiver) tellFetched(p *peer.Peer, token uint64, outcome wire.Outcome) {
	h := wire.Fetched{Token: token, Outcome: outcome}
	r.cfg.Out.Control(p, wire.MsgFetched, codes.IntErr, h.Encode)
}
