package dat

import (
	"encoding/binary"
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/transport"
	"lapi/transport/udp"
)

// peersMax is how many processes one address of this one can be connected to.
const peersMax = 4096

// dataLink is the link for data at one address of this process, or to a neighbour.
type dataLink struct {
	link    transport.Link
	node    *neighbour // nil: the link is one of an address
	local   netip.Addr
	address netip.AddrPort
	used    int // connections
	opened  int // peers; of a link of an address, as that of a node has one
	peers   []*peer
	free    []transport.Endpoint
	made    transport.Endpoint
}

// peerKey finds a peer. Which process it is its public key alone says: a process number, a port or
// an address can be anybody's.
type peerKey struct {
	public cm.PublicKey
	local  netip.Addr
}

// peer is another process, or this one. It stays as long as both processes do, unless others need
// its place (reclaim).
type peer struct {
	library *Library
	key     peerKey
	data    *dataLink // nil: this process
	ep      transport.Endpoint
	remote  int // the number that it has given this process; -1: not known
	// of the number that this process has given the peer, and of the peer's: one that was given
	// anew, even to the same process, has another
	generation, remoteGeneration uint32
	pair                         cm.Secret
	conns                        int
	opened                       bool
	// members of groups that are reached there
	fellows []*fellow
	// data to the process does not go by shared memory: it is not of this node, or it cannot
	elsewhere bool
}

// card is what the two ends of a connection tell each other beside the consumer's private data.
type card struct {
	process [16]byte // the name of its sender's socket on the node; it identifies nobody
	port    uint16   // of the link for data
	number  uint16   // that the sender has given the receiver; noNumber: none yet
	conn    uint32
	tag     uint32
	reads   uint16 // reads and atomic operations that the sender lets be under way
	door    bool   // processes of the sender's node can share memory with it
	qpn     uint32 // of a UD endpoint
	node    uint32 // of the active side: the link of the node by which data goes; 0: none
	// of number
	generation uint32
}

const noNumber = 0xffff

func (c *card) bytes() (b [cm.CardSize]byte) {
	copy(b[:], c.process[:])
	le := binary.LittleEndian
	le.PutUint16(b[16:], c.port)
	le.PutUint16(b[18:], c.number)
	le.PutUint32(b[20:], c.conn)
	le.PutUint32(b[24:], c.tag)
	le.PutUint16(b[28:], c.reads)
	if c.door {
		b[30] = 1
	}
	le.PutUint32(b[32:], c.qpn)
	le.PutUint32(b[36:], c.node)
	le.PutUint32(b[40:], c.generation)
	return b
}

func readCard(b *[cm.CardSize]byte) (c card) {
	copy(c.process[:], b[:])
	le := binary.LittleEndian
	c.port, c.number = le.Uint16(b[16:]), le.Uint16(b[18:])
	c.conn, c.tag = le.Uint32(b[20:]), le.Uint32(b[24:])
	c.reads, c.door = le.Uint16(b[28:]), b[30] == 1
	c.qpn, c.node = le.Uint32(b[32:]), le.Uint32(b[36:])
	c.generation = le.Uint32(b[40:])
	return c
}

// dataLinkAt is the link at an address, made when it is first needed.
func (l *Library) dataLinkAt(local netip.Addr) (*dataLink, error) {
	for _, d := range l.links {
		if d.node == nil && d.local == local {
			return d, nil
		}
	}
	d := &dataLink{local: local, peers: make([]*peer, peersMax)}
	var err error
	d.link, d.address, err = l.network.Link(local, LinkConfig{Peers: peersMax,
		Pair: func(ep transport.Endpoint) (int, []byte) {
			p := d.peers[ep]
			return p.remote, p.pair.Derive("lapi dat session", 32)
		},
		Failed: func(ep transport.Endpoint, _ error) { l.peerFailed(d, ep) }})
	if err != nil {
		return nil, err
	}
	l.attach(d.link)
	l.ud.attach(d.link)
	l.links = append(l.links, d)
	l.host.Changed()
	return d, nil
}

