package dat

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
)

// serviceGroup is the service of the connections between members of a group.
const serviceGroup = 2

// Member is what dat_collective_create_member makes: a qualifier that only members of groups
// connect to.
type Member struct {
	ia       *IA
	listener *cm.Listener
	blob     memoryBlock
}

// openGroups has the adapter take members of groups.
func (ia *IA) openGroups() codes.Return {
	if ia.query {
		return codes.BadHandle(codes.InvalidHandleIA)
	}
	if err := ia.library.openSockets(); err != nil {
		ia.library.host.Message("a group's member: " + err.Error())
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	return codes.Success
}

// groupService takes the requests of members of groups. It implements cm.Service.
type groupService struct{ groups *groupTable }

func (s groupService) Requested(c *cm.Conn, private []byte) { s.groups.requested(c, private) }

// meetingPoint is a qualifier at which members of groups connect to service points of adapters, one for
// each adapter.
type meetingPoint struct {
	*cm.Listener
	points int
}

// meet has members of groups connect to the adapter's service point; false: something else listens
// at the qualifier.
func (ia *IA) meet(qualifier uint64) bool {
	l := ia.library
	m := l.groups.meetings[qualifier]
	if m == nil {
		ln, r := ia.listen(qualifier, groupService{&l.groups}, nil)
		if r != codes.Success {
			return false
		}
		if l.groups.meetings == nil {
			l.groups.meetings = map[uint64]*meetingPoint{}
		}
		m = &meetingPoint{Listener: ln}
		l.groups.meetings[qualifier] = m
	} else if l.network.Listen(PortOf(qualifier), ia.Addr) != nil {
		return false
	}
	m.points++
	return true
}

// unmeet ends what meet began.
func (ia *IA) unmeet(qualifier uint64) {
	l := ia.library
	m := l.groups.meetings[qualifier]
	if m.points--; m.points == 0 {
		delete(l.groups.meetings, qualifier)
		ia.unlisten(m.Listener)
		return
	}
	l.network.Unlisten(PortOf(qualifier))
}

// openMeeting has members of groups connect at a service point of this process.
func (l *Library) openMeeting(qualifier uint64) {
	for _, ia := range l.ias {
		for _, o := range ia.objects {
			switch p := o.(type) {
			case *PSP:
				if p.Qualifier == qualifier {
					p.listener.openMeeting()
				}
			case *RSP:
				if p.Qualifier == qualifier {
					p.listener.openMeeting()
				}
			}
		}
	}
}

// qualifierTries is how many random qualifiers are tried before the call fails.
const qualifierTries = 1000

// NewMember is dat_collective_create_member. address is where the member's blob is.
func (ia *IA) NewMember() (address uint64, size int, r codes.Return) {
	l := ia.library
	if r = ia.openGroups(); r != codes.Success {
		return 0, 0, r
	}
	m := &Member{ia: ia}
	for try := 0; m.listener == nil; try++ {
		q := l.cfg.Random() | 1<<63 // programs choose small ones
		if m.listener, r = ia.listen(q, groupService{&l.groups}, nil); r != codes.Success && try == qualifierTries {
			return 0, 0, codes.InsufficientResources.With(codes.NoSubtype)
		}
	}
	b := coll.Blob{Address: ia.Addr, Qualifier: m.listener.Qualifier,
		Key: l.machine.PublicKey()}
	bytes := b.Bytes()
	if address, r = m.blob.keep(ia, bytes[:]); r != codes.Success {
		ia.unlisten(m.listener)
		return 0, 0, r
	}
	ia.members = append(ia.members, m)
	return address, len(bytes), codes.Success
}

// FreeMember is dat_collective_free_member. Groups that were made stay.
func (ia *IA) FreeMember(address uint64) codes.Return {
	for _, m := range ia.members {
		if blockAddress(&m.blob) == address {
			m.free()
			return codes.Success
		}
	}
	return codes.Arg(2)
}

func (m *Member) free() {
	ia := m.ia
	ia.unlisten(m.listener)
	m.blob.release()
	ia.members = slices.DeleteFunc(ia.members, func(o *Member) bool { return o == m })
}

// MemberAddress is where a member of a group is: the qualifier of a service point, or a blob's.
type MemberAddress struct {
	Addr      netip.Addr
	Qualifier uint64
	Blob      *coll.Blob // nil: a service point's
}

// MemberOf is the address that a blob has; false: it is damaged.
func MemberOf(blob []byte) (a MemberAddress, ok bool) {
	b, ok := coll.ReadBlob(blob)
	return MemberAddress{Addr: b.Address, Qualifier: b.Qualifier, Blob: &b}, ok
}

// groupMember is a member of a group, and the way to it.
type groupMember struct {
	c       *Collective
	rank    int
	address MemberAddress
	attempt *cm.Conn
	asked   *cm.Conn // whether its process is there, or which it is
	// of a service point: the key of the process that listens there, once that has answered
	key   cm.PublicKey
	known bool
	peer  *peer // once it is connected
	conn  uint32
	tag   uint32 // how it knows its group
	gone  bool
}

// joinSize is the size of the private data of a connection between members: magic, the group's id
// and size, ranks of the sender and the receiver, 32 bits each.
const joinSize = 20

// joinMagic begins it.
const joinMagic = 0x4c4c4f43 // "COLL"

// requestTimeouts times its own timeout a process keeps a request that no group waits for: the
// requester may have a longer timeout, and may have gone without notice.
const requestTimeouts = 4

// requestsMax is how many requests that no group waits for are kept. Beyond it the oldest is
// dropped: its sender asks again, and is accepted at once when the group is there.
const requestsMax = 256

// joinRequest is a request of a member that no group waits for yet.
type joinRequest struct {
	cm.FailureOnly
	groups    *groupTable // in which it waits
	attempt   *cm.Conn
	id, size  uint32
	from, to  int
	qualifier uint64
	until     int64 // then it is rejected
}

// readJoin reads the private data of a request; nil: it is none.
func readJoin(c *cm.Conn, b []byte) *joinRequest {
	le := binary.LittleEndian
	if len(b) != joinSize || le.Uint32(b) != joinMagic || c.Service != serviceGroup {
		return nil
	}
	q := &joinRequest{attempt: c, id: le.Uint32(b[4:]), size: le.Uint32(b[8:]),
		from: int(le.Uint32(b[12:])), to: int(le.Uint32(b[16:])), qualifier: c.Qualifier}
	if q.from >= int(q.size) || q.to >= q.from || q.size > GroupMax {
		return nil
	}
	return q
}

// isFor says whether c waits for the member that the request claims to be of.
func (q *joinRequest) isFor(c *Collective) bool {
	return !c.over && !c.made && c.id == q.id && c.qualifier == q.qualifier &&
		c.group.Size == int(q.size) && c.group.Self == q.to && c.members[q.from].peer == nil
}

// admit accepts a request of the right process; false: it has to wait. A request says by itself
// only which member it claims to be of. So a service point is asked first which process listens
// there; a blob has the key.
func (c *Collective) admit(q *joinRequest) bool {
	if !q.isFor(c) {
		return false
	}
	f := c.members[q.from]
	switch {
	case f.address.Blob == nil && !f.known:
		f.ask()
		return false
	case !f.mayBe(q.attempt):
		return false
	}
	f.accept(q.attempt)
	return true
}

// admitAll admits the requests that wait.
func (c *Collective) admitAll() {
	l := c.ia.library
	for _, q := range slices.Clone(l.groups.requests) {
		if c.admit(q) { // false for a group that has failed
			l.groups.forget(q)
		}
	}
}

// mayBe says whether the process at the other end is the member: that of its blob, or the process
// that listens at its service point, to which an active connection was made.
func (f *groupMember) mayBe(c *cm.Conn) bool {
	if f.address.Blob != nil {
		return f.address.Blob.Key == c.PeerKey
	}
	return c.Active || f.known && f.key == c.PeerKey
}

// requested takes the request of a member.
func (g *groupTable) requested(c *cm.Conn, private []byte) {
	q := readJoin(c, private)
	if q == nil {
		_ = c.Reject(g.cfg.Clock(), nil)
		return
	}
	for _, o := range g.list {
		if o != nil && o.admit(q) {
			return
		}
	}
	c.Owner, q.groups, q.until = q, g, g.cfg.Clock()+requestTimeouts*g.cfg.Timeout
	c.Keep()
	if len(g.requests) == requestsMax {
		o := g.requests[0]
		g.forget(o)
		o.attempt.Owner = nil
		o.attempt.Drop()
	}
	g.requests = append(g.requests, q)
}

// Failed implements cm.Owner: the request has given up.
func (q *joinRequest) Failed(*cm.Conn, cm.Reason, []byte) { q.groups.forget(q) }

// forget: a request has given up, or is taken.
func (g *groupTable) forget(q *joinRequest) {
	g.requests = slices.DeleteFunc(g.requests, func(o *joinRequest) bool { return o == q })
}

// dial connects to a member of lower rank.
func (f *groupMember) dial() {
	l := f.c.ia.library
	b := make([]byte, joinSize)
	for i, v := range []int{joinMagic, int(f.c.id), f.c.group.Size, f.c.group.Self, f.rank} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	}
	left := f.c.until - l.cfg.Clock()
	if left <= 0 {
		f.c.fail()
		return
	}
	c, _, r := l.dial(f, f.address.Addr, f.address.Qualifier, serviceGroup, left, b, nil)
	if r != codes.Success {
		f.c.fail()
		return
	}
	c.Known = f.address.Blob != nil // it was made before the blob
	f.attempt = c
}

