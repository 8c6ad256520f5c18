package dat

import (
	"encoding/binary"

	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// Datagrams of an RDMA adapter go to a queue pair by an address handle. The RDMA connection manager
// tells the side that connects where the other's is. The other way a header in front of the private
// data tells it.

// datagramKey is the key of queue pairs for datagrams: that of the RDMA connection manager.
const datagramKey = 0x01234567

// Status of Unreachable where an answer has come for a request of datagrams, as InfiniBand numbers
// them.
const (
	datagramNobody   = 1
	datagramRejected = 2
)

// datagramEnd is where a queue pair for datagrams is.
type datagramEnd struct {
	qpn uint32
	lid uint16
	gid [16]byte
}

const (
	datagramEndSize = 28
	datagramMagic   = 0x4c445544 // "LDUD", big-endian
)

func (d datagramEnd) bytes() []byte {
	b := make([]byte, datagramEndSize)
	binary.BigEndian.PutUint32(b, datagramMagic)
	binary.BigEndian.PutUint32(b[4:], d.qpn)
	binary.BigEndian.PutUint16(b[8:], d.lid)
	copy(b[12:], d.gid[:])
	return b
}

// read reads one; false: it is something else.
func (d *datagramEnd) read(b []byte) bool {
	if len(b) < datagramEndSize || binary.BigEndian.Uint32(b) != datagramMagic {
		return false
	}
	d.qpn, d.lid = binary.BigEndian.Uint32(b[4:])&0xffffff, binary.BigEndian.Uint16(b[8:])
	copy(d.gid[:], b[12:])
	return true
}

func (k *device) datagramEnd(e *EP) datagramEnd {
	return datagramEnd{qpn: e.way.(*pair).number, lid: k.info.LID, gid: k.info.GID}
}

// onDatagramEnd: the peer has accepted, and its queue pair is known.
func (c *call) onDatagramEnd(ep *EP, e *adapter.Event) {
	ep.dropAttempt(c)
	private := append([]byte(nil), e.Private...)
	to := datagramEnd{qpn: e.QPN, lid: e.LID, gid: e.GID}
	c.owner = nil
	c.free()
	c.tell(ep, to, e.QKey, private)
}

// acceptDatagrams accepts a request for datagrams: with the answer both sides know enough.
func (c *call) acceptDatagrams(e *EP, private []byte) error {
	err := c.k.d.Accept(c.id, c.terms(e, private))
	c.owner = nil
	c.free()
	if err != nil {
		e.failedUD(c, false, nil)
	} else {
		c.tell(e, c.from, datagramKey, nil)
	}
	return nil
}

// tell tells the endpoint of an address handle.
func (c *call) tell(e *EP, to datagramEnd, qkey uint32, private []byte) {
	k := c.k
	path, err := k.d.NewPath(e.PZ.zone, to.gid, to.lid)
	if err != nil {
		e.failedUD(c, false, nil)
		return
	}
	if !e.tellAH(&AH{path: path, QPN: to.qpn, qkey: qkey}, c, c.active, c.peer, private) {
		k.d.FreePath(path)
	}
}

func (k *device) postDatagram(d *datagram, ah *AH, qpn uint32, triplets []Triplet,
	_ []rc.Segment) codes.Return {
	q := d.e.way.(*pair)
	at := q.sent + uint32(len(q.requests))
	w := &adapter.Work{ID: requestID(q.serial, at), Op: adapter.OpDatagram,
		Solicited: d.flags&Solicited != 0, Segments: k.segments(&posted{triplets: triplets}),
		Inline: int(d.n) <= k.info.MaxInline, Path: ah.path, QPN: qpn, QKey: ah.qkey}
	if q.qp == 0 || k.d.Post(q.qp, w) != nil {
		return codes.InsufficientResources.With(codes.ResourceTEP)
	}
	q.requests = append(q.requests, request{&rc.Request{Owner: d}, false})
	return codes.Success
}
