package simnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

const (
	simSeeds = 60 // SIM_SEEDS overrides it
	// events and virtual time that a run may take; they only guard against runs that never end
	maxEvents = 3_000_000
	maxTime   = int64(10 * time.Minute)
)

// TestSimulation runs random traffic over random networks: every message arrives exactly once and intact, buffers are free when the
// link says so and not before, flushes keep their word, everything ends.
func TestSimulation(t *testing.T) {
	first, n := uint64(1), uint64(simSeeds)
	if s := os.Getenv("SIM_SEEDS"); s != "" {
		v, err := strconv.ParseUint(s, 10, 32)
		if err != nil || v == 0 {
			t.Fatalf("SIM_SEEDS=%q: a number of seeds is wanted", s)
		}
		n = v
	}
	if s := os.Getenv("SIM_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("SIM_SEED=%q: one seed is wanted", s)
		}
		first, n = v, 1
	}
	memory.Guard()
	var total Counts
	var stats transport.Stats
	for seed := first; seed < first+n; seed++ {
		s := newSim(t, seed)
		if err := s.run(); err != nil {
			t.Fatalf("seed %d (SIM_SEED=%d repeats it; %+v): %v", seed, seed, s.net.cfg, err)
		}
		s.add(&total, &stats)
		s.close()
	}
	t.Logf("%d seeds: network %+v; link %+v", n, total, stats)
	if n >= simSeeds { // the runs must have met what they are for
		for what, count := range map[string]int{
			"lost": total.Lost, "duplicated": total.Duplicated, "stray": total.Strays, "cut": total.Cut, "full": total.Full,
			"retransmitted": int(stats.RetransmittedPackets), "duplicate": int(stats.DuplicatePackets), "ghost": int(stats.GhostPackets),
		} {
			if count == 0 {
				t.Errorf("no packet was %s in any run: the simulation tests less than it says", what)
			}
		}
	}
}

// sim is one run.
type sim struct {
	t        *testing.T
	random   *rand.Rand
	net      *Net
	n        int
	failures []error
	messages []*message
	waiting  int // messages sent and not accepted
	flushes  int // flushes not done
	arena    []byte
	used     int
}

type message struct {
	id       uint64
	from, to int
	data     []byte // user memory while the link may read it
	n        int
	hdr      int
	accepted int
	refusals int
	done     int
	sim      *sim
	op       transport.Op
}

