// Package simnet is a network for tests: it drives the protocol machines of several tasks in virtual time, and loses, duplicates,
// delays, reorders and cuts off packets as a seed says. The same seed gives the same run.
package simnet

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"syscall"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// Config is how bad the network is. Shares are of packets, 0 to 1.
type Config struct {
	Seed      uint64
	Loss      float64
	Duplicate float64
	Stray     float64       // packets followed by a forged or damaged one that a receiver must see through
	DelayMin  time.Duration // of a packet on its way; the spread between the two reorders
	DelayMax  time.Duration
	MTU       int     // longer packets vanish; 0: no limit
	Full      float64 // packets that the sender's socket does not take
}

// Counts is what the network did.
type Counts struct{ Packets, Lost, Duplicated, Strays, TooLong, Cut, Full int }

// Net is a network with its nodes. It has no goroutine; Step does everything.
type Net struct {
	Counts Counts
	cfg    Config
	random *rand.Rand
	now    int64
	nodes  []*node
	queue  events
	serial uint64
	cut    map[[2]int]bool
	buffer []byte // where a packet lies while its receiver looks at it: as a socket's, not on the Go heap
}

type node struct {
	net     *Net
	index   int
	addr    netip.AddrPort
	machine *udp.Machine
	asleep  bool // does not run: what arrives waits
	waiting []event
}

type event struct {
	at     int64
	serial uint64
	to     *node
	from   netip.AddrPort
	b      []byte
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// New makes a network of n nodes; machine makes the protocol of each, which sends through the outlet it is given. All
// machines are connected to each other.
func New(cfg Config, n int, machine func(i int, random func() uint64, out udp.Outlet) (*udp.Machine, error)) (*Net, error) {
	buffer, err := syscall.Mmap(-1, 0, 1<<17, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("simnet: %w", err)
	}
	s := &Net{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 1)), now: 1, cut: map[[2]int]bool{}, buffer: buffer}
	for i := range n {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)
		s.nodes = append(s.nodes, &node{net: s, index: i, addr: addr})
	}
	for i := range n {
		if err := s.Restart(i, machine); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Restart gives node i a new machine at the old address, as a task that starts again; the others stay connected as they were.
// The old machine is closed without a word.
func (s *Net) Restart(i int, machine func(i int, random func() uint64, out udp.Outlet) (*udp.Machine, error)) error {
	n := s.nodes[i]
	if n.machine != nil {
		n.machine.Close()
	}
	m, err := machine(i, s.random.Uint64, n)
	if err != nil {
		return err
	}
	n.machine = m
	for _, other := range s.nodes {
		if other != n {
			if err := m.Connect(transport.Endpoint(other.index), transport.Address{Bytes: udp.EncodeAddress(other.addr)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes all machines and frees the network's memory.
func (s *Net) Close() error {
	for _, n := range s.nodes {
		n.machine.Close()
	}
	return syscall.Munmap(s.buffer)
}

// Now is the virtual time, in nanoseconds.
func (s *Net) Now() int64 { return s.now }

// Machine is the protocol of node i.
func (s *Net) Machine(i int) *udp.Machine { return s.nodes[i].machine }

// Cut breaks or mends the path between two nodes, both ways.
func (s *Net) Cut(a, b int, broken bool) { s.cut[[2]int{min(a, b), max(a, b)}] = broken }

// Sleep stops node i, as a task that does not get the processor, or lets it run again.
func (s *Net) Sleep(i int, asleep bool) {
	n := s.nodes[i]
	n.asleep = asleep
	if !asleep {
		for _, e := range n.waiting {
			e.at = s.now
			heap.Push(&s.queue, e)
		}
		n.waiting = nil
	}
}

// Transmit implements udp.Outlet for node n.
func (n *node) Transmit(_ udp.Path, to netip.AddrPort, head []byte, data transport.Addr, count int) udp.Outcome {
	s := n.net
	if s.random.Float64() < s.cfg.Full {
		s.Counts.Full++
		return udp.Full
	}
	b := make([]byte, len(head)+count)
	copy(b, head)
	if memory.CopyOut(b[len(head):], data) != nil {
		return udp.Fault
	}
	s.Counts.Packets++
	for _, target := range s.nodes {
		if target.addr == to {
			s.route(n, target, b)
		}
	}
	return udp.Sent
}

func (s *Net) route(from, to *node, b []byte) {
	switch {
	case s.cut[[2]int{min(from.index, to.index), max(from.index, to.index)}]:
		s.Counts.Cut++
	case s.cfg.MTU > 0 && len(b) > s.cfg.MTU:
		s.Counts.TooLong++
	case s.random.Float64() < s.cfg.Loss:
		s.Counts.Lost++
	default:
		s.deliver(from.addr, to, b)
		if s.random.Float64() < s.cfg.Duplicate {
			s.Counts.Duplicated++
			s.deliver(from.addr, to, b)
		}
	}
	if s.random.Float64() < s.cfg.Stray {
		s.Counts.Strays++
		s.deliver(from.addr, to, s.stray(b))
	}
}

func (s *Net) deliver(from netip.AddrPort, to *node, b []byte) {
	delay := s.cfg.DelayMin
	if spread := s.cfg.DelayMax - s.cfg.DelayMin; spread > 0 {
		delay += time.Duration(s.random.Int64N(int64(spread)))
	}
	s.serial++
	heap.Push(&s.queue, event{s.now + int64(delay), s.serial, to, from, b})
}

// stray is a packet that must not be believed, made from a real one: cut short, of another version, from another session, or noise.
func (s *Net) stray(b []byte) []byte {
	c := append([]byte(nil), b...)
	switch s.random.IntN(4) {
	case 0:
		return c[:s.random.IntN(min(len(c), 32))]
	case 1:
		c[0] ^= 0xf0
	case 2:
		c[8+s.random.IntN(8)] ^= 1 << s.random.IntN(8) // the cookie, or what a Hello's signature covers
	case 3:
		for i := range c {
			c[i] = byte(s.random.Uint32())
		}
	}
	return c
}

// Step moves to the next thing that happens, a packet or a timer, and lets it happen. False: nothing will happen any more.
func (s *Net) Step() bool {
	next := int64(0)
	if len(s.queue) > 0 {
		next = s.queue[0].at
	}
	for _, n := range s.nodes {
		if t := n.machine.NextTimeout(); t != 0 && !n.asleep && (next == 0 || t < next) {
			next = t
		}
	}
	if next == 0 {
		return false
	}
	s.now = max(s.now, next)
	if len(s.queue) > 0 && s.queue[0].at <= s.now {
		s.arrive(heap.Pop(&s.queue).(event))
	}
	for _, n := range s.nodes {
		if !n.asleep {
			n.machine.OnTimeout(s.now)
			n.machine.Complete()
		}
	}
	return true
}

// arrive hands a packet to its receiver, in memory that is worth nothing afterwards.
func (s *Net) arrive(e event) {
	if e.to.asleep {
		e.to.waiting = append(e.to.waiting, e)
		return
	}
	b := s.buffer[:copy(s.buffer, e.b)]
	e.to.machine.OnPacket(s.now, 0, e.from, b)
	for i := range b {
		b[i] = 0xdb
	}
	if len(s.queue) == 0 || s.queue[0].at > s.now || s.queue[0].to != e.to {
		e.to.machine.OnIdle()
	}
}
