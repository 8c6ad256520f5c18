// Package shm is the link between tasks of one node. The data moves in C (package cshim/node):
// messages through shared memory, transfers in messages or straight between the tasks' private
// memories, operations on words. This package has segments, connecting, generations, refused
// messages, flushes, and operations that wait for room.
//
// Abilities: messages in the order sent; atomics, coherent with the processor; transfers with
// notices (transport.Noticing); Put and Get native where the kernel permits cross-memory attach
// (CanDirect, probed at Connect), ErrNotSupported to peers where it does not. Limits: a message of
// sendMax bytes of which headerMax are header (64 KiB of data and any header); any length and
// alignment of transfers. Progress: Send and Put are done when they return. Progress receives; a
// refused message is copied aside and comes again. When the receiver sleeps (Waiter), senders wake
// it through an eventfd; otherwise no message costs a system call. A peer that is silent for
// Config.Timeout fails (watch.go). Environment variables: none. Config.DisableCMA switches
// cross-memory attach off.
//
// # Memory
//
// cshim/node/segment.h describes the segments and their protocol. A link trusts nothing that it
// reads from a segment: a value that cannot be makes the peer failed (Config.PeerFailed), and never
// does harm here. A process that was killed at any point leaves others unharmed, and no memory
// behind: segments are anonymous files that live as long as they are mapped.
//
// User memory is accessed by C's guarded copies; a Gatherer's memory by Go, so memory.Guard must
// have run on the calling goroutine.
//
// # Locking
//
// The owner's lock covers everything but the segments; their words are ordered as segment.h says.
package shm

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lapi/descriptor"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/layout"
)

// MaxTasks is how many tasks of a node, this one included, can be linked: the guide's
// MAX_SHM_TASKS.
const MaxTasks = layout.MaxRings

// Config is what New needs to know. Nothing of it may change later.
type Config struct {
	Task     int             // this task
	NumTasks int             // of the job; endpoints are 0 to NumTasks-1
	Tasks    []int           // on this node, this one included; all of them must pass the same set
	Clock    transport.Clock // paces the repetition of refused messages
	// PeerFailed is called, from Progress, when a peer has written what no peer writes, or was
	// silent for Timeout. ep is disconnected already. May be nil.
	PeerFailed func(ep transport.Endpoint, err error)
	// Timeout is for how long a peer may be silent while something is due from it; then it
	// fails with transport.ErrTimeout. 0, or NoTimeout: for ever. See SetTimeout.
	Timeout   time.Duration
	NoTimeout bool
	// Runs says whether a peer that was silent for Timeout lives and is only slow: then it gets
	// another Timeout. nil: that is not known of any.
	Runs func(ep transport.Endpoint) bool
	// DisableCMA makes the link do without cross-memory attach: Put and Get are not supported.
	DisableCMA bool
	// MessagesOnly: peers may send this task messages, and nothing that touches its memory: a
	// peer that tries has failed. Nor does this link touch theirs: Put, Get, Atomic and
	// transfers with notices are not supported. Its owner may, by NodePeer.Direct.
	MessagesOnly bool
	// Barrier: this task can take part in the barrier of the node's tasks.
	Barrier bool
	// Area is how many bytes of data may be in chunks on the way to one task, of those that
	// there are for it; 0: all. With AreaMost that is where the link begins: it may be so much
	// where that is found to be faster (the two pipelines of docs/dev/bulk.md).
	Area, AreaMost uint64
	// Route is the way that is forced for data that is too long for slots, to a peer that
	// polls.
	Route Route
	// Told: a thread that sends, while another sleeps without a timeout, and expects an answer,
	// ends that sleep. So a task that has long sent nothing, and to which nothing is due, may
	// sleep without a timeout.
	Told bool
	// Tracer is a process whose descendants all tasks of the node are; 0: none is known.
	Tracer int
}

// Link is one task's end of all rings between it and the other tasks of its node. See
// transport.Link for its methods and locking.
type Link struct {
	config     Config
	tasks      []int // ascending; the index is the ring's
	index      int   // of this task in tasks
	own        segment
	private    private
	node       *layout.NodeLink // in private
	bell       int              // eventfd that wakes this task
	bellBuffer [8]byte
	pid        int
	cookie     uint64
	// the peers have no barriers of their own: node.CanOrderPeers when they were notified
	fencing bool
	closed  bool

	handlers [transport.MaxMsgID + 1]transport.MsgHandler
	notices  transport.NoticeHandler // nil: notices are dropped
	faults   transport.FaultHandler  // likewise
	// for the handler under way; here so that it is not allocated
	msg   transport.Msg
	peers []*peer // by endpoint; nil: not connected
	rings []*peer // by ring
	// not connected yet, and operations are to wait: those that do
	awaited map[transport.Endpoint]*opList
	waiting []*peer // with flushes in flight
	broken  []*peer // failed, PeerFailed not called yet
	holding int     // peers with held messages
	// peers whose ring has no room for the announcement of a new generation
	changingEpoch int
	queued        int // operations and answers that wait for room
	inFlight      [layout.NodeOps]*transport.Op
	// of watch.go: the latest look at the peers, and when one must follow
	lookedAt   int64
	lookedTurn uint64
	lookSoon   bool
	lookAgain  int64  // while this task sleeps
	sent       uint64 // slots, to all peers, when it slept last
	sentAt     int64  // since when that is so
	pool       hold.Pool
	stats      transport.Stats
}

