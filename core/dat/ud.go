package dat

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/memory"
)

// A UD endpoint sends datagrams to any endpoint that it has an address handle of, which it gets by
// connecting, any number of times. Datagrams are not repeated where no receive waits for them.

// msgDatagram is a datagram between two processes.
const msgDatagram transport.MsgID = 21

// Sizes of datagrams, bytes. The header is the numbers of the receiver and the sender, 32 bits
// each, and Solicited or 0, as long; the rest is 0.
const (
	datagramHeader = 16
	grhSize        = 40 // in front of the data, in each receive: a header that adapters write there
	// MaxDatagram is the longest message of a UD endpoint.
	MaxDatagram = 1024
)

// datagramEnds are the UD endpoints of adapters whose data goes over links, by their numbers.
type datagramEnds map[uint32]*EP

// udState is the state of a UD endpoint, in place of a connection.
type udState struct {
	e        *EP
	qpn      uint32 // its number, by which peers name it
	receives []*rc.Receive
	attempts []attempt
	asked    map[attempt][]byte // requests that were accepted: their private data
	waiting  []*datagram        // datagrams that the link had no room for
}

// AH is an address handle.
type AH struct {
	base
	peer   *peer
	remote netip.Addr
	QPN    uint32
	path   *device.Path // on an RDMA adapter, which has no peer
	// memory that the event points to: an endpoint may have many
	private memoryBlock
}

// datagram is a datagram to send.
type datagram struct {
	e      *EP
	p      *peer
	header [datagramHeader]byte
	data   []byte
	cookie uint64
	flags  CompletionFlags
	n      uint32
}

// add gives an endpoint a number.
func (t datagramEnds) add(e *EP, random func() uint64) {
	q := uint32(random())&0xffffff | 1
	for t[q] != nil {
		q = uint32(random())&0xffffff | 1
	}
	t[q] = e
	e.ud = newUD(e, q)
}

func newUD(e *EP, qpn uint32) *udState {
	return &udState{e: e, qpn: qpn, asked: map[attempt][]byte{}}
}

// close ends the attempts, and everything posted.
func (u *udState) close() {
	e := u.e
	for _, c := range slices.Clone(u.attempts) {
		c.Confirm()
		c.Close(e.now())
	}
	for c := range u.asked { // accepted, and the peer may not know it yet
		c.Close(e.now())
	}
	if e.conn != nil {
		delete(e.ia.library.ud, u.qpn)
	}
	for _, r := range u.receives {
		r.Status = rc.Flushed
		u.received(r)
	}
	for _, d := range u.waiting {
		u.sent(d, rc.Flushed)
	}
	u.receives, u.waiting, u.attempts, u.asked = nil, nil, nil, nil
}

// established: an attempt over links has found the peer.
func (u *udState) established(c *cm.Conn, private []byte) {
	e, l := u.e, u.e.ia.library
	theirs := readCard(&c.PeerCard)
	d, err := l.peers.dataLinkAt(c.Local)
	var p *peer
	if err == nil {
		p = l.peers.findPeer(d, c)
	}
	if p == nil || !p.reach(c.Peer.Addr(), &theirs) {
		u.failed(c, false, nil)
		return
	}
	if c.Active {
		c.Card = e.cardOf(d, p)
	}
	if u.reached(&AH{peer: p, QPN: theirs.qpn}, c, c.Active, c.Peer, private) {
		p.conns++
	}
	if !c.Active { // there is nothing more to report of it
		c.Linger(l.cfg.Clock())
	}
}

// reached reports the address handle of an attempt; false: there is none.
func (u *udState) reached(ah *AH, c attempt, active bool, peer netip.AddrPort, private []byte) bool {
	e := u.e
	if !e.ia.add(kindAH, ah) {
		u.failed(c, false, nil)
		return false
	}
	ah.remote = peer.Addr()
	e.ia.count(iaCMAHResolved)
	kind := uint32(extUDRemoteAH)
	if !active {
		kind = extUDPassiveAH
		private = u.asked[c] // programs look there for the owner of the address handle
		delete(u.asked, c)
	}
	address := uint64(0)
	if len(private) > 0 {
		address, _ = ah.private.keep(e.ia, private)
	}
	ev := connectionEvent(EventUDEstablished, e.handle, len(private), address)
	ev.extend(kind, 0, 0)
	le := binary.LittleEndian
	le.PutUint64(ev.Extension[16:], uint64(ah.handle))
	le.PutUint32(ev.Extension[24:], ah.QPN)
	copy(ev.Extension[28:], sockaddr(peer))
	le.PutUint64(ev.Extension[56:], c.Number())
	e.ConnectE.post(&ev)
	return true
}

