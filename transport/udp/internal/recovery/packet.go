// Package recovery is loss detection and acknowledgement: which packets of a session are in flight,
// lost or acknowledged, what each path's acknowledgements show, and which packets have arrived. It
// has no clock and sends nothing: calls that need the time take now, in nanoseconds.
package recovery

import (
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/wire"
)

// state is where a packet is between Push and its acknowledgement.
//
//	waiting ──sent──> in flight ──acknowledged──> free
//	                  │  ▲ ▲
//	             lost │  │ └───sent─── not ready   (after its delay)
//	                  ▼  │              ▲
//	                 lost ──────────────┘ the peer was not ready for it (also from in flight)
type state uint8

const (
	waiting  state = iota // never sent; its number is at or after Window.next
	inFlight              // sent, nothing known of it
	lost                  // to be sent again as soon as the window allows
	notReady              // to be sent again at due
)

// Packet is one datagram with messages, from Send until its acknowledgement.
type Packet struct {
	packet.Content
	Batch       uint64 // the batch's: the batch in which the outlet got it
	CarriesAcks bool   // the sender's: its latest transmission counts as an acknowledgement

	seq   wire.Seq
	path  uint8 // of its latest transmission
	state state
	// its transmission that counted as lost because later ones by the same path had arrived; 0: none
	lostTx   uint64
	overdue  bool   // its latest transmission went because no answer came in time
	sends    uint32 // how often sent
	notReady uint32 // how often the peer was not ready
	tx       uint64 // number of its latest transmission, in the order of its path's
	sentAt   int64
	due      int64 // when notReady
	next     *Packet
}

func (k *Packet) Seq() wire.Seq { return k.seq }        // k's sequence number
func (k *Packet) Path() uint8   { return k.path }       // the one of k's latest transmission
func (k *Packet) Sends() int    { return int(k.sends) } // how often k was sent
// the number of k's latest transmission on its path
func (k *Packet) Tx() uint64    { return k.tx }
func (k *Packet) SentAt() int64 { return k.sentAt } // when that was

// IsNew says whether k waits for its first transmission.
func (k *Packet) IsNew() bool { return k.state == waiting }

// IsLost says whether k is to be sent again.
func (k *Packet) IsLost() bool { return k.state == lost }

// Pool holds the packets of a task, and their memory.
type Pool struct {
	Heads       packet.Blocks // a head for each packet
	Retransmit  packet.Blocks // buffers for copied data that do not fit a head
	free        *Packet
	freePackets int
}

// Get returns an empty packet. Nil: there is no memory.
func (p *Pool) Get() *Packet {
	k := p.free
	if k == nil {
		head := p.Heads.Get()
		if head == nil {
			return nil
		}
		return &Packet{Content: packet.New(head)}
	}
	p.free = k.next
	p.freePackets--
	*k = Packet{Content: packet.New(k.Head())}
	return k
}

// Put takes k back.
func (p *Pool) Put(k *Packet) {
	if b := k.TakeRetransmitBuffer(); b != nil {
		p.Retransmit.Put(b)
	}
	k.next = p.free
	p.free = k
	p.freePackets++
}

// InUse is how many packets are taken.
func (p *Pool) InUse() int { return p.Heads.InUse() - p.freePackets }

// Close frees the memory. No packet may be used any more.
func (p *Pool) Close() {
	p.Heads.Close()
	p.Retransmit.Close()
	p.free, p.freePackets = nil, 0
}
