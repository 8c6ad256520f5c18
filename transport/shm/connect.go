package shm

import (
	"encoding/binary"
	"fmt"
	"slices"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/layout"
)

// peer is another task of the node, or this one.
type peer struct {
	ep    transport.Endpoint
	ring  int // of its messages, in this task's segment
	pid   int
	bell  int // its eventfd
	gone  bool
	flags uint32 // of its address
	renewal
	// failure is why, if the peer is gone for what it wrote.
	failure error

	// Messages to it: a ring in its segment.
	out        segment
	outHead    *layout.SegmentHead
	outControl *layout.RingControl
	outSlots   slots
	outChunks  chunks
	path       *layout.Path // what the lane uses of all this; sender and receiver are in it
	sender     *layout.Sender
	blocked    bool          // Send has said ErrBusy since this task last saw room
	flushes    *transport.Op // waiting, in the order of their marks
	lastFlush  *transport.Op
	flushing   bool // in Link.waiting

	// Messages from it: a ring in this task's segment.
	inControl *layout.RingControl
	inSlots   slots
	inChunks  chunks
	receiver  *layout.Receiver
	held      hold.Queue
	holding   bool // counted in Link.holding
	reoffered bool // the message in the next slot was refused and could not be held

	direct bool // cross-memory attach reaches it
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
	needsFences  = 1 << iota // the task cannot call fenceAll
	joinsBarrier             // Config.Barrier
	isCrowded                // Config.Crowded
)

// addressMagic begins the bytes of an address.
const addressMagic = "LAPIshm1"

// wordSize is the size of a pointer in this process, in bytes.
const wordSize = 4 << (^uintptr(0) >> 63)

// Address implements transport.Link. Files are the segment and the bell.
func (l *Link) Address() transport.Address {
	flags := uint32(0)
	if !l.fencing {
		flags |= needsFences
	}
	if l.config.Barrier {
		flags |= joinsBarrier
	}
	if l.config.Crowded {
		flags |= isCrowded
	}
	b, err := binary.Append([]byte(addressMagic), binary.LittleEndian, address{
		Version: layout.SegmentVersion, SlotSize: layout.SlotSize, RingSlots: layout.RingSlots, Rings: uint32(len(l.tasks)),
		Task: int32(l.config.Task), Pid: int32(l.pid), WordSize: wordSize, Flags: flags,
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
	if a.Version != layout.SegmentVersion || a.SlotSize != layout.SlotSize || a.RingSlots != layout.RingSlots {
		return a, 0, fmt.Errorf("shm: task %d has another version of the library (segment %d, %d slots of %d bytes): %w",
			a.Task, a.Version, a.RingSlots, a.SlotSize, transport.ErrBadParam)
	}
	ring, found := slices.BinarySearch(l.tasks, int(a.Task))
	if !found || int(a.Rings) != len(l.tasks) {
		return a, 0, fmt.Errorf("shm: task %d with %d tasks on its node is not one of %v: %w", a.Task, a.Rings, l.tasks, transport.ErrBadParam)
	}
	return a, ring, nil
}

// Connect implements transport.Link. Each process of a peer can be connected once; see Reconnect for the same process, Vacate for another.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	p, err := l.newPeer(ep, a)
	if err != nil {
		for _, file := range a.Files {
			_ = closeFile(file) // the link has taken them over
		}
		return err
	}
	p.held.Init(&l.pool, func(m *hold.Message) transport.Verdict { return l.deliverHeld(p, m) })
	l.rings[p.ring], l.peers[ep], l.awaited[ep] = p, p, false
	p.settle()
	l.activate(p)
	return nil
}

// settle tells the lane whether it may use p's rings. It follows every change of what it looks at.
func (p *peer) settle() {
	p.path.Closed &^= layout.ClosedLink
	if p.gone || !p.announced {
		p.path.Closed |= layout.ClosedLink
	}
	p.path.Direct = 0
	if p.direct {
		p.path.Direct = 1
	}
	p.path.Stopped = 0
	if p.gone || p.awaiting || p.reoffered {
		p.path.Stopped = 1
	}
}

// newPeer checks everything and maps the peer's segment; then it closes the segment's file.
func (l *Link) newPeer(ep transport.Endpoint, a transport.Address) (*peer, error) {
	if l.closed {
		return nil, transport.ErrClosed
	}
	if ep < 0 || int(ep) >= len(l.peers) || len(a.Files) != 2 {
		return nil, fmt.Errorf("shm: endpoint %d of %d, %d files: %w", ep, len(l.peers), len(a.Files), transport.ErrBadParam)
	}
	from, ring, err := l.decodeAddress(a.Bytes)
	if err != nil {
		return nil, err
	}
	if l.peers[ep] != nil || l.rings[ring] != nil {
		return nil, fmt.Errorf("shm: endpoint %d or task %d is connected: %w", ep, from.Task, transport.ErrBadParam)
	}
	out, err := mapSegment(a.Files[0], len(l.tasks))
	if err != nil {
		return nil, fmt.Errorf("shm: task %d: %w", from.Task, err)
	}
	head := out.head()
	if head.Magic != layout.SegmentMagic || head.Cookie != from.Cookie {
		_ = out.release()
		return nil, fmt.Errorf("shm: the segment of task %d is not the one its address means: %w", from.Task, transport.ErrBadParam)
	}
	p := &peer{
		ep: ep, ring: ring, flags: from.Flags, pid: int(from.Pid), bell: a.Files[1],
		out: out, outHead: head, outControl: out.control(l.index), outSlots: out.ring(l.index, len(l.tasks)), outChunks: out.chunks(l.index, len(l.tasks)),
		path: l.private.path(ring), sender: &l.private.path(ring).Sender, receiver: &l.private.path(ring).Receiver,
		renewal:   renewal{announced: true},
		inControl: l.own.control(ring), inSlots: l.own.ring(ring, len(l.tasks)), inChunks: l.own.chunks(ring, len(l.tasks)),
	}
	p.path.ChunkArea = uint32(chunkArea(len(l.tasks)))
	p.path.Task, p.path.Bell, p.path.Fenced = from.Task, int32(p.bell), from.Flags&needsFences
	p.locate()
	_ = closeFile(a.Files[0])
	// A process whose addresses have 32 bits cannot name those of one with 64; the other way there is nothing in the way.
	p.direct = !l.config.DisableCMA && from.WordSize <= wordSize && probe(p.pid, transport.Addr(from.CookieAt), from.Cookie, l.private.scratch())
	p.settle()
	return p, nil
}

// CanDirect says whether Put and Get work to ep.
func (l *Link) CanDirect(ep transport.Endpoint) bool {
	p, err := l.path(ep)
	return err == nil && p.direct
}

// Disconnect implements transport.Link.
func (l *Link) Disconnect(ep transport.Endpoint, err error) {
	switch p, none := l.path(ep); none {
	case nil:
		p.gone = true
		p.settle()
		l.drop(p, err)
	case transport.ErrBusy:
		l.awaited[ep] = false
	}
}

// drop ends all that is under way with p, which is gone. Its memory stays mapped until Vacate or Close, because a handler or a send may be
// looking at it.
func (l *Link) drop(p *peer, err error) {
	l.endRenewal(p)
	p.held.Clear()
	l.deactivate(p)
	l.settleHolding(p)
	l.finishFlushes(p, ^uint64(0), err)
}
