// Package packet holds the content of datagrams to send: messages, copied or borrowed, and the
// memory that they lie in. It does not know when a datagram is sent, or its outcome.
package packet

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/wire"
)

const (
	// HeadSize is the memory of a packet itself: headers, and small data. A page.
	HeadSize = 4096
	// ShareBytes: a packet of this many bytes is full; it waits for no further messages.
	ShareBytes = HeadSize - 96
	// MaxMessages may share a packet: the receiver remembers a packet that is accepted in part
	// by one word.
	MaxMessages = 64
	// stripeBytes: a shorter packet, whose data was copied, is no part of something long.
	stripeBytes = 1024
	// Overhead is the bytes of a packet with one message beside the message's header and data.
	Overhead = wire.HeaderSize + wire.MessageSize
)

// Short is up to how many bytes of data a message waits for company in its packet; a longer one goes
// when the entry ends. Parts of long messages that are no longer are copied too.
const Short = 128

// Limits are what a packet may hold.
type Limits struct {
	Size    int // bytes of a packet
	CopyMax int // bytes of data that are copied; of more the packet borrows the user's memory
}

// Copies says whether the data of op is copied into its packet.
func (l Limits) Copies(op *transport.Op) bool {
	most := l.CopyMax
	if op.Part { // retransmit buffers are for messages whose data must be free at once
		most = min(most, Short)
	}
	return op.N <= uint64(max(most, 0))
}

// Content is the content of one datagram. Its memory is outside the Go heap: the kernel and,
// through transport.Addr, guarded copies work on it.
type Content struct {
	head []byte // HeadSize bytes, always there
	rex  []byte // a retransmit buffer, or nil
	buf  []byte // head or rex: the datagram starts here
	n    int    // bytes of buf in use

	// The last message's data, if they were not copied: bytes of user memory, the operation
	// that they belong to, and where in buf that message starts.
	data  transport.Addr
	dataN int
	op    *transport.Op
	last  int

	counts   int // user bytes of all messages, for the statistics
	messages int
	open     bool // more messages may join: nothing borrowed, not sent, no flush behind it
	long     bool // a message is longer than Short
	single   bool // must not be spread over paths
	cut
}

// New is empty content, in the memory of head.
func New(head []byte) Content { return Content{head: head, buf: head} }

// Head is the memory that New got.
func (k *Content) Head() []byte { return k.head }

// TakeRetransmitBuffer returns the buffer that k has; nil: none. It is the caller's now.
func (k *Content) TakeRetransmitBuffer() (b []byte) {
	b, k.rex = k.rex, nil
	return b
}

// Begin makes k the packet of one message. Done: the data were copied, into a retransmit buffer
// from rexes if they are long. Queued: they are borrowed. ErrBusy: there is no such buffer.
func (k *Content) Begin(id transport.MsgID, hdr []byte, op *transport.Op, l Limits,
	rexes *Blocks) (transport.Status, error) {
	k.n = wire.HeaderSize
	k.single = op.Single
	if l.Copies(op) {
		n := Overhead + len(hdr) + int(op.N)
		if n > min(len(k.buf), l.Size) {
			if k.rex = rexes.Get(); k.rex == nil {
				return 0, transport.ErrBusy
			}
			k.buf = k.rex
		}
		if n <= min(len(k.buf), l.Size) {
			k.open = true
			return transport.Done, k.Join(id, hdr, op)
		}
	}
	k.last = k.n
	wire.PutMessage(k.buf[k.n:], uint8(id), len(hdr), int(op.N))
	k.n += wire.MessageSize + copy(k.buf[k.n+wire.MessageSize:], hdr)
	k.data, k.dataN, k.op = op.Local, int(op.N), op
	k.messages, k.counts = 1, int(op.N)
	return transport.Queued, nil
}

// Takes says whether a message with header and data of these lengths may join k in a packet of at
// most size bytes.
func (k *Content) Takes(header, data, size int) bool {
	return k.open && k.messages != MaxMessages &&
		wire.Align8(k.n)+wire.MessageSize+header+data <= min(len(k.buf), size)
}