// New makes the link and this task's segment. It fails if the kernel gives no memory or
// descriptors, or config cannot be.
func New(config Config) (*Link, error) {
	tasks := slices.Clone(config.Tasks)
	slices.Sort(tasks)
	index, found := slices.BinarySearch(tasks, config.Task)
	if !found || len(slices.Compact(slices.Clone(tasks))) != len(tasks) || tasks[0] < 0 ||
		tasks[len(tasks)-1] >= config.NumTasks {
		return nil, fmt.Errorf("shm: task %d with tasks %v of %d: %w",
			config.Task, tasks, config.NumTasks, transport.ErrBadParam)
	}
	if len(tasks) > MaxTasks {
		return nil, fmt.Errorf("shm: %d tasks on one node, at most %d: %w",
			len(tasks), MaxTasks, transport.ErrBadParam)
	}
	node.Install()
	if !config.DisableCMA && !config.MessagesOnly {
		admitPeers(config.Tracer)
	}
	l := &Link{config: config, tasks: tasks, index: index, pid: unix.Getpid(), bell: -1,
		fencing: node.CanOrderPeers()}
	l.own.file = -1
	l.peers = make([]*peer, config.NumTasks)
	l.awaited = map[transport.Endpoint]*opList{}
	l.rings = make([]*peer, len(tasks))
	if err := l.create(); err != nil {
		l.release()
		return nil, fmt.Errorf("shm: %w", err)
	}
	return l, nil
}

