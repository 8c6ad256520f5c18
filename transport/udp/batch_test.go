package udp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// gatherer reads what it was given only at Push, as the kernel does.
type gatherer struct {
	pairOutlet
	waiting []waitingPacket
	bounce  func(i int) Outcome // of the i-th at Push; nil: none comes back
	bounces []Bounce
	pushes  int
}

type waitingPacket struct {
	path Path
	to   netip.AddrPort
	head []byte
	data transport.Addr
	n    int
	was  []byte // head and data at that time; nil: they could not be read
}

// packet is head and data now.
func (w *waitingPacket) packet() []byte {
	b := append(bytes.Clone(w.head), make([]byte, w.n)...)
	if memory.CopyOut(b[len(w.head):], w.data) != nil {
		return nil
	}
	return b
}

func (g *gatherer) Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	w := waitingPacket{path, to, head, data, n, nil}
	w.was = w.packet()
	g.waiting = append(g.waiting, w)
	return Gathered
}

func (g *gatherer) Push() []Bounce {
	g.pushes++
	g.bounces = g.bounces[:0]
	for i, w := range g.waiting {
		o := Sent
		if !bytes.Equal(w.was, w.packet()) {
			g.p.t.Errorf("packet %d has changed since it was gathered", i)
		}
		if g.bounce != nil {
			o = g.bounce(i)
		}
		if o == Sent {
			o = g.Transmit(w.path, w.to, w.head, w.data, w.n)
		}
		if o != Sent {
			g.bounces = append(g.bounces, Bounce{Tag: i, Outcome: o})
		}
	}
	g.waiting = g.waiting[:0]
	return g.bounces
}

// setOutlet replaces the outlet of a machine that has sent nothing yet.
func (m *Machine) setOutlet(g Gatherer) {
	m.out, m.batch, m.coalescing.gathers = g, newBatch(g), true
}

// newGatheringPair is newPair with gatherers.
func newGatheringPair(t *testing.T, n int, set func(int, *Config)) (*pair, []*gatherer) {
	t.Helper()
	p := newPair(t, n, set)
	var gs []*gatherer
	for i, m := range p.ms {
		g := &gatherer{pairOutlet: pairOutlet{p, i}}
		m.setOutlet(g)
		gs = append(gs, g)
	}
	return p, gs
}

// push ends an entry of every task.
func (p *pair) push() {
	for _, m := range p.ms {
		m.Push()
	}
}

// The packets that the outlet holds are not touched before Push, whatever is acknowledged, resent,
// refused or given up meanwhile: nothing arrives damaged.
func TestBurstMemory(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		p, gs := newGatheringPair(t, 2, func(_ int, c *Config) {
			c.PacketSize, c.CopyMax = 2048,
				64
		})
		p.meet()
		p.lose = func(int, []byte) bool { return r.IntN(20) == 0 }
		damaged, arrived := 0, 0
		p.ms[1].Handle(1, func(m *transport.Msg) transport.Verdict {
			if r.IntN(10) == 0 {
				return transport.Refuse
			}
			if arrived++; len(m.Data) > 0 && !bytes.Equal(m.Data,
				bytes.Repeat(m.Data[:1], len(m.Data))) {
				damaged++
			}
			return transport.Accept
		})
		var all []*sent
		buffers := [][]byte{}
		for len(all) < 300 {
			if len(buffers) == 0 {
				buffers = append(buffers, userMemory(t, 2000))
			}
			s := &sent{data: buffers[len(buffers)-1]}
			// often the same: a stale packet must not pass for a short one
			n := []int{40, 1000, 1000, 1900}[r.IntN(4)]
			for i := range n {
				s.data[i] = byte(len(all))
			}
			s.op.Local = memory.AddrOf(s.data)
			if err := p.begin(0, 1, 1, n, s); err == nil {
				buffers = buffers[:len(buffers)-1]
				all = append(all, s)
				done := s.op.Done
				// the user's again
				s.op.Done = func(op *transport.Op,
					err error) {
					done(op, err)
					spoil(s.data)
					buffers = append(buffers, s.data)
				}
				if s.status == transport.Done {
					spoil(s.data)
					buffers = append(buffers, s.data)
				}
			}
			switch r.IntN(8) {
			case 0:
				p.push()
			case 1, 2:
				p.deliver(r.IntN(2))
			case 3, 4: // a packet resent now is acknowledged before it goes
				p.now += int64(time.Duration(r.IntN(8)) * time.Millisecond)
				p.ms[1].OnTimeout(p.now, true)
				p.ms[0].OnTimeout(p.now, true)
				p.deliver(1)
				p.ms[0].Complete()
			case 5:
				p.settle()
			}
		}
		f := p.flush(0, 1)
		for i := 0; i < 200 && !f.over(); i++ {
			p.push()
			p.pass(20 * time.Millisecond)
		}
		if !f.over() || arrived != len(all) || damaged != 0 {
			t.Errorf("seed %d: flushed: %v, %d of %d arrive, %d damaged", seed, f.over(), arrived,
				len(all), damaged)
		}
		if gs[0].pushes == 0 || p.ms[0].stats.RetransmittedPackets == 0 {
			t.Errorf("seed %d: %d pushes, %d retransmissions: nothing was tried", seed,
				gs[0].pushes, p.ms[0].stats.RetransmittedPackets)
		}
	}
}