// accept takes the request of a member of higher rank. A newer one replaces an older one.
func (f *groupMember) accept(c *cm.Conn) {
	l := f.c.ia.library
	d, err := l.peers.dataLinkAt(c.Local)
	var p *peer
	if err == nil {
		p = l.peers.findPeer(d, c)
	}
	if p == nil {
		_ = c.Reject(l.cfg.Clock(), nil)
		f.c.fail()
		return
	}
	if f.attempt != nil {
		f.attempt.Owner = nil
		f.attempt.Close(l.cfg.Clock())
	}
	c.Card, c.Owner, f.attempt = f.cardOf(d, p), f, c
	if c.Accept(l.cfg.Clock(), nil) != nil {
		f.attempt = nil
	}
}

// cardOf implements caller.
func (f *groupMember) cardOf(d *dataLink, p *peer) [cm.CardSize]byte {
	c := f.c.ia.library.node.cardOf(d, p)
	c.conn, c.tag = f.c.index, f.c.tag
	return c.bytes()
}

// Accepted implements cm.Owner.
func (f *groupMember) Accepted(c *cm.Conn) bool { return f.c.ia.library.node.accepted(c) }

// Established implements cm.Owner.
func (f *groupMember) Established(c *cm.Conn, _ []byte) {
	l := f.c.ia.library
	theirs := readCard(&c.PeerCard)
	d, err := l.peers.dataLinkAt(c.Local)
	var p *peer
	if err == nil && f.mayBe(c) {
		p = l.node.peerOf(c, d, &theirs, false)
	}
	if p == nil || f.c.over || f.peer != nil {
		f.c.fail()
		return
	}
	if c.Active {
		c.Card = f.cardOf(d, p) // Ready carries it
	}
	f.meet(p)
	f.conn, f.tag = theirs.conn, theirs.tag
	f.c.group.Join(f.rank, f.conn, f.tag)
	f.c.missing--
	f.c.connected()
}

// meet and part connect a member to its process.
func (f *groupMember) meet(p *peer) {
	f.peer = p
	p.members = append(p.members, f)
	p.use(1)
}

func (f *groupMember) part() {
	p := f.peer
	p.members = slices.DeleteFunc(p.members, func(o processUser) bool { return o == f })
	p.use(-1)
	f.peer = nil
}

// Failed implements cm.Owner. An attempt that may still succeed is repeated.
func (f *groupMember) Failed(_ *cm.Conn, why cm.Reason, _ []byte) {
	f.attempt = nil
	switch {
	case f.c.over || f.peer != nil:
	case f.rank > f.c.group.Self: // the member will request again
	case why == cm.NobodyThere && f.address.Blob == nil: // it may be about to listen
		f.dial()
	default:
		f.c.fail()
	}
}

// stop ends the attempt to connect.
func (f *groupMember) stop() {
	now := f.c.ia.library.cfg.Clock()
	if f.asked != nil {
		f.asked.Owner = nil
		f.asked.Close(now)
		f.asked = nil
	}
	if f.attempt != nil {
		f.attempt.Owner = nil
		f.attempt.Confirm()
		f.attempt.Close(now)
		f.attempt = nil
	}
}
