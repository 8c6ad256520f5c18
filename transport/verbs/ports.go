package verbs

import (
	"slices"

	"lapi/transport"
	"lapi/transport/verbs/internal/fallback"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// Carrier is the part of another link between the tasks, such as UDP/IP, that the spare port uses.
type Carrier = fallback.Carrier

// Native is an adapter that C can use by itself.
type Native = paths.Native

// JoinAddress is the address of a task whose link has that one, and its spare carrier the other;
// see UseSpare.
func JoinAddress(link, carrier []byte) transport.Address {
	return transport.Address{Bytes: slices.Concat(link, carrier)}
}

// UseSpare has peers be reached over c, under the same endpoints, where no adapter leads to them.
// It is called before Connect, whose addresses then are JoinAddress's for those that c reaches. c
// needs progress from the owner, before the Link's, and is closed after it. Its messages of kind
// transport.MaxMsgID are the Link's.
func (l *Link) UseSpare(c Carrier) { l.ports.UseSpare(c) }

// SpareFailed is called when the carrier has given ep up.
func (l *Link) SpareFailed(ep transport.Endpoint) { l.ports.SpareFailed(ep) }

// UsesSpare says whether something goes over the spare port: then its carrier is to be looked at
// often.
func (l *Link) UsesSpare() bool { return l.ports.UsesSpare() }

// watcher is the Link as its ports need it.
type watcher struct{ l *Link }

func (w watcher) Datagram(b []byte) { w.l.onDatagram(b) }
func (w watcher) Ghost()            { w.l.stats.GhostPackets++ }

func (w watcher) Gone(pt *paths.Port) { w.l.transfers.Lose(pt.Number()) }

// AllGone: all peers end, but those that the spare carrier reaches.
func (w watcher) AllGone() {
	for _, p := range w.l.peers {
		if !p.gone && !p.routes.Sparable() {
			p.lost(transport.ErrAdaptersDown)
		}
	}
}

// Up looks for the peers that pt may lead to.
func (w watcher) Up(pt *paths.Port) {
	for _, p := range w.l.peers {
		if p.seeks() {
			p.wake(pt.Number())
			p.beginLanes()
		}
	}
}

func (w watcher) Sending(used []bool) {
	for _, p := range w.l.peers {
		p.Under(used)
	}
}

func (w watcher) Disposed(pt *paths.Port) {
	w.l.transfers.Drop(pt.Number())
	for _, p := range w.l.peers {
		for _, q := range p.allPairs() {
			if q.Own() == pt.Number() {
				q.FreePath()
			}
		}
	}
}

func (w watcher) Replaced(pt *paths.Port) {
	a, pd := pt.Adapter()
	w.l.transfers.Open(pt.Number(), a, pd)
}

func (w watcher) MovedElsewhere(i int) {
	for _, p := range w.l.peers {
		if !p.gone {
			p.wake(i)
			p.Attend()
		}
	}
	if w.l.cfg.Moved != nil {
		w.l.cfg.Moved()
	}
}

// wake has lanes over a port be tried at once.
func (p *peer) wake(port int) {
	for _, q := range p.lanes {
		if q != nil && q.Own() == port {
			q.Wake()
		}
	}
}

// Moved takes in another task's address as it is now: ports of it were opened again (Config.Moved). It
// may come late, and more than once.
func (l *Link) Moved(ep transport.Endpoint, address []byte) {
	var known, now wire.Address
	if l.closed || !l.connected(ep) || !known.Decode([]byte(l.addresses[ep])) ||
		!now.Decode(address) || now.Generation != known.Generation ||
		len(now.Places) != len(known.Places) {
		return
	}
	p := l.peers[ep]
	for i := range now.Places {
		switch at := &now.Places[i]; {
		case p != nil && !p.gone:
			p.movedTo(i, at)
		case at.Follows(&known.Places[i]):
			known.Places[i] = *at
		}
	}
	if p == nil || p.gone {
		l.addresses[ep] = written(&known)
	}
}

// written is an address as tasks send it.
func written(a *wire.Address) string { return string(append(a.Encode(), a.Carrier...)) }

// movedTo: p's port far is at a place, maybe another than was known. Then queue pairs to the old
// place are made anew when they are wanted; keys for that port are not valid any more.
func (p *peer) movedTo(far int, at *wire.Place) {
	l := p.link
	if !at.Follows(&p.to.Places[far]) {
		return
	}
	if at.MTU < wire.MTUMin || at.MTU > wire.MTUMax {
		p.lost(transport.ErrUnreachable)
		return
	}
	p.to.Places[far] = *at
	l.addresses[p.ep] = written(&p.to)
	p.transfers.Expired(far)
	for _, q := range p.allPairs() {
		if q.Far() != far {
			continue
		}
		q.FreePath()
		if !q.packets() { // the packets' may be there already; else it fails by itself
			q.dropPair()
			q.Wake()
		}
		if p.gone {
			return
		}
	}
	if p.seeks() {
		p.beginLanes()
	}
	p.Attend()
}

// fallbackState is the state of a peer with the spare port. While packets go over it, lanes are
// tried now and then, and when a port comes up. The first that opens takes the packets back, at the
// task with the lower number; the other follows its Hello.
type fallbackState struct {
	came  bool   // packets have begun to go over the spare port just now
	found *queue // a lane that has opened since
	on    bool   // Config.Spared was called for that
}

// place is where p's port of that number is.
func (p *peer) place(far int) *wire.Place {
	if far == wire.SpareIndex {
		return &wire.Place{MTU: uint16(p.Info().MTU), GID: fallback.GID(p.ep)}
	}
	return &p.to.Places[far]
}

// noteOpen: q is open. Where packets have begun to go over the spare port, lanes that there were
// before are as dead as the packets' way was. A lane that opens afterwards shows that an adapter
// leads to the peer again; the next turn goes back to it.
func (q *queue) noteOpen() {
	l := q.peer.link
	p := q.peer
	switch {
	case !q.packets():
		if p.IsSpare() && l.own.Task < p.to.Task {
			p.found = q
		}
	case p.IsSpare():
		p.came = true
		p.routes.Opened()
		p.reportSpared(true)
	default:
		p.routes.Opened()
		p.reportSpared(false)
	}
}

func (p *peer) reportSpared(spared bool) {
	l := p.link
	if p.on != spared {
		p.on = spared
		if l.cfg.Spared != nil {
			l.cfg.Spared(p.ep, spared)
		}
	}
}

// sweep ends the lanes of p, whose packets have begun to go over the spare port.
func (p *peer) sweep() {
	p.came, p.found = false, nil
	for _, q := range p.lanes {
		if q != nil && q.Exists() && !p.gone {
			q.restLane()
		}
	}
}

// seeks says whether an adapter's way to p is to be looked for.
func (p *peer) seeks() bool { return !p.gone && p.IsSpare() && p.Works() && p.link.ports.AnyUp() }

// goBack has the packets to p go over the adapter's way that was found.
func (p *peer) goBack() {
	q := p.found
	p.found = nil
	if !p.IsSpare() || !p.Works() || !q.Works() {
		return
	}
	p.queue.dropPair()
	if p.gone || p.Exists() { // a handler has begun another
		return
	}
	p.queue.Route(q.Way)
	p.queue.begin()
}