// spoil is the user writing to a buffer that is free again.
func spoil(b []byte) {
	for i := range b {
		b[i] = byte(i)
	}
}

// The session ends while the outlet holds its packets: they go as they were.
func TestBurstDisconnect(t *testing.T) {
	p, _ := newGatheringPair(t, 3, nil)
	p.meet()
	p.ms[2].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	p.send(0, 2, 1, 0)
	p.pass(10 * time.Millisecond)
	p.send(0, 1, 1, 1000)
	p.ms[0].Disconnect(1, transport.ErrUnreachable)
	p.send(0, 2, 1, 2000) // in the same memory
	p.push()
	p.want("packets", len(p.wires[0]), 2)
	first, second := p.wires[0][0].b, p.wires[0][1].b
	if bytes.HasPrefix(second, first) || bytes.Equal(first[:wire.HeaderSize],
		second[:wire.HeaderSize]) {
		t.Error("one went twice")
	}
}

// User memory turns out to be unreadable at Push: its operation fails, all others are delivered.
func TestBurstFault(t *testing.T) {
	p, _ := newGatheringPair(t, 2, nil)
	p.meet()
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	good := p.send(0, 1, 1, 1000)
	bad := &sent{}
	bad.op.Local = unmapped(t)
	if err := p.begin(0, 1, 1, 1000, bad); err != nil || bad.status != transport.Queued {
		t.Fatalf("Send: %v, %v", bad.status, err)
	}
	after := p.send(0, 1, 1, 1000)
	p.pass(20 * time.Millisecond)
	var fault *transport.FaultError
	if bad.done != 1 || !errors.As(bad.err, &fault) || fault.Addr != bad.op.Local {
		t.Errorf("done %d times: %v", bad.done, bad.err)
	}
	if good.done != 1 || after.done != 1 || good.err != nil || after.err != nil || got != 2 {
		t.Errorf("%d messages arrive; %v, %v", got, good.err, after.err)
	}
	if f := p.flush(0, 1); !f.over() {
		t.Error("the sequence number of the faulty packet is still missing")
	}
}

// There is no room at Push: the packets are retried a little later, and are not counted as lost, or
// sent twice.
func TestBurstFull(t *testing.T) {
	p, gs := newGatheringPair(t, 2, nil)
	p.meet()
	before, window := p.ms[0].stats, p.ms[0].connected(1).paths.At(0).Congestion().Window()
	gs[0].bounce = func(int) Outcome { return Full }
	var all []*sent
	for range 5 {
		all = append(all, p.send(0, 1, 1, 1000))
	}
	p.push()
	p.want("packets on their way", len(p.wires[0]), 0)
	if s := p.ms[0].stats; s.PacketsSent != before.PacketsSent || s.DataSent != before.DataSent {
		t.Errorf("counted as sent: %d packets, %d bytes", s.PacketsSent-before.PacketsSent,
			s.DataSent-before.DataSent)
	}
	if n := p.ms[0].NextTimeout(); n == 0 || n > p.now+int64(fullDelay) {
		t.Errorf("tried again at %d, now is %d", n, p.now)
	}
	gs[0].bounce = nil
	p.pass(10 * time.Millisecond)
	for i, s := range all {
		if s.done != 1 || s.err != nil {
			t.Errorf("message %d: done %d times, %v", i, s.done, s.err)
		}
	}
	s := p.ms[0].stats
	if s.RetransmittedPackets != before.RetransmittedPackets ||
		s.DataSent-before.DataSent != 5000 ||
		p.ms[0].connected(1).paths.At(0).Congestion().Window() < window {
		t.Errorf("%d retransmissions, %d bytes sent, window %d", s.RetransmittedPackets,
			s.DataSent-before.DataSent, p.ms[0].connected(1).paths.At(0).Congestion().Window())
	}
}

// Acknowledgements in packets that come back from the outlet have not gone: the peer gets them soon
// after, and does not have to send again.
func TestBurstFullOfAcks(t *testing.T) {
	p, gs := newGatheringPair(t, 2, nil)
	p.ms[0].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	p.meet()
	p.push()
	p.pass(100 * time.Millisecond)
	there := p.send(1, 0, 1, 1000)
	p.push()
	p.deliver(1)
	before, origin := p.ms[0].stats, p.ms[1].stats
	gs[0].bounce = func(int) Outcome { return Full }
	p.send(0, 1, 1, 1000)
	p.push()
	if s := p.ms[0].stats; s.AcksSent != before.AcksSent {
		t.Errorf("%d acknowledgements are counted, none has gone", s.AcksSent-before.AcksSent)
	}
	for range 3 { // the acknowledgement alone is not gathered
		p.now += int64(fullDelay)
		p.ms[0].OnTimeout(p.now, true)
		p.deliver(0)
		p.ms[1].Complete()
	}
	if s := p.ms[1].stats; there.done != 1 ||
		s.RetransmittedPackets != origin.RetransmittedPackets {
		t.Errorf("done %d times, %d packets sent again", there.done,
			s.RetransmittedPackets-origin.RetransmittedPackets)
	}
}