// failed: an attempt is over, or its address handle cannot be used.
func (u *udState) failed(c attempt, rejected bool, private []byte) {
	e := u.e
	u.drop(c)
	c.Close(e.now())
	delete(u.asked, c)
	number, kind := EventUDError, uint32(extUDError)
	if rejected {
		number, kind = EventUDReject, extUDReject
	}
	address := uint64(0)
	if len(private) > 0 {
		address, _ = e.private.keep(e.ia, private)
	}
	ev := connectionEvent(number, e.handle, len(private), address)
	ev.extend(kind, uint8(rc.Transport), 0)
	e.ConnectE.post(&ev)
}

// drop forgets an attempt.
func (u *udState) drop(c attempt) {
	u.attempts = slices.DeleteFunc(u.attempts, func(o attempt) bool { return o == c })
}

// FreeUDConnection is dat_ib_ud_cm_free: the connection manager forgets the attempt that an event's
// context names.
func (e *EP) FreeUDConnection(number uint64) codes.Return {
	if e.ud != nil {
		for _, c := range e.ud.attempts {
			if c.Number() == number {
				c.Confirm()
				c.Close(e.now())
				e.ud.drop(c)
				return codes.Success
			}
		}
	}
	return codes.Success // an accepted attempt, which the library has forgotten by itself
}

// FreeAH is dat_ib_ud_ah_free.
func (e *EP) FreeAH(h Handle) codes.Return {
	ah, r := findIn[*AH](e.ia, h, codes.NoSubtype, false)
	if r != codes.Success {
		return codes.Arg(2)
	}
	ah.release()
	return codes.Success
}

func (a *AH) release() {
	a.private.release()
	if a.path != nil {
		a.path.Close()
	} else {
		a.peer.conns--
	}
	a.ia.remove(a)
}

// discard implements Object.
func (a *AH) discard() { a.release() }

// PostUD is dat_ib_post_send_ud.
func (e *EP) PostUD(triplets []Triplet, to Handle, qpn uint32, cookie uint64,
	flags CompletionFlags) codes.Return {
	ah, r := findIn[*AH](e.ia, to, codes.NoSubtype, false)
	requests, _ := e.outstanding()
	switch {
	case e.ud == nil:
		return codes.InvalidState.With(codes.NoSubtype)
	case r != codes.Success:
		return codes.Arg(4)
	case e.Request == nil:
		return codes.InvalidState.With(codes.InvalidStateEPEVDRequest)
	case int32(requests) >= e.Attr.MaxRequest:
		return codes.InsufficientResources.With(codes.ResourceTEP)
	case int32(len(triplets)) > e.Attr.MaxRequestIOV:
		return codes.Arg(2)
	}
	segments, ok := e.ia.local(&posted{triplets: triplets, pz: e.PZ})
	n := uint32(0)
	for _, s := range segments {
		n += s.N
	}
	switch {
	case !ok:
		return codes.ProtectionViolation.With(codes.ProtectionRead)
	case int(n) > e.ia.limits.Datagram:
		return codes.LengthError.With(codes.NoSubtype)
	}
	d := &datagram{e: e, p: ah.peer, cookie: cookie, flags: flags, n: n}
	if w, ok := e.way.(deviceWay); ok { // C counts
		return w.postDatagram(d, ah, qpn, triplets, nil)
	}
	e.c.Requests++
	if r = e.way.postDatagram(d, ah, qpn, triplets, segments); r != codes.Success {
		e.c.Requests--
		return r
	}
	e.counters[epPostSendUD]++
	e.counters[epPostSendUD+1] += uint64(n)
	return codes.Success
}

func (w datagrams) postDatagram(d *datagram, _ *AH, qpn uint32, _ []Triplet,
	segments []rc.Segment) codes.Return {
	if !d.gather(segments) {
		return codes.ProtectionViolation.With(codes.ProtectionRead)
	}
	e := d.e
	binary.LittleEndian.PutUint32(d.header[0:], qpn)
	binary.LittleEndian.PutUint32(d.header[4:], e.ud.qpn)
	binary.LittleEndian.PutUint32(d.header[8:], uint32(d.flags&Solicited))
	if len(e.ud.waiting) > 0 || !d.send() {
		e.ud.waiting = append(e.ud.waiting, d)
	}
	return codes.Success
}

