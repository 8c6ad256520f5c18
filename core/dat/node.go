package dat

import (
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
// So the active side decides, when it has both ends, and sends its decision before the connection
// is established. If anything fails, or takes longer than meetTimeout, data goes over UDP. If both
// connect to each other at the same time there are two links; each connection uses the link named
// by its Ready.

const (
	// neighboursMax is the number of processes of its node to which a process has such links.
	neighboursMax = 64
	meetTimeout   = 2e9 // ns
)

type meetState uint8

const (
	meeting meetState = iota // Hello was sent
	offered                  // Welcome was sent
	joined                   // both ends are made
	parted                   // to be closed
)

// neighbourhood finds the other processes of this node, makes links to them, and chooses by which
// link a connection's data goes. Like all of the library it runs under its lock.
type neighbourhood struct {
	*peers
	clock   transport.Clock
	timeout int64     // ns after which a silent peer is gone
	name    [16]byte  // of this process's socket on the node
	door    bool      // that socket is open
	shared  *ownTable // the protection table that the processes share; nil: there is none
	list    []*neighbour
	own     [2]*neighbour // the two ends within this process; nil: there are none
	tried   bool          // making them was tried
	tickAt  int64
	ticks   int
	pingAt  int64 // on links of the node
}

// neighbour is another process of this node, and the link to it.
type neighbour struct {
	data    dataLink
	process cm.PublicKey
	number  uint32 // of the link, given by the sender of Hello
	pair    cm.Secret
	line    Line
	ended   bool // the line has ended
	state   meetState
	table   peerTable
	inside  bool       // it is this process
	waiting []*cm.Conn // connections that wait for the outcome
	until   int64      // meeting ends, unless the process is only slow
	// then it ends even if the process is only slow
	patience int64
}

// peer is the one peer of its link.
func (n *neighbour) peer() *peer { return n.data.peers[n.data.made-1] }

// newName makes a name for this process's socket.
func newName(random func() uint64) (name [16]byte) {
	for i := 0; i < len(name); i += 8 {
		binary.LittleEndian.PutUint64(name[i:], random())
	}
	return name
}

// openDoor lets other processes of the node share memory with this one, if that is allowed.
func (h *neighbourhood) openDoor() {
	err := h.network.Door(h.name)
	if h.door = err == nil; !h.door {
		h.host.Message("data to processes of this node goes over UDP: " + err.Error())
	}
}

// runs says whether the process lives: a live process that is silent, on a machine that is busy, is
// not given up.
func (n *neighbour) runs() bool {
	return n.inside || n.line != nil && !n.ended && n.line.Runs()
}

// joined counts the neighbours that data goes to through shared memory, without this process.
func (h *neighbourhood) joined() (count int) {
	for _, n := range h.list {
		if n.state == joined && !n.inside {
			count++
		}
	}
	return count
}

// mapped counts the neighbours whose protection tables are mapped here.
func (h *neighbourhood) mapped() (count int) {
	for _, n := range h.list {
		if n.table.bytes != nil && !n.inside {
			count++
		}
	}
	return count
}

// neighbourAt is the neighbour of that process for which is returns true; nil: there is none.
func (h *neighbourhood) neighbourAt(process cm.PublicKey, is func(n *neighbour) bool) *neighbour {
	for _, n := range h.list {
		if n.process == process && n.state != parted && is(n) {
			return n
		}
	}
	return nil
}

// accepted says whether data of an active connection can flow as soon as it is established: data to
// a process of this node waits for a link.
func (h *neighbourhood) accepted(c *cm.Conn) bool {
	theirs := readCard(&c.PeerCard)
	if !h.door || !theirs.door || c.PeerKey == h.machine.PublicKey() {
		return true
	}
	n := h.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.state != offered })
	known := h.known[peerKey{c.PeerKey, c.Local}]
	switch {
	case n != nil && n.state == joined, n == nil && known != nil && known.elsewhere:
		return true
	case n == nil:
		if n = h.sayHello(theirs.process, c.PeerKey, c.Pair); n == nil {
			return true
		}
	}
	n.waiting = append(n.waiting, c)
	return false
}

