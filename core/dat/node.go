package dat

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
	"lapi/transport"
)

// Data between two processes of one node goes over a link of shared memory, one for each pair of
// them, made when the first of them connects to the other:
//
//	active                                             passive
//	                     <── Accept (connection manager) ──
//	dials the other's door; Hello, its end's files ──>
//	                     <── Welcome, its end's files ─────  neighbour: offered
//	Ready, with the link's number (connection manager) ──>   joined
//
// So the active side decides, when it has both ends, and says so before the connection stands. If
// anything fails, or takes longer than meetTimeout, data goes over UDP. If both connect to each
// other at the same time there are two links; each connection uses the one that its Ready has
// named.

// Line is a connection to another process of this node and this user.
type Line interface {
	// Send sends a message. Its files stay the sender's. False: it cannot go, and never will.
	Send(m wire.Message) bool
	// Runs says whether the process at the other end is known to live, and is not stopped.
	Runs() bool
	// Watched says whether OnLineEnd tells of the end of that process, whoever else has the
	// line.
	Watched() bool
	Close()
}

const (
	// neighboursMax is to how many processes of its node a process has such links.
	neighboursMax = 64
	meetTimeout   = 2e9 // ns
)

type meetState uint8

const (
	meeting meetState = iota // Hello was sent
	offered                  // Welcome was sent
	joined                   // both ends stand
	parted                   // to be closed
)

// neighbour is another process of this node, and the link to it.
type neighbour struct {
	data    dataLink
	process cm.PublicKey
	number  uint32 // of the link, by who has said Hello
	pair    cm.Secret
	line    Line
	ended   bool // the line has
	state   meetState
	table   peerTable
	waiting []*cm.Conn // for the outcome
	until   int64      // meeting ends, unless the process is only slow
	// then it ends also if that is so
	patience int64
}

// peer is the one peer of its link.
func (n *neighbour) peer() *peer { return n.data.peers[n.data.made-1] }

// openDoor makes this process one that others of its node can share memory with, if it may be.
func (l *Library) openDoor() {
	err := l.network.Door(l.process)
	if l.door = err == nil; !l.door {
		l.host.Message("data to processes of this node goes over UDP: " + err.Error())
	}
}

// runs says whether the process lives: one that does and is silent, on a machine that is busy, is
// not given up.
func (n *neighbour) runs() bool { return n.line != nil && !n.ended && n.line.Runs() }

// Neighbours is to how many processes of this node data goes through shared memory; for tests.
func (l *Library) Neighbours() (count int) {
	for _, n := range l.neighbours {
		if n.state == joined {
			count++
		}
	}
	return count
}

// Process is the number that names this process's socket on the node, while an adapter is open.
func (l *Library) Process() [16]byte { return l.process }

// neighbourAt is the neighbour of that process for which is is true; nil: there is none.
func (l *Library) neighbourAt(process cm.PublicKey, is func(n *neighbour) bool) *neighbour {
	for _, n := range l.neighbours {
		if n.process == process && n.state != parted && is(n) {
			return n
		}
	}
	return nil
}

// accepted says whether data of an active connection can flow as soon as it is established: data to
// a process of this node waits for a link.
func (l *Library) accepted(c *cm.Conn) bool {
	theirs := readCard(&c.PeerCard)
	if !l.door || !theirs.door || c.PeerKey == l.machine.PublicKey() {
		return true
	}
	n := l.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.state != offered })
	known := l.peers[peerKey{c.PeerKey, c.Local}]
	switch {
	case n != nil && n.state == joined, n == nil && known != nil && known.elsewhere:
		return true
	case n == nil:
		if n = l.sayHello(theirs.process, c.PeerKey, c.Pair); n == nil {
			return true
		}
	}
	n.waiting = append(n.waiting, c)
	return false
}

