package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// Where the adapters are the kernel's, C sends and takes messages by itself (cshim/packets/packets.h):
// it finds the peers, their rings, the slots and the completions in memory that is the link's own,
// and changes it as the link would. So a call of the link's finds all that C did, and has only to
// collect what follows from it. Under the owner's lock, as everything.

// sharing is the state that the link shares with C.
type sharing struct {
	link    *Link
	shared  *layout.VerbsLink
	pages   [][]byte // where it lies, if C does
	tasks   []uint64 // where C finds the peers; nil: it takes no part
	pending []*peer  // of which the owner has yet to collect what C did
}

// native says whether C can use all of the link's adapters.
func (s *sharing) native() bool {
	l := s.link
	for _, a := range append([]ibv.Device{l.cfg.Adapter}, l.cfg.More...) {
		if _, ok := a.(Native); !ok {
			return false
		}
	}
	return 1+len(l.cfg.More) <= PortsMax
}

// offload lets C use p's queue pair, which is open.
func (p *peer) offload() {
	l := p.link
	if l.tasks == nil || !p.Works() || p.gone {
		return
	}
	if port := p.Share(addressOf(p.VerbsPeer)); port != nil {
		p.Use(uint64(p.Handle()), addressOf(port))
		l.tasks[p.ep] = addressOf(p.VerbsPeer)
	}
}

// reclaim ends that.
func (p *peer) reclaim() {
	p.Reclaim()
	p.Unshare()
}

// Hold has C send nothing to ep, as messages wait in front, or permits it again.
func (s *sharing) Hold(ep transport.Endpoint, held bool) {
	l := s.link
	if p := l.peers[ep]; p != nil {
		p.Close(held)
	}
}

// Busy says whether the link has something to do in each turn.
func (l *Link) Busy() bool {
	return len(l.active) > 0 || l.timers.Due() != 0 || l.transfers.Busy() || l.UsesSpare() ||
		l.ports.Returns()
}

// collectCounts takes in what C has counted.
func (s *sharing) collectCounts() {
	c, to := s.shared, &s.link.stats
	to.PacketsSent += c.PacketsSent
	to.PacketsReceived += c.PacketsReceived
	to.DataSent += c.DataSent
	to.DataReceived += c.DataReceived
	to.AcksSent += c.AcksSent
	c.PacketsSent, c.PacketsReceived, c.DataSent, c.DataReceived, c.AcksSent = 0, 0, 0, 0, 0
}

// collect takes in what C has done since the last time.
func (s *sharing) collect() {
	l := s.link
	l.shared.Open = 0
	n := int(l.shared.NumNews)
	if n == 0 {
		return
	}
	l.shared.NumNews = 0
	if n > layout.VerbsNews {
		for _, p := range l.peers {
			p.collect()
		}
		return
	}
	for _, task := range l.shared.News[:n] {
		if p := l.peers[transport.Endpoint(task)]; p != nil {
			p.collect()
		}
	}
}

func (p *peer) collect() {
	l := p.link
	came, failed, mark, ok := p.News()
	if !ok {
		return
	}
	if p.Owner != ([len(p.Owner)]uint32{}) && !p.noted {
		p.noted = true
		l.pending = append(l.pending, p)
	}
	if came {
		p.failure, p.heardOf = nil, true
		p.Succeed()
		if p.transfers.Calls() > 0 {
			p.Attend()
		}
		p.grant()
	}
	if mark != 0 {
		p.wants(mark)
	}
	if len(p.flushes) > 0 { // C may have taken the answer
		p.Attend()
	}
	if failed {
		p.queue.fail()
	}
	p.post() // the packet that waited for more messages
}

// CollectOwners gives the owner what C has noted for it of each peer, which the owner clears.
func (s *sharing) CollectOwners(give func(ep transport.Endpoint, noted *[3]uint32)) {
	l := s.link
	l.collect()
	for _, p := range l.pending {
		p.noted = false
		give(p.ep, &p.Owner)
	}
	l.pending = l.pending[:0]
}

// TakeHandled goes on with a message from ep that C has taken out of a slot, and whose handler has
// run: h says what came of it, and is offered it again if that refuses it.
func (s *sharing) TakeHandled(ep transport.Endpoint, slot int32, n uint32, h transport.MsgHandler) {
	l := s.link
	var was wire.Head
	p, b := l.peers[ep], l.ports.Bytes(slot)[:n]
	if p == nil || p.gone || !was.Decode(b) {
		return
	}
	end := wire.HeadSize + int(was.Header)
	l.msg = transport.Msg{From: ep, Hdr: b[wire.HeadSize:end:end], Data: b[end:]}
	if h(&l.msg) != transport.Accept && !p.gone {
		p.keep(&was, b[wire.HeadSize:end], b[end:])
	}
}