// attach makes the library take the messages of a link to other processes.
func (l *Library) attach(link transport.Link) {
	l.engine.Attach(link)
	l.attachGroups(link)
	link.Handle(msgPing, func(*transport.Msg) transport.Verdict { return transport.Accept })
}

// msgPing asks for a sign of life.
const msgPing transport.MsgID = 20

// cardOf is what this process tells a peer. p is the peer, once it is known.
func (l *Library) cardOf(d *dataLink, p *peer) card {
	c := card{process: l.process, port: d.address.Port(), number: noNumber, door: l.door}
	switch {
	case p == nil || p.data == nil:
	case p.data.node != nil:
		c.node = p.data.node.number
	default:
		c.number, c.generation = uint16(p.ep), p.generation
	}
	return c
}

// cardOf is what e tells its peer.
func (e *EP) cardOf(d *dataLink, p *peer) [cm.CardSize]byte {
	c := e.ia.library.cardOf(d, p)
	c.reads = uint16(min(e.Attr.MaxReadsIn, MaxReads))
	c.conn, c.tag = e.conn.Name()
	if e.ud != nil {
		c.qpn = e.ud.qpn
	}
	return c.bytes()
}

// findPeer is the process at the other end of c, by the link d; a new one gets a number. That it has
// the key c.PeerKey is proved when c is established; c.Pair is the secret with whoever has it.
func (l *Library) findPeer(d *dataLink, c *cm.Conn) *peer {
	if c.PeerKey == l.machine.PublicKey() {
		return l.myself()
	}
	key := peerKey{c.PeerKey, d.local}
	p := l.peers[key]
	if p != nil {
		return p
	}
	if len(d.free) == 0 && d.made == peersMax {
		l.reclaim(d)
	}
	p = &peer{library: l, key: key, data: d, remote: -1, pair: c.Pair,
		generation: uint32(l.random())}
	switch n := len(d.free); {
	case n > 64 || n > 0 && d.made == peersMax:
		p.ep = d.free[0]
		d.free = d.free[1:]
	case d.made == peersMax:
		return nil
	default:
		p.ep = d.made
		d.made++
	}
	d.peers[p.ep] = p
	l.peers[key] = p
	return p
}

// peerOf is the process at the other end of a connection that is being established, as it is
// reached by the way that the active side has chosen; nil: it cannot be.
func (l *Library) peerOf(c *cm.Conn, d *dataLink, theirs *card) *peer {
	var n *neighbour
	switch {
	case c.Active:
		n = l.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.state == joined })
	case theirs.node != 0:
		n = l.neighbourAt(c.PeerKey, func(n *neighbour) bool { return n.number == theirs.node })
		if n == nil || n.state == meeting {
			return nil
		}
		n.state = joined
	}
	if n != nil {
		return n.peer()
	}
	p := l.findPeer(d, c)
	if p == nil || !p.reach(c.Peer.Addr(), theirs) {
		return nil
	}
	p.elsewhere = p.elsewhere || c.Active
	return p
}

// myself is this process as its own peer.
func (l *Library) myself() *peer {
	key := peerKey{public: l.machine.PublicKey()}
	p := l.peers[key]
	if p == nil {
		p = &peer{library: l, key: key, opened: l.self.Connect(0, l.self.Address()) == nil}
		l.peers[key] = p
	}
	return p
}

// reach makes data flow to a peer whose card has come; false: it cannot.
func (p *peer) reach(from netip.Addr, c *card) bool {
	if p.data == nil {
		return p.opened
	}
	if c.number == noNumber || int(c.number) >= peersMax {
		return false
	}
	if p.opened && p.remote == int(c.number) && p.remoteGeneration == c.generation {
		return true
	}
	if p.opened { // the peer had given this process up, or needed its number for others
		p.close()
	}
	p.remote, p.remoteGeneration = int(c.number), c.generation
	a := transport.Address{Bytes: udp.EncodeAddress(netip.AddrPortFrom(from, c.port))}
	if p.opened = p.data.link.Connect(p.ep, a) == nil; p.opened {
		p.data.opened++
	}
	return p.opened
}