// create makes what the kernel gives: segment, private memory, bell.
func (l *Link) create() error {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	l.cookie = binary.LittleEndian.Uint64(random[:])
	var err error
	if l.private, err = newPrivate(len(l.tasks), l.cookie); err != nil {
		return err
	}
	l.node = l.private.link()
	l.node.Fencing = flag(l.fencing)
	l.node.MessagesOnly = flag(l.config.MessagesOnly)
	l.node.Routes.Forced = l.config.Route.forced()
	l.setChunks()
	l.node.Rings, l.node.OwnRing = uint32(len(l.tasks)), uint32(l.index)
	if l.own, err = createSegment(len(l.tasks)); err != nil {
		return err
	}
	head := l.own.head()
	head.Magic, head.Version = layout.SegmentMagic, layout.SegmentVersion
	head.SlotSize, head.RingSlots, head.Rings = layout.SlotSize, layout.RingSlots,
		uint32(len(l.tasks))
	head.Task, head.Pid = int32(l.config.Task), int32(l.pid)
	head.Size, head.Cookie = uint64(len(l.own.bytes)), l.cookie
	l.locate()
	l.bell, err = descriptor.Own(descriptor.Event())
	return err
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Limits implements transport.Link.
func (l *Link) Limits() transport.Limits {
	limits := transport.Limits{
		Caps:    transport.CapOrdered | transport.CapAtomicCPU,
		SendMax: sendMax, HeaderMax: headerMax,
		PutAlign: 1, GetAlign: 1,
		Atomics: transport.AllAtomics,
	}
	if l.config.MessagesOnly {
		limits.Caps, limits.Atomics = transport.CapOrdered, 0
	}
	if !l.config.DisableCMA && !l.config.MessagesOnly {
		limits.Caps |= transport.CapPut | transport.CapGet
		limits.PutMax, limits.GetMax = math.MaxInt64, math.MaxInt64
	}
	return limits
}

// Handle implements transport.Link.
func (l *Link) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

// HandleNotices implements transport.Noticing.
func (l *Link) HandleNotices(n transport.NoticeHandler, f transport.FaultHandler) {
	l.notices, l.faults = n, f
}

// Register implements transport.Link; no registration is needed.
func (l *Link) Register(a transport.Addr, n uint64, _ transport.Access) (transport.Region, error) {
	return transport.Region{Addr: a, N: n}, nil
}

// Deregister implements transport.Link.
func (l *Link) Deregister(transport.Region) error { return nil }

// Stats implements transport.Link. It adds what C counted since the last call.
func (l *Link) Stats() *transport.Stats {
	if v := l.node; v != nil {
		l.stats.PacketsSent += v.PacketsSent
		l.stats.DataSent += v.DataSent
		l.stats.PacketsReceived += v.PacketsReceived
		l.stats.DataReceived += v.DataReceived
		l.stats.GhostPackets += v.Ghosts
		v.PacketsSent, v.DataSent, v.PacketsReceived, v.DataReceived, v.Ghosts = 0, 0, 0, 0, 0
	}
	return &l.stats
}

// CanBeFast says whether the kernel lets this process have a fast path in C: peers' barriers must
// reach it, and its own the peers.
func CanBeFast() bool { return node.Registered() && node.CanOrderPeers() }

// Node is where C finds the ends; constant until Close.
func (l *Link) Node() *layout.NodeLink { return l.node }

// NodePeer is the end to the task of ep, connected or not, and its ring; nil if that is not of this
// node.
func (l *Link) NodePeer(ep transport.Endpoint) (*layout.NodePeer, int) {
	if ring, found := slices.BinarySearch(l.tasks, int(ep)); found {
		return l.private.peer(ring), ring
	}
	return nil, -1
}

// ShareProcessors says whether this task has to share processors with others: then it does not spin
// for its peers, which may be without one.
func (l *Link) ShareProcessors(does bool) {
	for ring := range l.tasks {
		l.private.peer(ring).Crowded = flag(does)
	}
}

// OrderPeers is the barrier between a store by which this process says that it will not look at a
// word, and its last look at that word: the look sees the stores that a peer made before it could
// see the first one (arm.h).
func (l *Link) OrderPeers() {
	if !node.OrderPeers(l.node) {
		time.Sleep(node.LookAgain) // no store stays in a processor for so long
	}
}

// AwaitCopy waits while the peer of a ring is in the middle of a copy to this process's memory,
// which it says by a word that is odd then; as long as one may take.
func (l *Link) AwaitCopy(ring int, word *uint32) { node.AwaitCopy(l.node, ring, word) }

// Busy says whether Progress may have something to do beside messages in active rings.
func (l *Link) Busy() bool {
	return l.holding > 0 || l.changingEpoch > 0 || l.queued > 0 || len(l.waiting) > 0 ||
		len(l.broken) > 0 || l.lookSoon
}

// path returns the peer of ep if operations to it are possible.
func (l *Link) path(ep transport.Endpoint) (*peer, error) {
	if uint(ep) < uint(len(l.peers)) {
		if p := l.peers[ep]; p != nil && !p.gone {
			return p, nil
		}
	}
	switch {
	case l.closed:
		return nil, transport.ErrClosed
	case l.awaited[ep] != nil:
		return nil, transport.ErrBusy
	}
	return nil, transport.ErrUnreachable
}

// suspect stops all traffic with p at once; the next Progress disconnects it and tells the owner.
func (l *Link) suspect(p *peer, err error) {
	if p.gone {
		return
	}
	p.gone, p.failure = true, err
	p.settle()
	l.broken = append(l.broken, p)
}

// reportBroken disconnects suspects and tells the owner of them.
func (l *Link) reportBroken() (n int) {
	for len(l.broken) > 0 {
		p := l.broken[0]
		l.broken = l.broken[1:]
		l.drop(p, transport.ErrUnreachable)
		if l.config.PeerFailed != nil {
			l.config.PeerFailed(p.ep, p.failure)
		}
		n++
	}
	return n
}

// Close implements transport.Link. Peers see at once that nobody reads their messages any more. It
// must not be called from a handler.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	node.Leave(l.node)
	for _, p := range l.rings {
		if p != nil {
			p.gone = true
			p.settle()
			l.drop(p, transport.ErrClosed)
		}
	}
	return l.release()
}

// release gives everything back to the kernel.
func (l *Link) release() error {
	var errs []error
	for _, p := range l.rings {
		if p != nil {
			errs = append(errs, p.out.release(), closeFile(p.bell))
		}
	}
	for ep := range l.awaited {
		l.giveUpAwaited(ep, transport.ErrClosed)
	}
	clear(l.rings)
	clear(l.peers)
	l.waiting = nil
	l.pool.Release()
	l.Stats()
	l.node = nil
	l.private.release()
	errs = append(errs, l.own.release(), closeFile(l.bell))
	l.bell = -1
	return errors.Join(errs...)
}

func closeFile(fd int) error {
	if fd < 0 {
		return nil
	}
	return unix.Close(fd)
}

var (
	_ transport.Link      = (*Link)(nil)
	_ transport.Waiter    = (*Link)(nil)
	_ transport.Noticing  = (*Link)(nil)
	_ transport.Gathering = (*Link)(nil)
	_ transport.Vectored  = (*Link)(nil)
)
