package simnet

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"time"

	"lapi/transport"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// Counts are the network's counts of packets.
type Counts struct {
	Sent       int // taken from machines
	Parts      int // of these, parts of others that would have been too long
	Delivered  int // handed to machines
	Lost       int // by chance
	Dropped    int // the queue of a bottleneck was full
	Overflowed int // the receiver's socket was full
	TooLong    int // longer than the path takes
	Nobody     int // there was no task at the address
	Cut        int // a partition or a dead adapter was in the way
	Duplicated int
	Strays     int // forged packets and replays put on the way
	Replayed   int // of these, packets that had been on their way long before
	Damaged    int // packets that had bits flipped
	Full       int // times that a sender's socket took none
}

// Add adds d to c.
func (c *Counts) Add(d *Counts) {
	sum, more := reflect.ValueOf(c).Elem(), reflect.ValueOf(d).Elem()
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// Net is a network with its nodes. It is not safe for concurrent use.
type Net struct {
	Counts Counts
	// Happen runs when the time of a code given to Schedule has come.
	Happen func(code int32)

	random  *rand.Rand
	now     int64
	nodes   []*Node
	lines   []line // by from, to, path
	queue   queue
	packets packets
	payload bool // payload bits may flip: the protocol notices
	turns   int  // of nodes in a row, at the same time and without a packet
	err     error
	log     io.Writer // nil: none
	current []Disturbance
	earlier []int32 // packets kept for replays
}

// maxIdleTurns in a row without a packet and without time passing are a timer that is always due.
const maxIdleTurns = 1000

// startOfTime is not 0, which machines take for never.
const startOfTime = 1

// New makes the network of a scenario, its nodes without tasks yet. log gets a line for each
// packet; it may be nil.
func New(sc *Scenario, log io.Writer) *Net {
	s := &Net{random: rand.New(rand.NewPCG(sc.Seed, 1)), now: startOfTime, log: log,
		payload: sc.Level == wire.LevelMAC}
	for i := range sc.Tasks {
		n := &Node{
			net: s, index: i, due: math.MaxInt64, full: sc.Full, buffer: sc.ReceiveBuffer,
			service: int64(sc.Service), deaf: sc.Deaf, gathers: sc.Gather,
			random: rand.New(rand.NewPCG(sc.Seed, uint64(i)+100)),
		}
		for p := range sc.Addresses[i] {
			n.addrs = append(n.addrs, address(i, udp.Path(p)))
		}
		s.nodes = append(s.nodes, n)
	}
	s.lines = make([]line, sc.Tasks*sc.Tasks*udp.MaxPaths)
	for i := range s.lines {
		s.lines[i].way = &sc.Ways[i%udp.MaxPaths]
	}
	return s
}

// address is where path of node i ends.
func address(i int, path udp.Path) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(path), byte(i >> 8), byte(i)}), 7000)
}

// Now is the virtual time, in nanoseconds.
func (s *Net) Now() int64 { return s.now }

// Random is the network's own source; each number that a test draws from it changes the rest of the
// run.
func (s *Net) Random() *rand.Rand { return s.random }

// Node is the place of task i.
func (s *Net) Node(i int) *Node { return s.nodes[i] }

// Err is a fault of the network itself: a timer that is always due, a packet sent to an address of
// another path.
func (s *Net) Err() error { return s.err }

func (s *Net) fail(format string, a ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, a...)
	}
}

// InFlight is how many packets are on their way or wait at sockets.
func (s *Net) InFlight() int { return s.packets.inUse() - len(s.earlier) }

// Close frees the network's memory. Links are closed by their owners, before.
func (s *Net) Close() { s.packets.close() }

// Schedule has Happen run with code after d; code is not negative and below 1<<30.
func (s *Net) Schedule(d time.Duration, code int32) { s.queue.add(s.now+int64(d), -1-code) }

// Step moves to the next thing that happens and lets it happen. False: nothing will happen any
// more, or Err is set.
func (s *Net) Step() bool {
	if s.err != nil {
		return false
	}
	at := int64(math.MaxInt64)
	if len(s.queue.heap) > 0 {
		at = s.queue.heap[0].at
	}
	var who *Node
	for _, n := range s.nodes {
		if t := n.wake(); t < at {
			at, who = t, n
		}
	}
	if at == math.MaxInt64 {
		return false
	}
	if at > s.now || who == nil {
		s.turns = 0
		s.now = max(s.now, at)
	}
	if who != nil {
		who.run()
		return true
	}
	e := s.queue.take()
	switch {
	case e.what >= 0:
		s.arrive(e.what)
	case e.what <= disturbanceEvents:
		s.endDisturbance(e.what)
	default:
		s.Happen(-1 - e.what)
	}
	return true
}

