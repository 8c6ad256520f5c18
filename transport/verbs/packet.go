package verbs

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/layout"
)

// A packet is what one send carries, little-endian:
//
//	 0        1        2             4                        8
//	+--------+--------+-------------+------------------------+-------------------------------+
//	| kind   | MsgID  | header's n  | bytes of data          | number of the packet          |
//	+--------+--------+-------------+------------------------+-------------------------------+
//	16                              24
//	| credit: the first number that | header (a message's,   | data
//	| the receiver may not send     | or a control)          |
//
// Numbers count the packets of one direction of one pair of tasks, from 0, over all its queue
// pairs. A packet of kind credit has none. The upper bit of the kind is asks.
const headSize = 24

type kind uint8

const (
	kindMessage  kind = iota + 1
	kindPut           // data of a copied put; control says where it goes
	kindPutDone       // the last of it is in place, or a fault
	kindAsk           // asks for a part of a copied get
	kindGot           // that part, or a fault
	kindWant          // asks for a key
	kindGrant         // the key, or none
	kindFinish        // the key is not needed any more
	kindFinished      // it is not valid any more
	kindFlush         // asks, and does nothing else
	kindFlushed       // all before the mark, its header, was accepted
	kindBye           // the peer closes
	kindCredit        // grants credits, and does nothing else
	kindMessages      // several messages: see part
	kindPlace         // a port of the sender's was opened again, and is somewhere else
	kinds
)

// asks, in a packet's kind: its receiver is to answer when it has accepted it and all before it.
const asks kind = layout.VerbsAsks

type head struct {
	kind   kind
	asks   bool
	id     transport.MsgID
	header uint16
	data   uint32
	number uint64
	credit uint64
}

func (h *head) encode(b []byte) {
	b[0], b[1] = byte(h.kind), byte(h.id)
	if h.asks {
		b[0] |= byte(asks)
	}
	binary.LittleEndian.PutUint16(b[2:], h.header)
	binary.LittleEndian.PutUint32(b[4:], h.data)
	binary.LittleEndian.PutUint64(b[8:], h.number)
	binary.LittleEndian.PutUint64(b[16:], h.credit)
}

// decode says whether b is a packet: all its lengths are right.
func (h *head) decode(b []byte) bool {
	if len(b) < headSize {
		return false
	}
	*h = head{kind: kind(b[0]) &^ asks, asks: kind(b[0])&asks != 0, id: transport.MsgID(b[1]),
		header: binary.LittleEndian.Uint16(b[2:]), data: binary.LittleEndian.Uint32(b[4:]),
		number: binary.LittleEndian.Uint64(b[8:]), credit: binary.LittleEndian.Uint64(b[16:])}
	if uint64(headSize)+uint64(h.header)+uint64(h.data) != uint64(len(b)) || h.header%8 != 0 {
		return false
	}
	if h.asks && (h.kind == kindBye || h.kind == kindCredit) {
		return false
	}
	switch h.kind {
	case kindMessage:
		return h.id > 0 && h.id <= transport.MaxMsgID && h.header <= headerMax
	case kindMessages:
		return h.id == 0 && h.header == 0 && partsFit(b[headSize:])
	case kindBye, kindCredit:
		return h.header == 0 && h.data == 0
	case kindFlush:
		return h.asks && h.header == 0 && h.data == 0
	case kindFlushed:
		return h.header == flushedSize && h.data == 0
	case kindPut, kindGot:
		return h.header == controlSize
	case kindGrant:
		return h.header == grantSize && h.data == 0
	case kindPlace:
		return h.header == movedSize && h.data == 0
	}
	return h.kind > 0 && h.kind < kinds && h.header == controlSize && h.data == 0
}

// part is one of several messages in a packet:
//
//	 0        1        2             4                        8
//	+--------+--------+-------------+------------------------+--------+------+---------------+
//	| MsgID  | 0      | header's n  | bytes of data          | header | data | padding to 8, |
//	+--------+--------+-------------+------------------------+--------+------+ but at the end|
const partSize = 8

