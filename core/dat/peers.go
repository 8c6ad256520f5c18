package dat

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
	"lapi/transport"
	"lapi/transport/udp"
)

// peersMax is how many processes one address of this one can be connected to.
const peersMax = 4096

// dataLink is the link for data at one address of this process, or to a neighbour.
type dataLink struct {
	link    transport.Link
	node    *neighbour // nil: the link belongs to an address
	local   netip.Addr
	address netip.AddrPort
	used    int // connections
	opened  int // peers; of a link of an address, as that of a node has one
	peers   []*peer
	free    []transport.Endpoint
	made    transport.Endpoint
}

// peers are the processes that this one exchanges data with, itself too, and the links to them.
// Those of links of the node are here as well, but neighbourhood makes and ends them.
type peers struct {
	users   linkUsers
	network Network
	machine *cm.Machine
	self    transport.Link
	host    Host
	random  func() uint64
	links   []*dataLink
	known   map[peerKey]*peer // not those of links of the node
}

// linkUsers are the parts of the library above links and the processes at their other ends.
type linkUsers interface {
	// attach takes the messages of a link: of one of the node, node.
	attach(link transport.Link, node bool)
	// gone ends everything with a process: it has left, in good order or not.
	gone(p *peer, left bool)
	// owed says whether the process at the other end of a link of the node owes an answer.
	owed(link transport.Link) bool
	// linkAdded and linkRemoved: the links of the node have changed.
	linkAdded()
	linkRemoved()
	// onArea takes the message that passes a group's memory. False: it is none.
	onArea(n *neighbour, m *wire.Message, g *greeting) bool
}

// peerKey finds a peer. Which process it is its public key alone says: a process number, a port or
// an address can be anybody's.
type peerKey struct {
	public cm.PublicKey
	local  netip.Addr
}

// processUser is notified when the process that it uses is gone: a member of a group.
type processUser interface{ processGone(p *peer) }

// peer is another process, or this one. It stays as long as both processes do, unless others need
// its place (reclaim).
type peer struct {
	of     *peers
	key    peerKey
	data   *dataLink // nil: this process
	ep     transport.Endpoint
	remote int // the number that the peer gave this process; -1: not known
	// generations of the number that this process has given the peer, and of the peer's: a
	// number that is given again, even to the same process, has another generation
	generation, remoteGeneration uint32
	pair                         cm.Secret
	conns                        int
	opened                       bool
	members                      []processUser
	// data to the process does not go by shared memory: it is not of this node, or it cannot
	elsewhere bool
}

// card is the data that the two ends of a connection exchange beside the consumer's private data.
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
	offload    bool // the connection is C's on the node if the receiver says so, too
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
	if c.offload {
		b[31] = 1
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
	c.reads, c.door, c.offload = le.Uint16(b[28:]), b[30] == 1, b[31] == 1
	c.qpn, c.node = le.Uint32(b[32:]), le.Uint32(b[36:])
	c.generation = le.Uint32(b[40:])
	return c
}

// dataLinkAt is the link at an address, made when it is first needed.
func (ps *peers) dataLinkAt(local netip.Addr) (*dataLink, error) {
	for _, d := range ps.links {
		if d.node == nil && d.local == local {
			return d, nil
		}
	}
	d := &dataLink{local: local, peers: make([]*peer, peersMax)}
	var err error
	d.link, d.address, err = ps.network.Link(local, LinkConfig{Peers: peersMax,
		Pair: func(ep transport.Endpoint) (int, []byte) {
			p := d.peers[ep]
			return p.remote, p.pair.Derive("lapi dat session", 32)
		},
		Failed: func(ep transport.Endpoint, _ error) { ps.failed(d, ep) }})
	if err != nil {
		return nil, err
	}
	ps.users.attach(d.link, false)
	ps.links = append(ps.links, d)
	ps.host.Changed()
	return d, nil
}

// msgPing asks for a sign of life.
const msgPing transport.MsgID = 20

// findPeer is the process at the other end of c, by the link d; a new one gets a number. That it
// has the key c.PeerKey is proved when c is established; c.Pair is the secret with the owner of
// that key.
func (ps *peers) findPeer(d *dataLink, c *cm.Conn) *peer {
	if c.PeerKey == ps.machine.PublicKey() {
		return ps.myself()
	}
	key := peerKey{c.PeerKey, d.local}
	p := ps.known[key]
	if p != nil {
		return p
	}
	if len(d.free) == 0 && d.made == peersMax {
		ps.reclaim(d)
	}
	p = &peer{of: ps, key: key, data: d, remote: -1, pair: c.Pair,
		generation: uint32(ps.random())}
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
	ps.known[key] = p
	return p
}