// newNeighbour makes this side's end of a link, as task me; nil: there cannot be one.
func (l *Library) newNeighbour(me int, process cm.PublicKey, pair cm.Secret) *neighbour {
	if len(l.neighbours) >= neighboursMax {
		return nil
	}
	n := &neighbour{process: process, pair: pair}
	link, err := l.network.NodeLink(me, n.runs, func(transport.Endpoint, error) { l.part(n) })
	if err != nil {
		l.host.Message("data to a process of this node goes over UDP: " + err.Error())
		return nil
	}
	other := transport.Endpoint(1 - me)
	n.data = dataLink{link: link, node: n, made: other + 1, peers: make([]*peer, other+1)}
	n.data.peers[other] = &peer{library: l, key: peerKey{public: process}, data: &n.data,
		ep: other, remote: -1, pair: pair}
	l.attach(link)
	l.neighbours = append(l.neighbours, n)
	return n
}

// sayHello begins a link with a process that may be of this node, at the socket of that name; nil:
// it is not, or there cannot be one. Of another process that has the name there comes no proof.
func (l *Library) sayHello(name [16]byte, process cm.PublicKey, pair cm.Secret) *neighbour {
	line, err := l.network.Dial(name)
	if err != nil {
		return nil
	}
	n := l.newNeighbour(0, process, pair)
	if n == nil {
		line.Close()
		return nil
	}
	now := l.cfg.Clock()
	n.line, n.until, n.patience = line, now+meetTimeout, now+l.cfg.Timeout/2
	for n.number == 0 {
		n.number = uint32(l.random())
	}
	if !l.greet(n, wire.Hello) {
		l.part(n)
		return nil
	}
	return n
}

// greet sends this side's end of a neighbour's link, and its protection table if there is one.
func (l *Library) greet(n *neighbour, kind wire.Kind) bool {
	a := n.data.link.Address()
	g := greeting{from: l.machine.PublicKey(), to: n.process, address: a.Bytes}
	return n.line.Send(wire.Message{Kind: kind, Number: n.number,
		Data: g.seal(n.pair, kind, n.number), Files: l.withTable(n, kind, a.Files)})
}

// linkFiles is how many files the address of a link has.
const linkFiles = 2

// join connects this side's end to the peer's.
func (l *Library) join(n *neighbour, g *greeting, m *wire.Message) bool {
	p := n.peer()
	if len(m.Files) < linkFiles {
		return false
	}
	err := n.data.link.Connect(p.ep,
		transport.Address{Bytes: g.address, Files: m.Files[:linkFiles]})
	m.Files = m.Files[linkFiles:] // the link has taken the others over
	p.opened = err == nil
	return p.opened && l.mapTable(n, m)
}

// onLine takes a message that has come by a line.
func (l *Library) onLine(line Line, m *wire.Message) {
	g, ok := readGreeting(m.Data)
	var n *neighbour
	for _, o := range l.neighbours {
		if o.line == line {
			n = o
		}
	}
	switch {
	case ok && n == nil && m.Kind == wire.Hello:
		ok = l.onHello(line, m, &g)
	case ok && n != nil && n.state == meeting && m.Kind == wire.Welcome:
		ok = n.number == m.Number && g.from == n.process && g.proved(n.pair, l.machine.PublicKey(), m) &&
			l.join(n, &g, m)
		if ok {
			n.state = joined
			l.use(n)
			l.confirm(n)
		}
	case ok && n != nil && n.state != meeting && m.Kind == shareArea:
		ok = l.onArea(n, m, &g)
	default:
		ok = false
	}
	switch {
	case ok:
	case n != nil:
		l.part(n)
	default:
		line.Close()
	}
}

// onHello takes the link of a process that a connection was accepted from; false: it is none.
func (l *Library) onHello(line Line, m *wire.Message, g *greeting) bool {
	pair, ok := l.pairWith(g.from)
	if !ok || m.Number == 0 || !g.proved(pair, l.machine.PublicKey(), m) ||
		l.neighbourAt(g.from, func(n *neighbour) bool { return n.number == m.Number }) != nil {
		return false
	}
	n := l.newNeighbour(1, g.from, pair)
	if n == nil {
		return false
	}
	n.line, n.number, n.state = line, m.Number, offered
	if !l.join(n, g, m) || !l.greet(n, wire.Welcome) {
		l.part(n)
		return true // the line is the neighbour's
	}
	l.use(n)
	return true
}

// pairWith is the secret with a process that a connection was accepted from.
func (l *Library) pairWith(process cm.PublicKey) (s cm.Secret, ok bool) {
	for _, p := range l.peers {
		if p.key.public == process && p.data != nil {
			return p.pair, true
		}
	}
	return s, false
}