// Join copies a message to k, which Takes it. A *FaultError leaves k as it was.
func (k *Content) Join(id transport.MsgID, hdr []byte, op *transport.Op) error {
	at := wire.Align8(k.n)
	body := at + wire.MessageSize + len(hdr)
	end := body + int(op.N)
	if op.N > 0 {
		if err := memory.CopyOut(k.buf[body:end], op.Local); err != nil {
			return err
		}
	}
	clear(k.buf[k.n:at]) // padding: nothing of an earlier packet leaves this task
	wire.PutMessage(k.buf[at:], uint8(id), len(hdr), int(op.N))
	copy(k.buf[at+wire.MessageSize:], hdr)
	k.n = end
	k.messages++
	k.counts += int(op.N)
	k.long = k.long || op.N > Short
	return nil
}

// Reserve is the end of an open packet, so that somebody else writes messages behind those that are
// in it, in the form of package wire: tail has no bytes, and room up to size bytes of the packet.
// messages is how many may follow; 0: none. With the last message that fits, the packet is full:
// that message is left to Join.
func (k *Content) Reserve(size int) (tail []byte, messages int) {
	end := min(ShareBytes, len(k.buf), size)
	if !k.open || k.single || k.n >= end {
		return nil, 0
	}
	return k.buf[k.n:k.n:end], MaxMessages - 1 - k.messages
}

// Commit ends a Reserve: the caller has written this number of bytes and messages; data of the
// bytes are the user's.
func (k *Content) Commit(bytes, messages, data int) {
	k.n += bytes
	k.messages += messages
	k.counts += data
}

func (k *Content) Shut()      { k.open = false } // lets nothing join k any more
func (k *Content) Open() bool { return k.open }  // whether messages may join k

// Full says whether it is of no use to wait for more messages.
func (k *Content) Full() bool {
	return k.long || k.n >= ShareBytes || k.messages == MaxMessages
}

// Bytes is k's own memory in use, the packet's header first. The borrowed data come behind it.
func (k *Content) Bytes() []byte { return k.buf[:k.n] }

// Borrowed is the user's memory behind Bytes; no bytes: there is none.
func (k *Content) Borrowed() (data transport.Addr, n int) { return k.data, k.dataN }

// Op is the operation whose memory k has borrowed; nil: none.
func (k *Content) Op() *transport.Op { return k.op }

func (k *Content) UserBytes() int { return k.counts } // the data of all messages
// whether k must not be spread over paths
func (k *Content) Single() bool { return k.single }
func (k *Content) Copied() bool { return k.rex != nil }  // whether k has a retransmit buffer
func (k *Content) Length() int  { return k.n + k.dataN } // how many bytes of a datagram k has

// Size is what k counts for while it is in flight.
func (k *Content) Size() int { return k.n + k.dataN + congestion.PacketOverhead }

// Long says whether k is a part of something long.
func (k *Content) Long() bool { return k.dataN > 0 || k.n >= stripeBytes }

// Void takes the message whose data are borrowed out of k, because the data cannot be read. It
// returns the operation, if there is one, and where the first byte is that cannot be read. The rest
// of k stays, so that the receiver does not wait for its number.
func (k *Content) Void() (op *transport.Op, fault transport.Addr) {
	op, fault = k.op, firstFault(k.data, k.dataN)
	k.counts = max(k.counts-k.dataN, 0) // they may have gone with a part
	k.n, k.op, k.data, k.dataN = k.last, nil, 0, 0
	k.messages--
	if k.part.Total != 0 { // parts of it already sent must not be used
		k.part.Keep = k.n - wire.HeaderSize
	}
	return op, fault
}

// firstFault looks for the first of n bytes at a that cannot be read, a page at a time.
func firstFault(a transport.Addr, n int) transport.Addr {
	const page = 4096
	var b [1]byte
	for at, end := a, a+transport.Addr(n); at < end; at = (at | (page - 1)) + 1 {
		if memory.CopyOut(b[:], at) != nil {
			return at
		}
		if at|(page-1) == ^transport.Addr(0) {
			break
		}
	}
	return a
}
