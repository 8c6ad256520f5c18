package shm

import (
	"encoding/binary"
	"fmt"
	"slices"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/layout"
)

// peer is another task of the node, or this one.
type peer struct {
	ep    transport.Endpoint
	ring  int // of its messages, in this task's segment
	bell  int // its eventfd
	gone  bool
	flags uint32 // of its address
	epoch
	// failure is the reason, if the peer was given up because of words that it wrote.
	failure error

	out       segment // its segment
	outHead   *layout.SegmentHead
	inControl *layout.RingControl
	node      *layout.NodePeer // what C has of it

	ops           opList // wait for room
	entered, left uint64 // how many ever entered ops, and left it
	answers       []answer
	flushes       opList
	flushing      bool // in Link.waiting

	watch     watch
	held      hold.Queue
	holding   bool // counted in Link.holding
	reoffered bool // the message at the head was refused and could not be held
}

// address is the content of transport.Address.Bytes, little-endian.
type address struct {
	Version   uint32
	SlotSize  uint32
	RingSlots uint32
	Rings     uint32
	Task      int32
	Pid       int32
	WordSize  uint32 // bytes of a pointer
	Flags     uint32
	CookieAt  uint64 // an address in the task's private memory
	Cookie    uint64 // and what is there
}

// Bits of address.Flags.
const (
	// the task cannot call membarrier, so its senders need barriers of their own
	needsBarriers = 1 << iota
	joinsBarrier  // Config.Barrier
)

// addressMagic begins the bytes of an address.
const addressMagic = "LAPIshm1"

// wordSize is the size of a pointer in this process, in bytes.
const wordSize = 4 << (^uintptr(0) >> 63)

// Address implements transport.Link. Files are the segment and the bell.
func (l *Link) Address() transport.Address {
	flags := uint32(0)
	if !l.fencing {
		flags |= needsBarriers
	}
	if l.config.Barrier {
		flags |= joinsBarrier
	}
	b, err := binary.Append([]byte(addressMagic), binary.LittleEndian, address{
		Version: layout.SegmentVersion, SlotSize: layout.SlotSize, RingSlots: layout.RingSlots,
		Rings: uint32(len(l.tasks)), Task: int32(l.config.Task), Pid: int32(l.pid),
		WordSize: wordSize, Flags: flags,
		CookieAt: uint64(l.private.cookieAddr()), Cookie: l.cookie,
	})
	if err != nil {
		panic(err) // a struct of fixed widths has an encoding
	}
	return transport.Address{Bytes: b, Files: []int{l.own.file, l.bell}}
}

// decodeAddress is the inverse of Address; it checks that the peer's layout is this one's.
func (l *Link) decodeAddress(b []byte) (a address, ring int, err error) {
	if len(b) != len(addressMagic)+binary.Size(a) || string(b[:len(addressMagic)]) != addressMagic {
		return a, 0, fmt.Errorf("shm: no address of this link: %w", transport.ErrBadParam)
	}
	if _, err = binary.Decode(b[len(addressMagic):], binary.LittleEndian, &a); err != nil {
		return a, 0, fmt.Errorf("shm: %w", err)
	}
	if a.Version != layout.SegmentVersion || a.SlotSize != layout.SlotSize ||
		a.RingSlots != layout.RingSlots {
		return a, 0, fmt.Errorf(
			"shm: task %d has another version of the library (segment %d, %d slots of %d bytes): %w",
			a.Task, a.Version, a.RingSlots, a.SlotSize, transport.ErrBadParam)
	}
	ring, found := slices.BinarySearch(l.tasks, int(a.Task))
	if !found || int(a.Rings) != len(l.tasks) {
		return a, 0, fmt.Errorf("shm: task %d with %d tasks on its node is not one of %v: %w",
			a.Task, a.Rings, l.tasks, transport.ErrBadParam)
	}
	return a, ring, nil
}