// use makes a link that stands one of the library's. A thread that sleeps has not armed it.
func (l *Library) use(n *neighbour) {
	l.links = append(l.links, &n.data)
	l.tellLinks()
	l.added = l.asleep
}

// confirm goes on with the connections that have waited for the outcome.
func (l *Library) confirm(n *neighbour) {
	list := n.waiting
	n.waiting = nil
	for _, c := range list {
		c.Proceed()
	}
}

// onLineEnd: the other process has ended, or does not want the link. What it has sent before comes
// first.
func (l *Library) onLineEnd(line Line) {
	for _, n := range l.neighbours {
		if n.line == line {
			n.ended = true
			if n.state == meeting {
				l.part(n)
			}
		}
	}
}

// part ends a neighbour's link: connections over it are broken, those that wait for it go over UDP.
// It is closed by reap, as the link may be at work.
func (l *Library) part(n *neighbour) {
	if n.state == parted {
		return
	}
	p := n.peer()
	before := n.state
	n.state = parted
	if before != meeting {
		how := l.engine.PeerFailed
		if left, ok := n.data.link.(leaver); ok && p.opened && left.HasLeft(p.ep) {
			how = l.engine.PeerLeft
		}
		how(n.data.link, p.ep)
		l.memberGone(p)
		n.data.link.Disconnect(p.ep, transport.ErrUnreachable)
	}
	for _, o := range l.peers { // their numbers, if the process was never reached by them
		if o.key.public == n.process && o.data != nil && !o.opened && before == joined {
			l.forget(o)
		}
	}
}

// visit is a part of Progress: what has become of the neighbours. n is how much has come by links.
func (l *Library) visit(now int64) {
	for _, n := range l.neighbours {
		late := n.state == meeting && now >= n.until
		if late && now < n.patience && n.runs() { // over UDP nobody could know that
			n.until, late = min(now+meetTimeout, n.patience), false
		}
		if n.ended && n.data.link.Progress(progressBatch) == 0 || late {
			l.part(n)
		}
	}
	for i := 0; i < len(l.neighbours); {
		n := l.neighbours[i]
		if n.state != parted {
			i++
			continue
		}
		l.neighbours = slices.Delete(l.neighbours, i, i+1)
		l.links = slices.DeleteFunc(l.links, func(d *dataLink) bool { return d == &n.data })
		l.tellLinks()
		n.line.Close()
		l.network.CloseLink(n.data.link)
		l.unmapTable(n)
		l.confirm(n)
	}
}

// nextVisit is when visit must run; 0: never.
func (l *Library) nextVisit() (next int64) {
	for _, n := range l.neighbours {
		switch {
		case n.state == parted || n.ended:
			return 1
		case n.state == meeting && (next == 0 || n.until < next):
			next = n.until
		}
	}
	return next
}

// greeting is what a message by a line holds: the public keys of the sender and the receiver, where
// the sender's end of the link is; and, behind it, what proves it.
type greeting struct {
	from, to cm.PublicKey
	address  []byte
	body     []byte // without the proof
	proof    []byte
}

const proofSize = 32

func (g *greeting) seal(pair cm.Secret, kind wire.Kind, number uint32) []byte {
	b := bytes.Join([][]byte{g.from[:], g.to[:], g.address}, nil)
	return append(b, proofOf(pair, kind, number, b)...)
}

func proofOf(pair cm.Secret, kind wire.Kind, number uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{byte(kind)}, number)
	return pair.Proof("lapi dat node", append(b, body...))
}

// readGreeting takes a message apart; false: it is none. It proves nothing.
func readGreeting(b []byte) (g greeting, ok bool) {
	n := len(b) - proofSize
	if n < len(g.from)+len(g.to) {
		return g, false
	}
	copy(g.from[:], b)
	copy(g.to[:], b[len(g.from):])
	g.address, g.body, g.proof = b[len(g.from)+len(g.to):n], b[:n], b[n:]
	return g, true
}

// proved says whether the greeting in m is from who shares pair, for process me.
func (g *greeting) proved(pair cm.Secret, me cm.PublicKey, m *wire.Message) bool {
	return g.to == me && hmac.Equal(g.proof, proofOf(pair, m.Kind, m.Number, g.body))
}