// arrive puts a packet into its receiver's socket.
func (s *Net) arrive(i int32) {
	k := &s.packets.all[i]
	n := s.nodes[k.to]
	if n.turn == nil {
		s.lose(i, &s.Counts.Nobody, "nobody there")
		return
	}
	size := len(k.b) + socketOverhead
	if n.inboxBytes+size > n.buffer && n.waiting() > 0 {
		s.lose(i, &s.Counts.Overflowed, "overflow")
		return
	}
	if n.waiting() == 0 {
		n.ready = s.now
	}
	n.inbox = append(n.inbox, i)
	n.inboxBytes += size
}

// Node is one task's place in the network. It is the udp.Outlet of that task's machine.
type Node struct {
	net      *Net
	index    int
	addrs    []netip.AddrPort
	random   *rand.Rand // of the task's own protocol machines
	turn     func()
	next     func() int64
	dirty    bool  // due is to be asked for anew
	due      int64 // when the task wants to run even if nothing arrives; MaxInt64: never
	service  int64 // ns that the task needs for a packet
	busy     int64 // until when it needs them
	deaf     float64
	asleep   int // disturbances that keep it from running, and Compute
	computes bool
	woke     int64 // when the last of them ended
	full     float64
	stuffed  int // disturbances that keep its socket full
	buffer   int // bytes of its socket

	inbox      []int32
	head       int // of inbox: the first that was not taken
	inboxBytes int
	ready      int64 // when the oldest packet came
	out, in    [udp.MaxPaths]int64
	gathers    bool // packets go at Push
	gathered   []gathered
	bounces    []udp.Bounce
	onPath     func(path udp.Path, up bool) // notifies the task of its adapters
	// disturbances that keep an adapter down, and that the task was notified of
	down [udp.MaxPaths]int
	sent int // packets taken from its machines
	got  int // packets handed to them
}

// socketOverhead is what a packet costs a socket's buffer beyond its bytes.
const socketOverhead = 512

// Index is the task.
func (n *Node) Index() int { return n.index }

// Address is the address that peers pass to Connect: it does not name the generation.
func (n *Node) Address() transport.Address {
	return transport.Address{Bytes: udp.EncodeAddress(n.addrs...)}
}

// Locals is the node's addresses as a machine's configuration has them.
func (n *Node) Locals() (l []udp.Local) {
	for _, a := range n.addrs {
		l = append(l, udp.Local{Addr: a})
	}
	return l
}

// Attach says what runs here: turn when a packet has come, or the time that next returned is there
// (0: never). next is asked after each turn, and after Touch.
func (n *Node) Attach(turn func(), next func() int64) {
	n.turn, n.next, n.dirty = turn, next, true
}

// Detach: nothing runs here any more, and packets that wait at the socket are lost unless keep is
// set, as if another process had opened it at once.
func (n *Node) Detach(keep bool) {
	n.turn, n.next, n.onPath, n.due, n.dirty = nil, nil, nil, math.MaxInt64, false
	for !keep && n.waiting() > 0 {
		i, _ := n.take()
		n.net.packets.drop(i)
	}
}

// Touch: the task was called from outside its turn, so when it wants to run next may have changed.
func (n *Node) Touch() { n.dirty = true }

// Compute has the task compute, or no longer: it has no turns, and what arrives waits at its socket.
func (n *Node) Compute(on bool) {
	if n.computes == on {
		return
	}
	n.computes, n.dirty = on, true
	if on {
		n.asleep++
	} else {
		n.asleep--
	}
}

// LastAsleep is the last time when the node's task did not get the processor; 0: it always did.
func (n *Node) LastAsleep() int64 {
	if n.asleep > 0 {
		return n.net.now
	}
	return n.woke
}

func (n *Node) waiting() int { return len(n.inbox) - n.head }

// wake is when the node runs next; MaxInt64: never.
func (n *Node) wake() int64 {
	if n.turn == nil || n.asleep > 0 {
		return math.MaxInt64
	}
	if n.dirty {
		n.dirty = false
		if n.due = n.next(); n.due == 0 {
			n.due = math.MaxInt64
		}
	}
	t := n.due
	if n.waiting() > 0 {
		t = min(t, n.ready)
	}
	return max(t, n.busy)
}

// run gives the task a turn.
func (n *Node) run() {
	s := n.net
	before := n.waiting()
	n.turn()
	n.dirty = true
	taken := before - n.waiting()
	n.busy = s.now + int64(taken)*n.service
	if taken > 0 {
		s.turns = 0
	} else if s.turns++; s.turns > maxIdleTurns {
		s.fail("task %d wants to run again and again at %v, with nothing to do", n.index,
			time.Duration(s.now))
	}
}

// take takes the oldest packet from the socket.
func (n *Node) take() (i int32, ok bool) {
	if n.waiting() == 0 {
		return 0, false
	}
	i = n.inbox[n.head]
	n.head++
	n.inboxBytes -= len(n.net.packets.all[i].b) + socketOverhead
	if n.head == len(n.inbox) {
		n.inbox, n.head = n.inbox[:0], 0
	} else {
		n.ready = n.net.now
	}
	return i, true
}
