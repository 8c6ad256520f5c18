package recovery

import (
	"math/bits"

	"lapi/transport/udp/wire"
)

// AllPaths is a bit for each path: of a peer with one path nothing is known of its health.
const AllPaths = 1<<8 - 1

// Ack is an acknowledgement that came by a path: a packet's header, and the blocks behind it if it
// is an Ack or Bye.
type Ack struct {
	Path   *Path
	Header *wire.Header
	Blocks []byte
}

// Possible says whether a is well-formed and acknowledges only what was sent.
func (w *Window) Possible(a *Ack) bool {
	if uint32(w.next-a.Header.Ack) >= 1<<31 {
		return false
	}
	return !a.Header.Kind.Blocks() || len(a.Blocks)%wire.BlockSize == 0
}

// Take takes in the packets that a acknowledges, and those that the peer was not ready for. gaps:
// something has arrived behind a packet that has not. False: a says nothing new. If there is, or a
// new transmission is known to have arrived, Detect follows, and Update.
func (w *Window) Take(now int64, a *Ack) (gaps, news bool) {
	h := a.Header
	w.newsOf, w.ackBy = 0, a.Path.number
	for w.base.Before(h.Ack) {
		w.acked(w.base, now)
		w.base++
	}
	gaps = h.Bits != 0
	w.ackedBlock(h.AckFirst(), h.Bits, now)
	refused := false
	for rest := a.Blocks; len(rest) > 0; {
		var k wire.Block
		rest, _ = k.Next(rest) // there is a whole one
		gaps = gaps || k.Received != 0
		w.ackedBlock(k.First, k.Received, now)
		refused = w.notReadyBlock(k.First, k.NotReady, now) || refused
	}
	a.Path.fresh = false
	return gaps, w.newsOf != 0 || refused
}

// acked takes packet s off the window, if it is there still.
func (w *Window) acked(s wire.Seq, now int64) {
	k := w.At(s)
	if k == nil || k.sends == 0 {
		return
	}
	w.owner.Release(k)
	w.set(s, nil)
	w.paths[k.path].acked(k, now, k.path == w.ackBy)
	w.newsOf |= 1 << k.path
	w.move(k, waiting)
	w.owner.Acked(k)
}

// ackedBlock does so for each bit of b, which begins with number first.
func (w *Window) ackedBlock(first wire.Seq, b uint64, now int64) {
	for ; b != 0; b &= b - 1 {
		s := first + wire.Seq(bits.TrailingZeros64(b))
		if s.InWindow(w.base, uint32(w.next-w.base)) {
			w.acked(s, now)
		}
	}
}

// notReadyBlock parks the packets that the peer has seen and was not ready for.
func (w *Window) notReadyBlock(first wire.Seq, b uint64, now int64) (news bool) {
	for ; b != 0; b &= b - 1 {
		s := first + wire.Seq(bits.TrailingZeros64(b))
		if !s.InWindow(w.base, uint32(w.next-w.base)) {
			continue
		}
		k := w.At(s)
		if k == nil || k.state == notReady {
			continue
		}
		news = true
		k.due = now + min(int64(notReadyDelay)<<min(k.notReady, 16), int64(notReadyMost), w.polling)
		k.notReady++
		w.move(k, notReady)
		if w.notReadyDue == 0 || k.due < w.notReadyDue {
			w.notReadyDue = k.due
		}
	}
	return news
}

// Detect looks for packets in flight that others have overtaken on their path: they are lost. So
// are those on a path that is not live, if they were sent before the packet that a answers. live
// has a bit for each path that is. Headers cover 64 numbers, Ack and Bye all; of others nothing is
// known.
func (w *Window) Detect(now int64, a *Ack, gaps bool, live uint8) {
	for w.base != w.next && w.At(w.base) == nil {
		w.base++
	}
	a.Path.order.decay(now)
	if !w.mayBeLost(a.Path, gaps) {
		return
	}
	h := a.Header
	for s := w.base; s != w.next; s++ {
		k := w.At(s)
		if k == nil || k.state != inFlight {
			continue
		}
		if !h.Kind.Blocks() && !s.InWindow(h.AckFirst(), wire.BlockSpan) {
			continue
		}
		o := w.paths[k.path]
		overtaken := o.overtook(k)
		if overtaken || live>>k.path&1 == 0 && k.sentAt < a.Path.ackedSent {
			if k.lostTx = 0; overtaken {
				k.lostTx = k.tx
			}
			w.move(k, lost)
			o.lost(k)
			if overtaken {
				w.owner.Lost(k, now)
			}
		}
	}
}

// mayBeLost is a quick look whether Detect may find anything: not if the oldest packet is in flight
// on r, was sent after all that is known to have arrived there, and nothing behind it arrived.
func (w *Window) mayBeLost(r *Path, gaps bool) bool {
	if w.inFlight == 0 {
		return false
	}
	k := w.At(w.base)
	return gaps || k == nil || k.state != inFlight || k.path != r.number || k.tx < r.ackedTx
}

// Update ends what an acknowledgement by path by has begun: the congestion laws of that path, and
// of those on which something was acknowledged, draw their conclusions, and time-outs begin anew.
func (w *Window) Update(now int64, by *Path) {
	for i, r := range w.paths {
		if r != by && w.newsOf>>i&1 == 0 {
			continue
		}
		r.cc.Update(now, &r.rtt)
		r.ResetUnasked()
		r.Rearm(now)
	}
}
