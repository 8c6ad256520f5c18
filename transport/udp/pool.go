package udp

import (
	"fmt"
	"syscall"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// packetState is where a packet is between Send and its acknowledgement.
//
//	waiting ──transmit──> flying ──acknowledged──> free
//	                      │  ▲ ▲
//	                 lost │  │ └──transmit── refused   (after its delay)
//	                      ▼  │                 ▲
//	                     missing ──────────────┘ the peer refused it (also from flying)
type packetState uint8

const (
	packetWaiting packetState = iota // never sent; its sequence number is at or after peer.sendNext
	packetFlying                     // sent, nothing heard of it
	packetMissing                    // to be sent again as soon as the window allows
	packetRefused                    // to be sent again at due
)

// packet is one datagram with messages, from Send until its acknowledgement. Its memory is outside the Go heap: the kernel
// and, through transport.Addr, guarded copies work on it.
type packet struct {
	head []byte // headSize bytes, always there
	rex  []byte // a retransmit buffer, or nil
	buf  []byte // head or rex: what is sent starts here
	n    int    // bytes of buf in use

	// The last message's data, if it was not copied: n bytes of user memory, the operation that lent it, and where in
	// buf that message starts.
	data   transport.Addr
	dataN  int
	op     *transport.Op
	last   int
	counts int // user bytes of all messages, for the statistics

	seq       wire.Seq
	path      Path // of its latest transmission
	single    bool // must not be spread over paths
	messages  int
	open      bool // more messages may join: nothing lent, not sent, no flush behind it
	state     packetState
	sends     uint32 // how often sent
	overtaken bool   // its transmission before the latest counted as lost because later ones had arrived
	refusals  uint32
	burst     uint64 // Machine.bursts when the outlet gathered it
	acks      bool   // its latest transmission counts as an acknowledgement
	tx        uint64 // number of its latest transmission, in the order of its path's
	sentAt    int64
	cut
	due  int64 // when refused
	next *packet
}

func (k *packet) size() int { return k.n + k.dataN + packetOverhead }

// chunks hands out equal pieces of anonymous memory outside the Go heap, allocated chunk by chunk as they are needed, touched only when
// used. Pieces come back last in, first out, so that the memory in use stays warm.
type chunks struct {
	size, count, max int // bytes of a piece; pieces of a chunk; pieces at all
	made             int
	maps             [][]byte
	free             [][]byte
}

// get returns nil if all pieces are taken or the kernel has no memory.
func (c *chunks) get() []byte {
	if len(c.free) == 0 && !c.grow() {
		return nil
	}
	b := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return b
}

// empty says whether all pieces that there may be are taken.
func (c *chunks) empty() bool { return len(c.free) == 0 && c.made == c.max }

func (c *chunks) put(b []byte) { c.free = append(c.free, b) }

func (c *chunks) grow() bool {
	n := min(c.count, c.max-c.made)
	if n <= 0 {
		return false
	}
	m, err := syscall.Mmap(-1, 0, n*c.size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	c.maps = append(c.maps, m)
	c.made += n
	for i := n - 1; i >= 0; i-- {
		c.free = append(c.free, m[i*c.size:(i+1)*c.size:(i+1)*c.size])
	}
	return true
}

func (c *chunks) close() {
	for _, m := range c.maps {
		if err := syscall.Munmap(m); err != nil {
			panic(fmt.Sprintf("udp: unmapping own memory: %v", err)) // the mapping is ours: only a bug gets here
		}
	}
	c.maps, c.free, c.made = nil, nil, c.max
}

// pool holds the packets and retransmit buffers of a machine.
type pool struct {
	heads  chunks
	rexes  chunks
	wholes chunks // for received packets that came in parts
	free   *packet
}

func newPool(cfg *Config, sendMax int) pool {
	heads := min(headsPerTask*cfg.NumTasks+moreHeads, maxHeads)
	rex := wire.Align8(overhead + maxHeader + min(cfg.RexmitBufSize, sendMax))
	return pool{
		heads:  chunks{size: headSize, count: headChunk, max: heads},
		rexes:  chunks{size: rex, count: rexChunk, max: cfg.RexmitBufCount},
		wholes: chunks{size: wholeSize, count: wholeChunk, max: min(seqWindow*cfg.NumTasks, maxWholes)},
	}
}

// get returns a packet without messages, or nil if there is none left.
func (p *pool) get() *packet {
	k := p.free
	if k == nil {
		head := p.heads.get()
		if head == nil {
			return nil
		}
		return &packet{head: head, buf: head}
	}
	p.free = k.next
	*k = packet{head: k.head, buf: k.head}
	return k
}

func (p *pool) put(k *packet) {
	if k.rex != nil {
		p.rexes.put(k.rex)
		k.rex = nil
	}
	k.op = nil
	k.next = p.free
	p.free = k
}

func (p *pool) close() {
	p.heads.close()
	p.rexes.close()
	p.wholes.close()
	p.free = nil
}
