package device

import (
	"encoding/binary"

	"lapi/core/dat/codes"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// Datagrams go to a queue pair by a path. The RDMA connection manager gives the side that connects
// the place of the other's. The other way a header in front of the private data gives it.

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

// read reads a header; false: it is something else.
func (d *datagramEnd) read(b []byte) bool {
	if len(b) < datagramEndSize || binary.BigEndian.Uint32(b) != datagramMagic {
		return false
	}
	d.qpn, d.lid = binary.BigEndian.Uint32(b[4:])&0xffffff, binary.BigEndian.Uint16(b[8:])
	copy(d.gid[:], b[12:])
	return true
}

func (q *Pair) datagramEnd() datagramEnd {
	return datagramEnd{qpn: q.number, lid: q.k.info.LID, gid: q.k.info.GID}
}

// onDatagramEnd: the peer has accepted, and its queue pair is known.
func (c *Call) onDatagramEnd(ep Endpoint, e *ibv.CMEvent) {
	private := append([]byte(nil), e.Private...)
	to := datagramEnd{qpn: e.QPN, lid: e.LID, gid: e.GID}
	c.Disown()
	c.free()
	c.reach(ep, to, e.QKey, private)
}

// acceptDatagrams accepts a request for datagrams: with the answer both sides know enough.
func (c *Call) acceptDatagrams(e Endpoint, private []byte) error {
	err := c.k.d.Accept(c.id, c.terms(e, private))
	c.Disown()
	c.free()
	if err != nil {
		e.Failed(c, FailedBroken, nil)
	} else {
		c.reach(e, c.from, datagramKey, nil)
	}
	return nil
}

// Path is the way of datagrams to a pair of another process.
type Path struct {
	k    *Device
	p    ibv.AH
	qkey uint32
	QPN  uint32 // that the connection has named
}

// Close ends the path.
func (p *Path) Close() { p.k.d.DestroyAH(p.p) }

// reach gives the endpoint the path to a peer.
func (c *Call) reach(e Endpoint, to datagramEnd, qkey uint32, private []byte) {
	k := c.k
	p, err := k.d.CreateAH(e.Pair().config.Zone.z, to.gid, to.lid)
	if err != nil {
		e.Failed(c, FailedBroken, nil)
		return
	}
	path := &Path{k: k, p: p, qkey: qkey, QPN: to.qpn}
	if !e.Reached(c, path, private) {
		path.Close()
	}
}

// PostDatagram sends local memory to the queue pair qpn of a path's process.
func (q *Pair) PostDatagram(r *dev.Request, p *Path, qpn uint32) codes.Return {
	return codes.Return(q.c.PostDatagram(r, uintptr(p.p), qpn, p.qkey))
}
