// Package wire is the packets, Hellos and addresses of transport/verbs, byte by byte. It keeps
// nothing.
//
//	packet.go   packets over queue pairs
//	hello.go    Hello, the datagram by which two queue pairs are joined
//	address.go  where the ports of a task are
package wire

import (
	"encoding/binary"

	"lapi/transport"
	"lapi/transport/layout"
)

// HeadSize is the bytes in front of each packet. A packet is what one send carries, little-endian:
//
//	 0        1        2             4                        8
//	+--------+--------+-------------+------------------------+-------------------------------+
//	| kind   | MsgID  | header's n  | bytes of data          | number of the packet          |
//	+--------+--------+-------------+------------------------+-------------------------------+
//	16                              24
//	| credit: the first number that | header (a message's,   | data
//	| the receiver may not send     | or a control)          |
//
// Numbers count the packets of one direction of one pair of tasks over all its queue pairs. They
// begin at random, so that a packet's number says whose it is. A packet of kind credit has none. The upper bit of the kind is asks.
const HeadSize = 24

// Of all packets, in bytes, and of all tasks.
const (
	PacketMax = layout.VerbsSlot
	HeaderMax = layout.VerbsHeaderMax // of a message's header
	// SendMax is what one message holds, ChunkMax what one packet of a copied put or get does.
	SendMax  = PacketMax - HeadSize
	ChunkMax = SendMax - ControlSize
	// Window is how many packets a peer may send ahead of what this task has taken in: both sides
	// begin with it.
	Window = layout.VerbsWindow
	// PortsMax is how many ports a task may have, SpareIndex the number of its spare port.
	PortsMax   = layout.VerbsPorts
	SpareIndex = 15
)

// Kind says what a packet is for.
type Kind uint8

// The kinds.
const (
	KindMessage  Kind = iota + 1
	KindPut           // data of a copied put; control says where it goes
	KindPutDone       // the last of it is in place, or a fault
	KindAsk           // asks for a part of a copied get
	KindGot           // that part, or a fault
	KindWant          // asks for a key
	KindGrant         // the key, or none
	KindFinish        // the key is not needed any more
	KindFinished      // it is not valid any more
	KindFlush         // asks, and does nothing else
	KindFlushed       // all before the mark, its header, was accepted
	KindBye           // the peer closes
	KindCredit        // grants credits, and does nothing else
	KindMessages      // several messages: see Part
	KindWants         // asks for the keys of several ranges, its data
	KindGrants        // the keys, its data, or none
	Kinds             // how many there are, with none
)

// asks, in a packet's kind: its receiver is to answer when it has accepted it and all before it.
const asks Kind = layout.VerbsAsks

// Head is the header of each packet.
type Head struct {
	Kind   Kind
	Asks   bool
	ID     transport.MsgID
	Header uint16
	Data   uint32
	Number uint64
	Credit uint64
}

// Encode writes h.
func (h *Head) Encode(b []byte) {
	b[0], b[1] = byte(h.Kind), byte(h.ID)
	if h.Asks {
		b[0] |= byte(asks)
	}
	binary.LittleEndian.PutUint16(b[2:], h.Header)
	binary.LittleEndian.PutUint32(b[4:], h.Data)
	binary.LittleEndian.PutUint64(b[8:], h.Number)
	binary.LittleEndian.PutUint64(b[16:], h.Credit)
}

// PacketLength is the length of a packet that is at the begin of b, as its head says.
func PacketLength(b []byte) int {
	return HeadSize + int(binary.LittleEndian.Uint16(b[2:])) +
		int(min(binary.LittleEndian.Uint32(b[4:]), PacketMax))
}

// Decode says whether b is a packet: all its lengths are right.
func (h *Head) Decode(b []byte) bool {
	if len(b) < HeadSize {
		return false
	}
	*h = Head{Kind: Kind(b[0]) &^ asks, Asks: Kind(b[0])&asks != 0, ID: transport.MsgID(b[1]),
		Header: binary.LittleEndian.Uint16(b[2:]), Data: binary.LittleEndian.Uint32(b[4:]),
		Number: binary.LittleEndian.Uint64(b[8:]), Credit: binary.LittleEndian.Uint64(b[16:])}
	if uint64(HeadSize)+uint64(h.Header)+uint64(h.Data) != uint64(len(b)) || h.Header%8 != 0 {
		return false
	}
	if h.Asks && (h.Kind == KindBye || h.Kind == KindCredit) {
		return false
	}
	switch h.Kind {
	case KindMessage:
		return h.ID > 0 && h.ID <= transport.MaxMsgID && h.Header <= HeaderMax
	case KindMessages:
		return h.ID == 0 && h.Header == 0 && partsFit(b[HeadSize:])
	case KindBye, KindCredit:
		return h.Header == 0 && h.Data == 0
	case KindFlush:
		return h.Asks && h.Header == 0 && h.Data == 0
	case KindFlushed:
		return h.Header == FlushedSize && h.Data == 0
	case KindPut, KindGot:
		return h.Header == ControlSize
	case KindWants:
		return h.Header == ControlSize && h.Data > 0 && h.Data <= RangesMax*RangeSize &&
			h.Data%RangeSize == 0
	case KindGrants:
		return h.Header == ControlSize && h.Data <= ListMax
	case KindGrant:
		return h.Header == GrantSize && h.Data == 0
	}
	return h.Kind > 0 && h.Kind < Kinds && h.Header == ControlSize && h.Data == 0
}