// close ends data to a peer; its number stays.
func (p *peer) close() {
	l, link := p.library, p.data.link
	l.engine.PeerFailed(link, p.ep)
	l.memberGone(p)
	link.Disconnect(p.ep, transport.ErrUnreachable)
	if p.opened {
		p.opened = false
		p.data.opened--
	}
}

// link is by which link p is reached, and as whom.
func (p *peer) link(l *Library) (transport.Link, transport.Endpoint) {
	if p.data == nil {
		return l.self, 0
	}
	return p.data.link, p.ep
}

// join opens e's connection to the endpoint that a card names.
func (e *EP) join(p *peer, c *card) {
	link, ep := p.link(e.ia.library)
	e.peer = p
	p.use(1)
	e.conn.Open(link, ep, c.conn, c.tag, int(min(uint16(e.Attr.MaxReadsOut), c.reads)))
}

// leavePeer counts a connection out.
func (e *EP) leavePeer() {
	if e.conn == nil {
		return
	}
	e.closeEnd()
	if p := e.peer; p != nil {
		e.peer = nil
		p.use(-1)
	}
}

// use counts connections to p.
func (p *peer) use(n int) {
	p.conns += n
	if p.data != nil {
		p.data.used += n
	}
}

// peerFailed: a process is gone.
func (l *Library) peerFailed(d *dataLink, ep transport.Endpoint) {
	p := d.peers[ep]
	if p == nil {
		return
	}
	p.close()
	l.forget(p)
}

// reclaim makes room on a link all of whose numbers are given: to peers that have no connection, and
// that no attempt has named to the peer. So requests that come to nothing, and processes that end
// without a word when nothing connects them, keep nobody out.
func (l *Library) reclaim(d *dataLink) {
	named := map[transport.Endpoint]bool{}
	for c := range l.machine.All() {
		if own := readCard(&c.Card); c.Local == d.local && own.number != noNumber {
			named[transport.Endpoint(own.number)] = true
		}
	}
	for _, p := range d.peers[:d.made] {
		switch {
		case p == nil || p.conns > 0 || len(p.fellows) > 0 || named[p.ep]:
		case p.opened:
			l.peerFailed(d, p.ep)
		default:
			l.forget(p)
		}
	}
}

// forget gives the number of a peer back.
func (l *Library) forget(p *peer) {
	p.data.peers[p.ep] = nil
	p.data.free = append(p.data.free, p.ep)
	delete(l.peers, p.key)
}

// leaver is a link that knows whether a peer has closed its end in good order.
type leaver interface {
	HasLeft(ep transport.Endpoint) bool
}

// asks says whether the process at the other end of a link of the node is to be asked for a sign of
// life: one whose end nobody tells of, and one that owes something, which may have been stopped.
func (l *Library) asks(d *dataLink) bool {
	n := d.node
	return n.line == nil || !n.line.Watched() || len(n.peer().fellows) > 0 || l.engine.Owed(d.link) ||
		l.cfg.Lane != nil && l.cfg.Lane.SomeWaiting != 0
}

// tick looks for peers that have left, and now and then asks idle ones for a sign of life, so that
// one that has died is noticed.
func (l *Library) tick(now int64) {
	l.tickAt = now + tickPause
	l.ticks++
	late := now >= l.pingAt // of links of the node, for which ticks may be rare
	if late {
		l.pingAt = now + pingTicks*tickPause
	}
	for _, d := range l.links {
		left, _ := d.link.(leaver)
		for _, p := range d.peers[:d.made] {
			switch {
			case p == nil || !p.opened:
			case left != nil && left.HasLeft(p.ep) && d.node != nil:
				l.part(d.node)
			case left != nil && left.HasLeft(p.ep):
				l.engine.PeerLeft(d.link, p.ep)
				l.peerFailed(d, p.ep)
			case p.conns > 0 && (d.node == nil && l.ticks%pingTicks == 0 ||
				d.node != nil && late && l.asks(d)):
				op := &transport.Op{Done: func(*transport.Op, error) {}}
				_, _ = d.link.Send(p.ep, msgPing, nil, op)
			}
		}
	}
}