// newNeighbour makes this side's end of a link, as task me; nil: there cannot be one.
func (h *neighbourhood) newNeighbour(me int, process cm.PublicKey, pair cm.Secret) *neighbour {
	if len(h.list) >= neighboursMax {
		return nil
	}
	n := &neighbour{process: process, pair: pair}
	link, err := h.network.NodeLink(me, n.runs, func(transport.Endpoint, error) { h.part(n) })
	if err != nil {
		h.host.Message("data to a process of this node goes over UDP: " + err.Error())
		return nil
	}
	h.install(n, link, transport.Endpoint(1-me))
	return n
}

// install makes a link a neighbour's, which is the other endpoint of it.
func (h *neighbourhood) install(n *neighbour, link transport.Link, other transport.Endpoint) {
	n.data = dataLink{link: link, node: n, made: other + 1, peers: make([]*peer, other+1)}
	n.data.peers[other] = &peer{of: h.peers, key: peerKey{public: n.process}, data: &n.data,
		ep: other, remote: -1, pair: n.pair}
	h.users.attach(link, true)
	h.list = append(h.list, n)
}

// sayHello begins a link with a process that may be of this node, at the socket of that name; nil:
// it is not, or there cannot be one. Of another process that has the name there comes no proof.
func (h *neighbourhood) sayHello(name [16]byte, process cm.PublicKey, pair cm.Secret) *neighbour {
	line, err := h.network.Dial(name)
	if err != nil {
		return nil
	}
	n := h.newNeighbour(0, process, pair)
	if n == nil {
		line.Close()
		return nil
	}
	now := h.clock()
	n.line, n.until, n.patience = line, now+meetTimeout, now+h.timeout/2
	for n.number == 0 {
		n.number = uint32(h.random())
	}
	if !h.greet(n, wire.Hello) {
		h.part(n)
		return nil
	}
	return n
}

// greet sends this side's end of a neighbour's link, and its protection table if there is one.
func (h *neighbourhood) greet(n *neighbour, kind wire.Kind) bool {
	a := n.data.link.Address()
	g := greeting{from: h.machine.PublicKey(), to: n.process, address: a.Bytes}
	return n.line.Send(wire.Message{Kind: kind, Number: n.number,
		Data: g.seal(n.pair, kind, n.number), Files: h.withTable(n, kind, a.Files)})
}

// linkFiles is how many files the address of a link has.
const linkFiles = 2

// join connects this side's end to the peer's.
func (h *neighbourhood) join(n *neighbour, g *greeting, m *wire.Message) bool {
	p := n.peer()
	if len(m.Files) < linkFiles {
		return false
	}
	err := n.data.link.Connect(p.ep,
		transport.Address{Bytes: g.address, Files: m.Files[:linkFiles]})
	m.Files = m.Files[linkFiles:] // the link owns the others now
	p.opened = err == nil
	return p.opened && h.mapTable(n, m)
}

// onLine takes a message that has arrived on a line.
func (h *neighbourhood) onLine(line Line, m *wire.Message) {
	g, ok := readGreeting(m.Data)
	var n *neighbour
	for _, o := range h.list {
		if o.line == line {
			n = o
		}
	}
	switch {
	case ok && n == nil && m.Kind == wire.Hello:
		ok = h.onHello(line, m, &g)
	case ok && n != nil && n.state == meeting && m.Kind == wire.Welcome:
		ok = n.number == m.Number && g.from == n.process && g.proved(n.pair, h.machine.PublicKey(), m) &&
			h.join(n, &g, m)
		if ok {
			n.state = joined
			h.use(n)
			h.confirm(n)
		}
	case ok && n != nil && n.state != meeting && m.Kind == shareArea:
		ok = h.users.onArea(n, m, &g)
	default:
		ok = false
	}
	switch {
	case ok:
	case n != nil:
		h.part(n)
	default:
		line.Close()
	}
}

// onHello takes the link of a process whose connection was accepted; false: there is none.
func (h *neighbourhood) onHello(line Line, m *wire.Message, g *greeting) bool {
	pair, ok := h.pairWith(g.from)
	if !ok || m.Number == 0 || !g.proved(pair, h.machine.PublicKey(), m) ||
		h.neighbourAt(g.from, func(n *neighbour) bool { return n.number == m.Number }) != nil {
		return false
	}
	n := h.newNeighbour(1, g.from, pair)
	if n == nil {
		return false
	}
	n.line, n.number, n.state = line, m.Number, offered
	if !h.join(n, g, m) || !h.greet(n, wire.Welcome) {
		h.part(n)
		return true // the line is the neighbour's
	}
	h.use(n)
	return true
}