// PartSize is the bytes in front of one of several messages in a packet:
//
//	 0        1        2             4                        8
//	+--------+--------+-------------+------------------------+--------+------+---------------+
//	| MsgID  | 0      | header's n  | bytes of data          | header | data | padding to 8, |
//	+--------+--------+-------------+------------------------+--------+------+ but at the end|
const PartSize = 8

// Part is where header and data of the first message of b end; next is where another begins.
func Part(b []byte) (id transport.MsgID, header, data, next int, ok bool) {
	if len(b) < PartSize || b[1] != 0 {
		return 0, 0, 0, 0, false
	}
	id = transport.MsgID(b[0])
	header = PartSize + int(binary.LittleEndian.Uint16(b[2:]))
	n := binary.LittleEndian.Uint32(b[4:])
	if id == 0 || id > transport.MaxMsgID || header%8 != 0 || header > PartSize+HeaderMax ||
		header > len(b) || uint64(n) > uint64(len(b)-header) {
		return 0, 0, 0, 0, false
	}
	data = header + int(n)
	return id, header, data, min((data+7)&^7, len(b)), true
}

// partsFit says whether b is messages, one after the other.
func partsFit(b []byte) bool {
	for len(b) > 0 {
		_, _, _, next, ok := Part(b)
		if !ok {
			return false
		}
		b = b[next:]
	}
	return true
}

// FlushedSize is the length of a packet of kind flushed: the mark.
const FlushedSize = 8

// ControlSize is a multiple of 8, so that data stays aligned. A grant has its keys in addition.
const (
	ControlSize = 56
	GrantSize   = ControlSize + 4*PortsMax
)

// Control is what packets say that are no messages.
type Control struct {
	Token  uint64 // of the origin's call; the mark of a Flushed
	Addr   uint64 // at the target; of a fault, where
	N      uint64 // bytes of the whole, but of Ask of the part
	Offset uint64 // of this part; of a grant and a Finish, the grant's name
	// of a Want: a bit for each of the receiver's ports that a key is wanted of; of Grants: those
	// of the sender's that there are keys of
	Ports  uint32
	Status Status // also: which kind of key is wanted
	Notice transport.Notice
	Keys   Keys // of a grant
}

// Keys are those of one range, by port of the task whose memory it is; 0: none.
type Keys [PortsMax]uint32

// Status is of a control.
type Status uint32

// Values of Status.
const (
	StatusOK Status = iota
	StatusFault
	StatusRefused // no key: memory that cannot be registered
	StatusLast    // of a put: this part is the last
	WantWrite
	WantRead
	// A part of a transfer, or the end of one, whose target's owner is notified.
	StatusNoticed
	StatusNoticedLast // the last: the notice comes with it
	// StatusRegion, of a Finish: no grant has ended, but requests by the key of a region were lost,
	// over Ports, to N bytes at Addr. Such keys end.
	StatusRegion
)

// Encode writes what k says of c, and returns its length.
func (c *Control) Encode(b []byte, k Kind) int {
	binary.LittleEndian.PutUint64(b, c.Token)
	if k == KindFlushed {
		return FlushedSize
	}
	binary.LittleEndian.PutUint64(b[8:], c.Addr)
	binary.LittleEndian.PutUint64(b[16:], c.N)
	binary.LittleEndian.PutUint64(b[24:], c.Offset)
	binary.LittleEndian.PutUint32(b[32:], c.Ports)
	binary.LittleEndian.PutUint32(b[36:], uint32(c.Status))
	binary.LittleEndian.PutUint64(b[40:], c.Notice[0])
	binary.LittleEndian.PutUint64(b[48:], c.Notice[1])
	if k != KindGrant {
		return ControlSize
	}
	for i, key := range c.Keys {
		binary.LittleEndian.PutUint32(b[ControlSize+4*i:], key)
	}
	return GrantSize
}

// Decode reads c, of a packet whose length is right.
func (c *Control) Decode(b []byte) {
	*c = Control{Token: binary.LittleEndian.Uint64(b), Addr: binary.LittleEndian.Uint64(b[8:]),
		N: binary.LittleEndian.Uint64(b[16:]), Offset: binary.LittleEndian.Uint64(b[24:]),
		Ports:  binary.LittleEndian.Uint32(b[32:]),
		Status: Status(binary.LittleEndian.Uint32(b[36:])),
		Notice: transport.Notice{binary.LittleEndian.Uint64(b[40:]),
			binary.LittleEndian.Uint64(b[48:])}}
	if len(b) == GrantSize {
		for i := range c.Keys {
			c.Keys[i] = binary.LittleEndian.Uint32(b[ControlSize+4*i:])
		}
	}
}