// myself is this process as its own peer.
func (ps *peers) myself() *peer {
	key := peerKey{public: ps.machine.PublicKey()}
	p := ps.known[key]
	if p == nil {
		p = &peer{of: ps, key: key, opened: ps.self.Connect(0, ps.self.Address()) == nil}
		ps.known[key] = p
	}
	return p
}

// reach makes data flow to a peer whose card has arrived; false: it cannot.
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
	link := p.data.link
	p.gone(false)
	link.Disconnect(p.ep, transport.ErrUnreachable)
	if p.opened {
		p.opened = false
		p.data.opened--
	}
}

// gone ends everything with a process.
func (p *peer) gone(left bool) {
	p.of.users.gone(p, left)
	for _, m := range slices.Clone(p.members) {
		m.processGone(p)
	}
}

// link is the link by which p is reached, and its endpoint there.
func (p *peer) link() (transport.Link, transport.Endpoint) {
	if p.data == nil {
		return p.of.self, 0
	}
	return p.data.link, p.ep
}

// use counts connections to p.
func (p *peer) use(n int) {
	p.conns += n
	if p.data != nil {
		p.data.used += n
	}
}

// failed: a process is gone.
func (ps *peers) failed(d *dataLink, ep transport.Endpoint) {
	p := d.peers[ep]
	if p == nil {
		return
	}
	p.close()
	ps.forget(p)
}

// reclaim makes room on a link all of whose numbers are given: to peers that have no connection, and
// that no attempt has named to the peer. So requests that come to nothing, and processes that end
// without a word when nothing connects them, keep nobody out.
func (ps *peers) reclaim(d *dataLink) {
	named := map[transport.Endpoint]bool{}
	for c := range ps.machine.All() {
		if own := readCard(&c.Card); c.Local == d.local && own.number != noNumber {
			named[transport.Endpoint(own.number)] = true
		}
	}
	for _, p := range d.peers[:d.made] {
		switch {
		case p == nil || p.conns > 0 || len(p.members) > 0 || named[p.ep]:
		case p.opened:
			ps.failed(d, p.ep)
		default:
			ps.forget(p)
		}
	}
}

// forget releases the number of a peer.
func (ps *peers) forget(p *peer) {
	p.data.peers[p.ep] = nil
	p.data.free = append(p.data.free, p.ep)
	delete(ps.known, p.key)
}

// leaver is a link that knows whether a peer has closed its end in good order.
type leaver interface {
	HasLeft(ep transport.Endpoint) bool
}

// progressBatch is how many messages are received from a link at once.
const progressBatch = 64

// progress makes progress on all links.
func (ps *peers) progress() {
	for _, d := range ps.links {
		d.link.Progress(progressBatch)
	}
}

// push has all links send what they hold back.
func (ps *peers) push() {
	for _, d := range ps.links {
		if p, ok := d.link.(transport.Pusher); ok {
			p.Push()
		}
	}
}

// arm has all links wake a thread that sleeps. False: there is something to do.
func (ps *peers) arm() bool {
	for _, d := range ps.links {
		if w, ok := d.link.(transport.Waiter); ok && w.Arm() {
			return false
		}
	}
	return true
}

// disarm ends what arm began.
func (ps *peers) disarm() {
	for _, d := range ps.links {
		if w, ok := d.link.(transport.Waiter); ok {
			w.Disarm()
		}
	}
}

// flush has the peers acknowledge all sent messages; pending counts the peers that have not yet.
func (ps *peers) flush(pending *int) {
	for _, d := range ps.links {
		for _, p := range d.peers[:d.made] {
			if p == nil || !p.opened {
				continue
			}
			op := &transport.Op{Done: func(*transport.Op, error) { *pending-- }}
			status, err := d.link.Flush(p.ep, op)
			if err == nil && status == transport.Queued {
				*pending++
			}
		}
	}
}

// close closes the links to other nodes.
func (ps *peers) close() {
	for _, d := range ps.links {
		if d.node == nil {
			d.link.Close()
		}
	}
}
