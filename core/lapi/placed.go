package lapi

import (
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// This file makes direct copies of data that lies as a DGSP says: the program's blocks are listed, and the target copies as from or to a
// vector. It is worth it where blocks are as long as those of vectors that are copied so (worthDirect); else the data is gathered
// into fragments (gather.go) and scattered from them.

// list makes v the blocks of the program's first n bytes. False: they are more than most, or a DDM function is to see the data.
func (l *placement) list(v *vector.Vector, n uint64, most uint64) bool {
	v.EmptyList()
	if l.hold.Program().HasControl() {
		return false
	}
	var batch [32]dgsm.Piece
	l.machine.Seek(0)
	for left := n; left > 0; {
		got := l.machine.Pieces(batch[:], left)
		for i := range batch[:got] {
			left -= batch[i].N
			v.Append(batch[i].Addr, batch[i].N)
		}
		if v.Pieces() > most {
			return false
		}
	}
	return true
}

// forcedBlocks is how many blocks a message has at most that is read directly only because its flags say so.
const forcedBlocks = 1 << 16

// offerPieces makes m, whose user header is in place, a message whose target fetches the data from the blocks that l lists. False: it is
// not worth it, and m is as before. Atoms are for data that comes in packets.
func (c *Context) offerPieces(m *outgoing, h *wire.Am, x *Transfer, l *placement) bool {
	t, n := m.t, x.N
	whole := wire.AmSize + wire.AmvSize + wire.Pad8(int(x.UhdrLen))
	way := x.way()
	blocks := n / c.sizes.BlockDirect
	if t.forced(way) {
		blocks = min(n, forcedBlocks)
	}
	if !c.amGoesDirect(t, n, way) || whole > t.headers || h.Atom != 0 || !l.list(&m.org, n, blocks) {
		return false
	}
	c.freePlacement(l)
	m.placement = nil
	m.id = wire.MsgAmPieces
	a := m.org.DescribeOrigin()
	copy(m.hdr[wire.AmSize+wire.AmvSize:whole], m.hdr[wire.AmSize:])
	c.offerVector(m, h, &a, whole)
	a.Encode(m.hdr[wire.AmSize:])
	return true
}

// onAmPieces is the target's side of such a message.
func (c *Context) onAmPieces(m *transport.Msg) transport.Verdict {
	var h wire.Am
	var v wire.Amv
	uhdr, ok := wire.DecodeAmv(&h, &v, m.Hdr, len(m.Data))
	if !ok || !h.Rendezvous || v.Kind != wire.VectorGeneric {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	in := c.findIncoming(t, uint64(h.ID))
	if in == nil {
		in = c.newIncoming(t, uint64(h.ID))
	}
	if in.hasHeader {
		return c.malformed(m)
	}
	in.am, in.amv, in.pieces = h, v, true
	if v := c.runHeader(t, in, uhdr, 0); v == transport.Refuse {
		return v
	}
	in.hasHeader = true
	c.fetch(t, in)
	c.placeEarly(t, in)
	c.finishIfComplete(t, in)
	return transport.Accept
}

// readList reads the list of the origin's blocks that a direct message of in names.
func (c *Context) readList(t *task, in *incoming) error {
	in.org.Origin(&in.amv, in.am.Length)
	at, n := in.org.NewList()
	if err := c.copyDirect(t, true, at, in.amv.Base, n); err != nil {
		return err
	}
	if !in.org.ValidList() {
		return errBadList
	}
	return nil
}

// worthFetching says whether in's data, which goes where a DGSP says, is to be read straight there, and lists its blocks.
func (c *Context) worthFetching(in *incoming) bool {
	l := in.placement
	return l.list(&in.tgt, l.bytes, l.bytes/c.sizes.BlockDirect*directLocal)
}

// fetchPieces is fetchData where the data lies in blocks at one end or both.
func (c *Context) fetchPieces(t *task, in *incoming) error {
	n := in.am.Length
	switch {
	case in.pieces:
		if err := c.readList(t, in); err != nil {
			return err
		}
	default:
		in.org.OneBlock(in.am.Direct, n)
	}
	if l := in.placement; l != nil {
		n = l.bytes
	} else {
		in.tgt.OneBlock(in.buffer, n)
	}
	return c.moveDirect(t, true, &in.tgt, &in.org, n)
}