// Connect implements transport.Link. Each process of a peer can be connected once; see Reconnect
// for the same process, Reset for another.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	p, err := l.newPeer(ep, a)
	if err != nil {
		for _, file := range a.Files {
			_ = closeFile(file) // the link has taken them over
		}
		return err
	}
	p.held.Init(&l.pool, func(m *hold.Message) transport.Verdict { return l.deliverHeld(p, m) })
	l.rings[p.ring], l.peers[ep] = p, p
	l.enqueueAwaited(p)
	p.settle()
	node.Activate(l.node, p.ring)
	return nil
}

// settle tells C whether the owner's fast path may use p's rings. It is called after every change
// of the state that it looks at.
func (p *peer) settle() {
	p.node.Closed &^= layout.ClosedLink | layout.ClosedQueue
	if p.gone || !p.announced {
		p.node.Closed |= layout.ClosedLink
	}
	if p.ops.head != nil || len(p.answers) > 0 {
		p.node.Closed |= layout.ClosedQueue
	}
	p.node.Stopped = flag(p.gone || p.awaiting || p.reoffered)
	p.node.Stalled = flag(p.reoffered && p.holding)
	p.node.Flushing = flag(p.flushing)
}

// stall notes whether the message at the head was refused and could not be held.
func (p *peer) stall(stalled bool) {
	if p.reoffered != stalled {
		p.reoffered = stalled
		p.settle()
	}
}

// newPeer checks everything and maps the peer's segment; then it closes the segment's file.
func (l *Link) newPeer(ep transport.Endpoint, a transport.Address) (*peer, error) {
	if l.closed {
		return nil, transport.ErrClosed
	}
	if ep < 0 || int(ep) >= len(l.peers) || len(a.Files) != 2 {
		return nil, fmt.Errorf("shm: endpoint %d of %d, %d files: %w",
			ep, len(l.peers), len(a.Files), transport.ErrBadParam)
	}
	from, ring, err := l.decodeAddress(a.Bytes)
	if err != nil {
		return nil, err
	}
	if l.peers[ep] != nil || l.rings[ring] != nil {
		return nil, fmt.Errorf("shm: endpoint %d or task %d is connected: %w",
			ep, from.Task, transport.ErrBadParam)
	}
	out, err := mapSegment(a.Files[0], len(l.tasks))
	if err != nil {
		return nil, fmt.Errorf("shm: task %d: %w", from.Task, err)
	}
	head := out.head()
	if head.Magic != layout.SegmentMagic || head.Cookie != from.Cookie {
		_ = out.release()
		return nil, fmt.Errorf("shm: the segment of task %d is not the one its address means: %w",
			from.Task, transport.ErrBadParam)
	}
	p := &peer{ep: ep, ring: ring, flags: from.Flags, bell: a.Files[1], out: out, outHead: head,
		epoch: epoch{announced: true}, inControl: l.own.control(ring), node: l.private.peer(ring)}
	p.node.ChunkArea = uint32(chunkArea(len(l.tasks)))
	p.node.Task, p.node.Bell, p.node.Pid = from.Task, int32(p.bell), from.Pid
	p.node.Fenced = flag(from.Flags&needsBarriers != 0 || !node.Registered())
	l.locatePeer(p)
	_ = closeFile(a.Files[0])
	// A process whose addresses have 32 bits cannot name those of one with 64; the other way
	// there is nothing in the way.
	p.node.Direct = flag(!l.config.DisableCMA && from.WordSize <= wordSize &&
		node.Probe(l.node, ring, from.CookieAt, from.Cookie))
	p.settle()
	return p, nil
}

// Disconnect implements transport.Link.
func (l *Link) Disconnect(ep transport.Endpoint, err error) {
	switch p, none := l.path(ep); none {
	case nil:
		p.gone = true
		p.settle()
		l.drop(p, err)
	case transport.ErrBusy:
		l.giveUpAwaited(ep, err)
	}
}

// drop ends all that is in flight with p, which is gone. Its memory stays mapped until Reset or
// Close, because a handler or a send may be looking at it.
func (l *Link) drop(p *peer, err error) {
	l.endEpochChange(p)
	node.Sever(l.node, p.ring)
	p.held.Clear()
	node.Deactivate(l.node, p.ring)
	l.settleHolding(p)
	l.dropQueues(p, err)
	l.endFlushes(p, err)
}
