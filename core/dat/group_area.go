package dat

import (
	"encoding/binary"

	"lapi/core/dat/cm"
	"lapi/core/dat/coll"
	"lapi/core/job/wire"
	"lapi/transport/layout"
)

// Of a group whose members are all processes of one node, the first makes memory that all of them
// map. It passes it by the lines over which the links were made; the messages are proved as theirs
// are. Each member whose line leads to the first waits for its word before the exchange of
// places. Only if all have mapped it is C the group's engine.

// AreaMaker is a Network whose processes can share memory that all write.
type AreaMaker interface {
	// Area makes it; PeerArea maps that of another process's file. CloseTable unmaps it.
	Area(n int) (b []byte, file int, err error)
	PeerArea(file, n int) ([]byte, error)
	CloseTable(b []byte, file int)
}

// shareArea is the message by a line that passes a group's memory, or says that there is none.
const shareArea = wire.Part

// areaVersion is that of the memory's layout.
const areaVersion = 5

// areaWord is the first member's message: for which group, and its memory.
type areaWord struct {
	conn, tag uint32
	version   uint32
	size      uint32 // members
	bytes     uint64
	crowded   bool
	seed      uint32
}

const areaWordSize = 32

func (w *areaWord) put() (b []byte) {
	le := binary.LittleEndian
	b = le.AppendUint32(b, w.conn)
	b = le.AppendUint32(b, w.tag)
	b = le.AppendUint32(b, w.version)
	b = le.AppendUint32(b, w.size)
	b = le.AppendUint64(b, w.bytes)
	b = le.AppendUint32(b, uint32(flag(w.crowded)))
	return le.AppendUint32(b, w.seed)
}

func (w *areaWord) read(b []byte) bool {
	if len(b) != areaWordSize {
		return false
	}
	le := binary.LittleEndian
	*w = areaWord{conn: le.Uint32(b), tag: le.Uint32(b[4:]), version: le.Uint32(b[8:]),
		size: le.Uint32(b[12:]), bytes: le.Uint64(b[16:]), crowded: le.Uint32(b[24:]) != 0,
		seed: le.Uint32(b[28:])}
	return true
}

// neighbourOf is the process of the node that the member is; nil: it is on another node, or is this
// one.
func (f *groupMember) neighbourOf() *neighbour {
	if f.peer == nil || f.peer.data == nil {
		return nil
	}
	return f.peer.data.node
}

// share goes on with the group's memory when all members are connected; false: the first member's
// word is awaited.
func (c *Collective) share() bool {
	if c.group.Self == 0 {
		c.offerArea()
		return true
	}
	return c.word || c.members[0].neighbourOf() == nil
}

// offerArea makes the memory, if all members can map it, and publishes it to those of this node.
func (c *Collective) offerArea() {
	l, size := c.ia.library, c.group.Size
	maker, ok := l.network.(AreaMaker)
	ok = ok && l.cfg.Lane != nil && size > 1 && size <= layout.DatGroupMost
	processes := map[cm.PublicKey]bool{}
	for _, f := range c.members[1:] {
		n := f.neighbourOf()
		ok = ok && n != nil && !processes[n.process]
		if n != nil {
			processes[n.process] = true
		}
	}
	file := -1
	if ok {
		var err error
		if c.area, file, err = maker.Area(groupSize(size)); err != nil {
			c.area, file = nil, -1
		}
	}
	c.crowded, c.seed = isCrowded(size), uint32(l.cfg.Random())
	for _, f := range c.members[1:] {
		if n := f.neighbourOf(); n != nil {
			f.publishArea(n, file)
		}
	}
	if file >= 0 {
		maker.CloseTable(nil, file)
	}
}

// publishArea passes the memory to a member; file -1: there is none.
func (f *groupMember) publishArea(n *neighbour, file int) {
	w := areaWord{conn: f.conn, tag: f.tag, version: areaVersion, size: uint32(f.c.group.Size),
		crowded: f.c.crowded, seed: f.c.seed}
	m := wire.Message{Kind: shareArea, Number: n.number}
	if file >= 0 {
		w.bytes = uint64(len(f.c.area))
		m.Files = []int{file}
	}
	g := greeting{from: f.c.ia.library.machine.PublicKey(), to: n.process, address: w.put()}
	m.Data = g.seal(n.pair, m.Kind, m.Number)
	n.line.Send(m) // if it cannot be sent, the line has ended: then the group fails
}

// onArea takes the first member's message; false: it is none.
func (u linkUse) onArea(n *neighbour, m *wire.Message, g *greeting) bool {
	l := u.l
	var w areaWord
	if m.Number != n.number || g.from != n.process || !g.proved(n.pair, l.machine.PublicKey(), m) ||
		!w.read(g.address) {
		return false
	}
	if int(w.conn) >= len(l.groups.list) {
		return true
	}
	c := l.groups.list[w.conn]
	if c == nil || c.tag != w.tag || c.over || c.word || c.group.Self == 0 ||
		c.members[0].neighbourOf() != n {
		return true // of a group that has ended
	}
	maker, ok := l.network.(AreaMaker)
	if ok && l.cfg.Lane != nil && len(m.Files) == 1 && w.version == areaVersion &&
		int(w.size) == c.group.Size && c.group.Size <= layout.DatGroupMost &&
		w.bytes == uint64(groupSize(c.group.Size)) {
		c.area, _ = maker.PeerArea(m.Files[0], int(w.bytes))
	}
	c.word, c.crowded, c.seed = true, w.crowded, w.seed
	c.connected()
	return true
}

// Flags of the group's memory in the exchange of places.
const (
	areaMapped = 1 << iota
	areaRandom // LAPI_FASTLANE=random
	areaReads  // it can read the memory of all others
	areaRails  // its adapter is an RDMA adapter
	areaShort  // C may do short operations by rails
)

// isRandom says whether LAPI_FASTLANE is random here.
func (c *Collective) isRandom() bool {
	n := c.ia.library.cfg.Lane
	return n != nil && n.Random != 0
}

func (c *Collective) areaFlags() (f uint8) {
	if c.area != nil {
		f |= areaMapped
	}
	if c.isRandom() {
		f |= areaRandom
	}
	if c.ia.library.groups.portOf(c.ia) != nil {
		f |= areaRails
	}
	if c.ia.library.cfg.Lane != nil || c.ia.library.groups.short {
		f |= areaShort
	}
	if c.readsAll() {
		f |= areaReads
	}
	return f
}

var _ coll.Owner = (*Collective)(nil)