// gather copies the data; false: it cannot be read.
func (d *datagram) gather(segments []rc.Segment) bool {
	if d.n == 0 {
		return true
	}
	b, err := d.e.ia.library.memory.Get(int(d.n))
	if err != nil {
		return false
	}
	d.data = b
	at := 0
	for _, s := range segments {
		if memory.CopyOut(b[at:at+int(s.N)], s.Addr) != nil {
			d.release()
			return false
		}
		at += int(s.N)
	}
	return true
}

func (d *datagram) release() {
	if d.data != nil {
		d.e.ia.library.memory.Put(d.data)
		d.data = nil
	}
}

// send gives the datagram to the link; false: there is no room.
func (d *datagram) send() bool {
	link, ep := d.p.link()
	op := &transport.Op{N: uint64(d.n), Done: func(*transport.Op, error) { d.release() }}
	if d.n > 0 {
		op.Local = memory.AddrOf(d.data)
	}
	status, err := link.Send(ep, msgDatagram, d.header[:], op)
	if errors.Is(err, transport.ErrBusy) {
		return false
	}
	if err != nil || status == transport.Done {
		d.release()
	}
	d.e.ud.sent(d, rc.Success)
	return true
}

// sent reports a datagram: it is complete when the library has it.
func (u *udState) sent(d *datagram, status rc.Status) {
	e := u.e
	e.c.Requests--
	if status != rc.Success {
		d.release()
	}
	if status == rc.Success && d.flags&Suppress != 0 {
		return
	}
	ev := dtoEvent(EventExtendedDTO, e.handle, d.cookie, uint8(status), d.n, dtoSendUD, 0)
	ev.extend(extUDSend, uint8(status), 0)
	e.Request.post(&ev)
}

// sendWaiting sends datagrams that have waited for room; false: some still do.
func (t datagramEnds) sendWaiting() bool {
	for _, e := range t {
		for len(e.ud.waiting) > 0 {
			if !e.ud.waiting[0].send() {
				return false
			}
			e.ud.waiting = slices.Delete(e.ud.waiting, 0, 1)
		}
	}
	return true
}

// attach takes the datagrams of a link.
func (t datagramEnds) attach(link transport.Link) {
	link.Handle(msgDatagram, func(m *transport.Msg) transport.Verdict {
		t.onDatagram(m)
		return transport.Accept
	})
}

// onDatagram takes a datagram. Without an endpoint or a receive for it, it is dropped.
func (t datagramEnds) onDatagram(m *transport.Msg) {
	if len(m.Hdr) != datagramHeader || len(m.Data) > MaxDatagram {
		return
	}
	e := t[binary.LittleEndian.Uint32(m.Hdr)]
	if e == nil {
		return
	}
	r := e.ud.next()
	if r == nil {
		return
	}
	var grh [grhSize]byte
	switch n := uint64(grhSize + len(m.Data)); {
	case !r.Owner.Usable():
		r.Status = rc.LocalProtection
	case n > r.Room():
		r.Status = rc.LocalLength
	case r.Place(0, grh[:]) != nil || r.Place(grhSize, m.Data) != nil:
		r.Status = rc.LocalProtection
	default:
		r.N = uint32(n)
		r.Solicited = binary.LittleEndian.Uint32(m.Hdr[8:]) == uint32(Solicited)
	}
	e.ud.received(r)
}

// next takes the receive of the next datagram; nil: none is posted.
func (u *udState) next() *rc.Receive {
	if u.e.SRQ != nil {
		return u.e.SRQ.queue.Take()
	}
	if len(u.receives) == 0 {
		return nil
	}
	r := u.receives[0]
	u.receives = slices.Delete(u.receives, 0, 1)
	return r
}

// received reports a receive.
func (u *udState) received(r *rc.Receive) {
	e := u.e
	p := r.Owner.(*posted)
	e.countOut(p)
	ev := dtoEvent(EventExtendedDTO, e.handle, p.cookie, uint8(r.Status), r.N, dtoReceiveUD, 0)
	ev.extend(extUDReceive, uint8(r.Status), 0)
	if r.Status == rc.Success {
		e.countData(epRecvUD, r.N)
	}
	e.tellReceive(&ev, r)
}