// part is where header and data of the first message of b end; next is where another begins.
func part(b []byte) (id transport.MsgID, header, data, next int, ok bool) {
	if len(b) < partSize || b[1] != 0 {
		return 0, 0, 0, 0, false
	}
	id = transport.MsgID(b[0])
	header = partSize + int(binary.LittleEndian.Uint16(b[2:]))
	n := binary.LittleEndian.Uint32(b[4:])
	if id == 0 || id > transport.MaxMsgID || header%8 != 0 || header > partSize+headerMax ||
		header > len(b) || uint64(n) > uint64(len(b)-header) {
		return 0, 0, 0, 0, false
	}
	data = header + int(n)
	return id, header, data, min((data+7)&^7, len(b)), true
}

// partsFit says whether b is messages, one after the other.
func partsFit(b []byte) bool {
	for len(b) > 0 {
		_, _, _, next, ok := part(b)
		if !ok {
			return false
		}
		b = b[next:]
	}
	return true
}

// movedSize is what a packet of kind place has: the number of the port in 8 bytes, and its place.
const movedSize = 8 + placeSize

// flushedSize is what a packet of kind flushed has: the mark.
const flushedSize = 8

// controlSize is a multiple of 8, so that data stays aligned. A grant has its keys in addition.
const (
	controlSize = 56
	grantSize   = controlSize + 4*PortsMax
)

// control is what packets say that are no messages.
type control struct {
	token  uint64 // of the origin's call; the mark of a Flushed
	addr   uint64 // at the target; of a fault, where
	n      uint64 // bytes of the whole, but of Ask of the part
	offset uint64 // of this part; of a grant and a Finish, the grant's name
	ports  uint32 // of a Want: a bit for each of the receiver's ports that a key is wanted of
	status status // also: which kind of key is wanted
	notice transport.Notice
	keys   keys // of a grant
}

// keys are those of one range, by port of the task whose memory it is; 0: none.
type keys [PortsMax]uint32

type status uint32

const (
	statusOK status = iota
	statusFault
	statusRefused // no key: memory that cannot be registered
	statusLast    // of a put: this part is the last
	wantWrite
	wantRead
	// A part of a transfer, or the end of one, whose target's owner is told (notice.go).
	statusNoticed
	statusNoticedLast // the last: the notice comes with it
)

// encode writes what k says of c, and returns its length.
func (c *control) encode(b []byte, k kind) int {
	binary.LittleEndian.PutUint64(b, c.token)
	if k == kindFlushed {
		return flushedSize
	}
	binary.LittleEndian.PutUint64(b[8:], c.addr)
	binary.LittleEndian.PutUint64(b[16:], c.n)
	binary.LittleEndian.PutUint64(b[24:], c.offset)
	binary.LittleEndian.PutUint32(b[32:], c.ports)
	binary.LittleEndian.PutUint32(b[36:], uint32(c.status))
	binary.LittleEndian.PutUint64(b[40:], c.notice[0])
	binary.LittleEndian.PutUint64(b[48:], c.notice[1])
	if k != kindGrant {
		return controlSize
	}
	for i, key := range c.keys {
		binary.LittleEndian.PutUint32(b[controlSize+4*i:], key)
	}
	return grantSize
}

func (c *control) decode(b []byte) {
	*c = control{token: binary.LittleEndian.Uint64(b), addr: binary.LittleEndian.Uint64(b[8:]),
		n: binary.LittleEndian.Uint64(b[16:]), offset: binary.LittleEndian.Uint64(b[24:]),
		ports:  binary.LittleEndian.Uint32(b[32:]),
		status: status(binary.LittleEndian.Uint32(b[36:])),
		notice: transport.Notice{binary.LittleEndian.Uint64(b[40:]),
			binary.LittleEndian.Uint64(b[48:])}}
	if len(b) == grantSize {
		for i := range c.keys {
			c.keys[i] = binary.LittleEndian.Uint32(b[controlSize+4*i:])
		}
	}
}