// pairWith is the secret with a process that a connection was accepted from.
func (h *neighbourhood) pairWith(process cm.PublicKey) (s cm.Secret, ok bool) {
	for _, p := range h.known {
		if p.key.public == process && p.data != nil {
			return p.pair, true
		}
	}
	return s, false
}

// use makes a complete link one of the library's. A thread that sleeps has not armed it.
func (h *neighbourhood) use(n *neighbour) {
	h.links = append(h.links, &n.data)
	h.users.linkAdded()
}

// confirm goes on with the connections that have waited for the outcome.
func (h *neighbourhood) confirm(n *neighbour) {
	list := n.waiting
	n.waiting = nil
	for _, c := range list {
		c.Proceed()
	}
}

// onLineEnd: the other process has ended, or does not want the link. Its earlier messages were
// delivered first.
func (h *neighbourhood) onLineEnd(line Line) {
	for _, n := range h.list {
		if n.line == line {
			n.ended = true
			if n.state == meeting {
				h.part(n)
			}
		}
	}
}

// part ends a neighbour's link: connections over it are broken, those that wait for it go over UDP.
// It is closed by reap, as the link may be at work.
func (h *neighbourhood) part(n *neighbour) {
	if n.state == parted {
		return
	}
	p := n.peer()
	before := n.state
	n.state = parted
	if before != meeting {
		left, ok := n.data.link.(leaver)
		p.gone(ok && p.opened && left.HasLeft(p.ep))
		n.data.link.Disconnect(p.ep, transport.ErrUnreachable)
	}
	for _, o := range h.known { // their numbers, if the process was never reached by them
		if o.key.public == n.process && o.data != nil && !o.opened && before == joined {
			h.forget(o)
		}
	}
}

// visit is a part of Progress: what has become of the neighbours. n is how much has come by links.
func (h *neighbourhood) visit(now int64) {
	for _, n := range h.list {
		late := n.state == meeting && now >= n.until
		if late && now < n.patience && n.runs() { // over UDP that could not be known
			n.until, late = min(now+meetTimeout, n.patience), false
		}
		if n.ended && n.data.link.Progress(progressBatch) == 0 || late {
			h.part(n)
		}
	}
	for i := 0; i < len(h.list); {
		n := h.list[i]
		if n.state != parted {
			i++
			continue
		}
		h.list = slices.Delete(h.list, i, i+1)
		h.links = slices.DeleteFunc(h.links, func(d *dataLink) bool { return d == &n.data })
		h.users.linkRemoved()
		if n.line != nil {
			n.line.Close()
		}
		h.network.CloseLink(n.data.link)
		h.unmapTable(n)
		h.confirm(n)
	}
}

// peerOf is the process at the other end of a connection that is being established, as it is
// reached by the way that the active side has chosen; nil: it cannot be. offload: this side would
// have C have the connection.
func (h *neighbourhood) peerOf(c *cm.Conn, d *dataLink, theirs *card, offload bool) *peer {
	var n *neighbour
	switch {
	case c.PeerKey == h.machine.PublicKey():
		if offload && theirs.offload {
			n = h.within(c.Active)
		}
	case c.Active:
		n = h.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.state == joined })
	case theirs.node != 0:
		n = h.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.number == theirs.node })
		if n == nil || n.state == meeting {
			return nil
		}
		n.state = joined
	}
	if n != nil {
		return n.peer()
	}
	p := h.findPeer(d, c)
	if p == nil || !p.reach(c.Peer.Addr(), theirs) {
		return nil
	}
	p.elsewhere = p.elsewhere || c.Active
	return p
}

// cardOf is the card of this process for a peer. p is the peer, once it is known.
func (h *neighbourhood) cardOf(d *dataLink, p *peer) card {
	c := card{process: h.name, port: d.address.Port(), number: noNumber, door: h.door}
	switch {
	case p == nil || p.data == nil:
	case p.data.node != nil:
		c.node = p.data.node.number
	default:
		c.number, c.generation = uint16(p.ep), p.generation
	}
	return c
}

// close closes the links of the node.
func (h *neighbourhood) close() {
	for _, n := range h.list {
		h.network.CloseLink(n.data.link)
		h.unmapTable(n)
	}
}