func newSim(t *testing.T, seed uint64) *sim {
	r := rand.New(rand.NewPCG(seed, 2))
	share := func(most float64) float64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return r.Float64() * most
	}
	cfg := Config{
		Seed: seed, Loss: share(0.3), Duplicate: share(0.2), Stray: share(0.1), Full: share(0.1),
		DelayMin: time.Duration(r.IntN(int(time.Millisecond))),
	}
	cfg.DelayMax = cfg.DelayMin + time.Duration(r.IntN(int(3*time.Millisecond)))
	arena, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, random: r, n: 2 + r.IntN(3), arena: arena}
	packet := []int{1024, 1472, 8192, 65507}[r.IntN(4)]
	copyMax := []int{-1, 64, 128, 16384}[r.IntN(4)]
	buffers := []int{1, 8, 128}[r.IntN(3)]
	threshold := 1 + r.IntN(30)
	polling := []time.Duration{10 * time.Millisecond, 400 * time.Millisecond}[r.IntN(2)]
	key := make([]byte, 32*r.IntN(2))
	cfg.MTU = packet
	s.net, err = New(cfg, s.n, func(i int, random func() uint64, out udp.Outlet) (*udp.Machine, error) {
		m, err := udp.NewMachine(udp.Config{
			Task: i, NumTasks: s.n, Key: key, Partition: "sim", PacketSize: packet, CopyMax: copyMax, RexmitBufCount: buffers,
			AckThreshold: threshold, PollingInterval: polling, ReceiveBuffer: 1 << (17 + r.IntN(6)), Random: random,
			PeerFailed: func(ep transport.Endpoint, err error) { s.fail("task %d: peer %d failed: %v", i, ep, err) },
		}, out)
		if err == nil {
			m.Handle(3, func(msg *transport.Msg) transport.Verdict { return s.handle(i, msg) })
		}
		return m, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sim) close() {
	if err := s.net.Close(); err != nil {
		s.t.Error(err)
	}
	if err := syscall.Munmap(s.arena); err != nil {
		s.t.Error(err)
	}
}

func (s *sim) add(c *Counts, st *transport.Stats) {
	n := s.net.Counts
	c.Packets += n.Packets
	c.Lost += n.Lost
	c.Duplicated += n.Duplicated
	c.Strays += n.Strays
	c.TooLong += n.TooLong
	c.Cut += n.Cut
	c.Full += n.Full
	for i := range s.n {
		m := s.net.Machine(i).Stats()
		st.DuplicatePackets += m.DuplicatePackets
		st.RetransmittedPackets += m.RetransmittedPackets
		st.GhostPackets += m.GhostPackets
		st.PacketsSent += m.PacketsSent
		st.PacketsReceived += m.PacketsReceived
		st.DataSent += m.DataSent
		st.DataReceived += m.DataReceived
		st.AcksSent += m.AcksSent
		st.AcksReceived += m.AcksReceived
	}
}

func (s *sim) fail(format string, a ...any) {
	s.failures = append(s.failures, fmt.Errorf(format, a...))
}

// alloc is n bytes of user memory, never used again.
func (s *sim) alloc(n int) []byte {
	if s.used+n > len(s.arena) {
		return nil
	}
	b := s.arena[s.used : s.used+n : s.used+n]
	s.used += n
	return b
}

func pattern(b []byte, id uint64) {
	for i := range b {
		b[i] = byte(id>>(i%8*8)) ^ byte(i*7)
	}
}

func hasPattern(b []byte, id uint64) bool {
	for i := range b {
		if b[i] != byte(id>>(i%8*8))^byte(i*7) {
			return false
		}
	}
	return true
}

func (s *sim) handle(me int, msg *transport.Msg) transport.Verdict {
	if len(msg.Hdr) < 8 {
		s.fail("a message with %d bytes of header", len(msg.Hdr))
		return transport.Accept
	}
	id := binary.LittleEndian.Uint64(msg.Hdr)
	if id >= uint64(len(s.messages)) {
		s.fail("a message that was never sent: %d", id)
		return transport.Accept
	}
	m := s.messages[id]
	if m.to != me || m.from != int(msg.From) || len(msg.Hdr) != m.hdr || len(msg.Data) != m.n {
		s.fail("message %d arrives as another", id)
	}
	if !hasPattern(msg.Hdr[8:], id) || !hasPattern(msg.Data, id) {
		s.fail("message %d is damaged", id)
	}
	if uintptr(memory.AddrOf(msg.Data))%8 != 0 && len(msg.Data) > 0 {
		s.fail("message %d: data is not aligned", id)
	}
	if m.refusals < 4 && s.random.IntN(20) == 0 {
		m.refusals++
		return transport.Refuse
	}
	if m.accepted++; m.accepted > 1 {
		s.fail("message %d is offered after it was accepted", id)
	}
	s.waiting--
	if s.random.IntN(10) == 0 && len(s.messages) < 2000 { // handlers send
		s.send(me, s.random.IntN(s.n))
	}
	return transport.Accept
}

// send sends a message of random size; false: no room.
func (s *sim) send(from, to int) bool {
	if from == to {
		return true
	}
	l := s.net.Machine(from).Limits()
	m := &message{id: uint64(len(s.messages)), from: from, to: to, sim: s, hdr: 8 + 8*s.random.IntN(6)}
	room := l.SendMax - m.hdr
	if s.random.IntN(8) > 0 {
		room = min(room, 400)
	}
	m.n = s.random.IntN(room + 1)
	if m.data = s.alloc(m.n); m.data == nil {
		return false
	}
	pattern(m.data, m.id)
	hdr := binary.LittleEndian.AppendUint64(nil, m.id)
	hdr = append(hdr, make([]byte, m.hdr-8)...)
	pattern(hdr[8:], m.id)
	m.op = transport.Op{N: uint64(m.n), Owner: m, Done: func(op *transport.Op, err error) { op.Owner.(*message).over(err) }}
	if m.n > 0 {
		m.op.Local = memory.AddrOf(m.data)
	}
	s.messages = append(s.messages, m)
	s.waiting++
	status, err := s.net.Machine(from).Send(s.net.Now(), transport.Endpoint(to), 3, hdr, &m.op)
	if err != nil {
		s.messages = s.messages[:m.id]
		s.waiting--
		if !errors.Is(err, transport.ErrBusy) {
			s.fail("Send: %v", err)
		}
		return false
	}
	if status == transport.Done {
		m.over(nil)
	}
	return true
}

// over: the link says that the message's memory is free; from now on it holds something else.
func (m *message) over(err error) {
	if m.done++; m.done > 1 || err != nil {
		m.sim.fail("message %d: Done call %d with %v", m.id, m.done, err)
	}
	for i := range m.data {
		m.data[i] = 0xff
	}
}

// flush checks that all messages before it are accepted when it is done.
func (s *sim) flush(from, to int) {
	before := s.messages[:len(s.messages):len(s.messages)]
	check := func(err error) {
		s.flushes--
		if err != nil {
			s.fail("flush: %v", err)
		}
		for _, m := range before {
			if m.from == from && m.to == to && m.accepted == 0 {
				s.fail("a flush is done before message %d is accepted", m.id)
			}
		}
	}
	s.flushes++
	op := &transport.Op{Done: func(_ *transport.Op, err error) { check(err) }}
	status, err := s.net.Machine(from).Flush(s.net.Now(), transport.Endpoint(to), op)
	if err != nil {
		s.fail("Flush: %v", err)
	}
	if status == transport.Done {
		check(nil)
	}
}

// disturb stops tasks and cuts paths for a while.
func (s *sim) disturb(asleep, cut *[2]int) {
	switch s.random.IntN(400) {
	case 0:
		s.net.Sleep(asleep[0], false)
		asleep[0] = s.random.IntN(s.n)
		s.net.Sleep(asleep[0], true)
	case 1, 2, 3, 4:
		s.net.Sleep(asleep[0], false)
	case 5:
		s.net.Cut(cut[0], cut[1], false)
		cut[0], cut[1] = s.random.IntN(s.n), s.random.IntN(s.n)
		s.net.Cut(cut[0], cut[1], true)
	case 6, 7, 8, 9:
		s.net.Cut(cut[0], cut[1], false)
	}
}

func (s *sim) run() error {
	var asleep, cut [2]int
	target := 100 + s.random.IntN(900)
	for i := 0; len(s.failures) == 0; i++ {
		sending := len(s.messages) < target && s.used < len(s.arena)-1<<20
		if sending {
			for range s.random.IntN(4) {
				s.send(s.random.IntN(s.n), s.random.IntN(s.n))
			}
			if s.random.IntN(50) == 0 {
				if a, b := s.random.IntN(s.n), s.random.IntN(s.n); a != b {
					s.flush(a, b)
				}
			}
			s.disturb(&asleep, &cut)
		} else {
			s.net.Sleep(asleep[0], false)
			s.net.Cut(cut[0], cut[1], false)
			if s.waiting == 0 && s.flushes == 0 && s.finished() {
				break
			}
		}
		if !s.net.Step() && !sending {
			return fmt.Errorf("nothing happens any more; %d messages, %d flushes wait", s.waiting, s.flushes)
		}
		if i > maxEvents || s.net.Now() > maxTime {
			return fmt.Errorf("no end after %d events and %v; %d messages, %d flushes wait", i, time.Duration(s.net.Now()), s.waiting, s.flushes)
		}
	}
	if len(s.failures) == 0 {
		s.leave()
	}
	return errors.Join(s.failures...)
}

// finished says whether all messages' memory is free.
func (s *sim) finished() bool {
	for _, m := range s.messages {
		if m.done == 0 {
			return false
		}
	}
	return true
}

// leave ends all sessions; that takes a bounded time, whoever hears of it.
func (s *sim) leave() {
	for i := range s.n {
		s.net.Machine(i).Leave(s.net.Now())
	}
	end := s.net.Now() + int64(time.Second)
	for s.net.Step() && s.net.Now() < end {
	}
	for i := range s.n {
		if !s.net.Machine(i).Left() {
			s.fail("task %d has not left after a second", i)
		}
	}
	for _, m := range s.messages {
		if m.accepted != 1 || m.done != 1 {
			s.fail("message %d: accepted %d times, done %d times", m.id, m.accepted, m.done)
		}
	}
}
