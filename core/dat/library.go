package dat

import (
	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Library is uDAPL in this process: everything that its adapters share.
type Library struct {
	cfg       Config
	host      Host
	devices   []*deviceEngine // of the adapters that are RDMA adapters
	handles   handles
	ias       []*IA
	memory    arena.Arena
	rings     rings // of what C shares
	nodeConns nodeConns
	contexts  contexts
	shared    map[string]*sharedMemory // that is registered, by cookie

	network Network
	self    transport.Link
	machine *cm.Machine
	engine  *rc.Engine
	peers   peers
	node    neighbourhood
	ud      datagramEnds
	turns   uint
	busy    bool // a link had no room
	sleep   sleep

	conns connections

	groups  groupTable
	silence silence
}

// sleep is the sleep of a thread that waits.
type sleep struct {
	lane    *layout.DatLane // nil: there is none
	asleep  bool            // a thread sleeps
	added   bool            // since then something was added that it must see
	untimed bool            // it wakes for no peer's silence
}

func (s *sleep) setUntimed(on bool) {
	s.untimed = on
	if s.lane != nil {
		s.lane.Untimed = uint32(flag(on))
	}
}

// New makes the library without an adapter.
func New(cfg Config) *Library {
	l := &Library{cfg: cfg, host: cfg.Host}
	l.silence.cfg = &l.cfg
	l.nodeConns = nodeConns{cfg: &l.cfg, rings: &l.rings}
	l.sleep.lane = cfg.Lane
	l.groups.cfg, l.groups.memory = &l.cfg, &l.memory
	l.engine = rc.NewEngine(l.cfg.Random)
	return l
}

// open opens the sockets, for the first adapter.
func (l *Library) open() (err error) {
	if l.network != nil {
		return nil
	}
	if l.self, err = l.cfg.Self(); err != nil {
		return err
	}
	if l.network, err = l.cfg.Network(); err != nil {
		l.self.Close()
		return err
	}
	name := newName(l.cfg.Random)
	l.machine = cm.New(cm.Config{Outlet: l.network, Key: cm.NewKey(l.cfg.Random),
		Shared: l.cfg.Shared, Random: l.cfg.Random,
		Unanswered: func(c *cm.Conn) { l.silence.unanswered(c, l.network) }})
	l.peers = peers{users: linkUse{l}, network: l.network, machine: l.machine, self: l.self,
		host: l.host, random: l.cfg.Random, known: map[peerKey]*peer{}}
	l.node = neighbourhood{peers: &l.peers, name: name, clock: l.cfg.Clock,
		timeout: l.cfg.Timeout}
	l.ud = datagramEnds{}
	l.ud.attach(l.self)
	l.engine.Attach(l.self)
	l.groups.attach(l.self)
	l.node.openDoor()
	if l.cfg.Lane != nil {
		l.contexts.shared = l.node.openTable()
		l.nodeConns.open(l.contexts.shared)
	}
	return nil
}

// The last adapter's end waits until the peers are notified of it: at most drainTime in all, and
// drainStep for one kind of pending work, ns. A peer that is gone, and not known to be, costs that.
const (
	drainTime = 2e9
	drainStep = 1e9
)

// drain waits until the peers have everything sent to them.
func (l *Library) drain() {
	whole := l.cfg.Clock() + drainTime
	end := func() int64 { return min(l.cfg.Clock()+drainStep, whole) }
	for until := end(); l.cfg.Clock() < until; {
		if _, waiting := l.groups.pump(); !waiting { // notifies all members of the ends
			break
		}
		l.peers.progress()
	}
	for until := end(); len(l.groups.railed) > 0 && l.cfg.Clock() < until; {
		l.groups.turnRails()
		l.peers.progress()
		l.collectEnds()
	}
	l.drainWithdrawn(end())
	pending := 0
	l.peers.flush(&pending)
	for until := end(); pending > 0 && l.cfg.Clock() < until; {
		l.peers.progress()
		l.collectEnds()
	}
}

// collectEnds learns of processes that have left meanwhile, or are gone: nothing more comes of them.
func (l *Library) collectEnds() {
	l.network.Woken()
	l.network.Receive(progressBatch, arrivals{l})
	l.node.onTimeout(l.cfg.Clock())
}

// drainWithdrawn waits until the peers of connections that were withdrawn know it.
func (l *Library) drainWithdrawn(until int64) {
	for l.machine.Withdrawn() > 0 {
		now := l.cfg.Clock()
		if now >= until {
			return
		}
		l.network.Woken()
		l.network.Receive(progressBatch, arrivals{l})
		l.machine.OnTimeout(now)
	}
}

// close closes them, after the last one.
func (l *Library) close() {
	memory.Guard()
	l.drain()
	if l.cfg.Lane != nil {
		l.nodeConns.close()
		l.contexts.shared.close()
		l.contexts.shared = nil
	}
	l.peers.close()
	l.node.close()
	l.self.Close()
	l.network.Close()
	l.sleep.asleep, l.sleep.added = false, false
	l.peers, l.node, l.ud = peers{}, neighbourhood{}, nil
	l.network, l.self, l.machine = nil, nil, nil
	l.groups.close()
	l.memory.Release()
}

// Descriptors become readable when there may be something to do.
func (l *Library) Descriptors() []int {
	if l.network == nil {
		return nil
	}
	return l.network.Descriptors()
}

// Progress receives, sends, and notifies consumers. It returns how much happened.
func (l *Library) Progress() (n int) {
	if len(l.devices) > 0 {
		memory.Guard()
		work := device.TakeWork()
		for _, d := range l.devices {
			n += d.Progress(work)
		}
	}
	if l.network == nil {
		return n
	}
	memory.Guard()
	n += l.progressLinks()
	now := l.cfg.Clock()
	l.machine.OnTimeout(now)
	l.groups.onTimeout(now)
	l.node.onTimeout(now)
	n += l.push()
	return n
}

// progressLinks receives. A peer's connections that have ended are reported after the connections
// that it has made before, though the two arrive by different sockets: programs count on that
// order.
func (l *Library) progressLinks() (n int) {
	l.conns.receiving = true
	n = l.self.Progress(progressBatch)
	l.turns++
	for _, d := range l.peers.links {
		if d.node == nil && d.opened == 0 && l.turns%idleTurns != 0 {
			continue
		}
		if d.isSeen(l.cfg.Lane, l.turns) {
			n += d.link.Progress(progressBatch)
		}
	}
	if l.cfg.Lane != nil {
		l.cfg.Lane.Rings = 0
	}
	l.nodeConns.collect()
	l.conns.receiving = false
	if len(l.conns.ended) > 0 {
		l.network.Woken()
	}
	for turn := 0; turn == 0 || len(l.conns.ended) > 0 && turn < turnsMax; turn++ {
		got := l.network.Receive(progressBatch, arrivals{l})
		n += got
		if got == 0 { // fewer than a batch means little: a look is at some of the sockets only
			break
		}
	}
	l.conns.report()
	return n
}

// turnsMax bounds how often the connection manager may receive before ends are reported.
const turnsMax = 64

// push sends what calls and arrivals have brought.
func (l *Library) push() int {
	done, busy := l.engine.Progress()
	n, waiting := l.groups.pump()
	done += n
	if done > 0 && l.sleep.untimed { // something may be due from a peer now
		l.sleep.added = true
		l.sleep.setUntimed(false)
	}
	l.busy = !l.ud.sendWaiting() || busy || waiting
	l.peers.push()
	return done
}

// Push sends what a call has posted. Every call that may send ends with it.
func (l *Library) Push() {
	if l.network != nil {
		memory.Guard()
		l.push()
	}
}

const (
	idleTurns = 16  // calls that share one look, a system call, at a link that nobody uses
	roomPause = 1e6 // ns until a link without room is asked again
)

// NextTimeout is when Progress must run even if nothing arrives; 0: never.
func (l *Library) NextTimeout() (next int64) {
	for _, d := range l.devices {
		next = progress.Earlier(next, d.NextTimeout())
	}
	if l.network == nil {
		return next
	}
	if l.sleep.added {
		return 1
	}
	next = progress.Earlier(next, progress.Earlier(l.machine.NextTimeout(), l.node.nextTimeout()))
	next = progress.Earlier(next, l.groups.nextTimeout(l.busy))
	if l.busy || l.cfg.Lane != nil && l.cfg.Lane.Unsent+l.cfg.Lane.Ended > 0 {
		next = progress.Earlier(next, l.cfg.Clock()+roomPause)
	}
	return next
}

// Arm says whether a thread may sleep: true if there is nothing to do now; until when, 0 without
// end.
func (l *Library) Arm() (until int64, ok bool) {
	for _, d := range l.devices {
		if !d.Arm() {
			l.Disarm()
			return 0, false
		}
	}
	l.sleep.added = false
	if !l.groups.armRails() || !l.peers.arm() {
		l.Disarm()
		return 0, false
	}
	n := l.NextTimeout()
	l.sleep.asleep = n == 0 || n > l.cfg.Clock()
	l.sleep.setUntimed(l.sleep.asleep && (l.network == nil || !l.node.timed()))
	return n, l.sleep.asleep
}

// Disarm ends what Arm began.
func (l *Library) Disarm() {
	l.sleep.asleep, l.sleep.added = false, false
	l.sleep.setUntimed(false)
	for _, d := range l.devices {
		d.Disarm()
	}
	l.peers.disarm()
}

// Now is the time of the library's clock, ns.
func (l *Library) Now() int64 { return l.cfg.Clock() }

// Neighbours is to how many processes of this node data goes through shared memory; for tests.
func (l *Library) Neighbours() int { return l.node.joined() }

// Tables is how many of them have their protection tables mapped here; for tests.
func (l *Library) Tables() int { return l.node.mapped() }

// Process is the number that names this process's socket on the node, while an adapter is open.
func (l *Library) Process() [16]byte { return l.node.name }

// Adapters is how many are open, those for queries not counted.
func (l *Library) Adapters() (n int) {
	for _, ia := range l.ias {
		if !ia.query {
			n++
		}
	}
	return n
}

// Shut closes the sockets, once no adapter is open.
func (l *Library) Shut() {
	switch {
	case l.Adapters() > 0:
	case l.network != nil:
		l.close()
	default: // RDMA adapters only
		l.memory.Release()
	}
}

// IsQuery says whether dat_ib_open_query has opened the adapter.
func (ia *IA) IsQuery() bool { return ia.query }

// Break reports to each adapter that the library cannot go on.
func (l *Library) Break() {
	for _, ia := range l.ias {
		ia.asyncError(EventIACatastrophic, ia.handle, 0)
	}
}

// IAOf is the adapter of a handle.
func (l *Library) IAOf(h Handle) (*IA, codes.Return) {
	return find[*IA](l, h, codes.InvalidHandleIA)
}
