package udp

import (
	"errors"
	"math"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/internal/rtt"
	"lapi/transport/udp/wire"
)

// Acknowledgements go in batches of ACK_THRESHOLD packets, and the threshold changes at run time.
func TestAckThreshold(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.AckThreshold = 5 })
	p.meet()
	for _, threshold := range []int{5, 12, 1} {
		p.ms[1].SetAckThreshold(threshold)
		for round := range 3 {
			for i := 1; i <= threshold; i++ {
				p.want("acknowledgements before the threshold", p.count(1, wire.KindAck), 0)
				p.send(0, 1, 1, 200) // borrowed: of small ones the origin asks earlier
				p.deliver(0)
			}
			p.want("acknowledgements at the threshold", p.count(1, wire.KindAck), 1)
			p.settle()
			if p.ms[0].connected(1).sender.window.Outstanding() {
				t.Fatalf("threshold %d, round %d: something is not acknowledged", threshold, round)
			}
		}
	}
	p.ms[1].SetAckThreshold(1000)
	p.want("a threshold out of range", p.ms[1].cfg.AckThreshold, MaxAckThreshold)
	p.ms[1].SetAckThreshold(0)
	p.want("a threshold out of range", p.ms[1].cfg.AckThreshold, 1)
}

// A lone packet is acknowledged after ackDelay, not before; POLLING_INTERVAL bounds that, and so
// does RETRANSMIT_INTERVAL.
func TestAckDelay(t *testing.T) {
	for _, polling := range []time.Duration{DefaultPollingInterval, 50 * time.Microsecond} {
		p := newPair(t, 2, func(_ int, c *Config) { c.PollingInterval = polling })
		p.meet()
		p.send(0, 1, 1, 8)
		p.deliver(0)
		due := p.ms[1].NextTimeout()
		if want := p.now + int64(min(recovery.AckDelay, polling)); due == 0 || due > want {
			t.Errorf("the next timeout is in %v", time.Duration(due-p.now))
		}
		p.now += int64(min(recovery.AckDelay, polling)) - 1
		p.ms[1].OnTimeout(p.now, true)
		p.want("acknowledgements before their time", p.count(1, wire.KindAck), 0)
		p.now++
		p.ms[1].OnTimeout(p.now, true)
		p.want("acknowledgements in time", p.count(1, wire.KindAck), 1)
	}
	p := newPair(t, 2, func(_ int, c *Config) { c.RetransmitInterval = 7 })
	p.meet()
	p.ms[1].timers.turns = 0
	p.send(0, 1, 1, 8)
	p.deliver(0)
	for i := 1; i <= 7; i++ {
		if due := p.ms[1].Turn(); due != (i == 7) {
			t.Errorf("turn %d of 7: %v", i, due)
		}
	}
	p.ms[1].Check(p.now)
	p.want("acknowledgements after RETRANSMIT_INTERVAL turns without time",
		p.count(1, wire.KindAck), 1)
}

// From the second packet on an acknowledgement waits less long: more come, and the origin sends as
// much at once as is acknowledged together.
func TestStreamAckDelay(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	for range 2 {
		p.send(0, 1, 1, 200)
		p.deliver(0)
	}
	p.now += int64(recovery.StreamAckDelay) - 1
	p.ms[1].OnTimeout(p.now, true)
	p.want("acknowledgements before their time", p.count(1, wire.KindAck), 0)
	p.now++
	p.ms[1].OnTimeout(p.now, true)
	p.want("acknowledgements in time", p.count(1, wire.KindAck), 1)
}

// Data that goes back carries the acknowledgement.
func TestPiggyback(t *testing.T) {
	p := newPair(t, 2, nil)
	p.ms[0].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	p.meet()
	p.send(0, 1, 1, 8)
	p.deliver(0)
	p.send(1, 0, 1, 8)
	p.deliver(1)
	if p.ms[0].connected(1).sender.window.Outstanding() {
		t.Error("the answer acknowledged nothing")
	}
	if p.ms[1].connected(0).receiver.ackDue != 0 {
		t.Error("the acknowledgement went and is still to go")
	}
}

// retransmissions is how often a lost packet is sent again within d, with Check each turn or not.
func retransmissions(t *testing.T, d time.Duration, set func(int, *Config), turns bool) int {
	p := newPair(t, 2, set)
	p.meet()
	before := p.ms[0].Stats().RetransmittedPackets
	p.lose = func(from int, _ []byte) bool { return from == 0 }
	p.send(0, 1, 1, 8)
	for end := p.now + int64(d); p.now < end; p.now += int64(100 * time.Microsecond) {
		p.ms[0].OnTimeout(p.now, true)
		if turns && p.ms[0].Turn() {
			p.ms[0].Check(p.now)
		}
	}
	return int(p.ms[0].Stats().RetransmittedPackets - before)
}

// A wait that sleeps makes no turns: its time counts as turns, and it wakes when they are over.
func TestSleepCountsAsTurns(t *testing.T) {
	const d = 4 * time.Second
	p := newPair(t, 2, func(_ int, c *Config) { c.RetransmitInterval = 10000 })
	p.meet()
	before := p.ms[0].Stats().RetransmittedPackets
	p.lose = func(from int, _ []byte) bool { return from == 0 }
	p.send(0, 1, 1, 8)
	for end := p.now + int64(d); p.now < end; {
		wake := p.ms[0].WakeBy(p.now)
		if wake == 0 || wake > p.now+10000*turnTime {
			t.Fatalf("the sleep ends in %v", time.Duration(wake-p.now))
		}
		p.ms[0].Slept(wake - p.now)
		p.now = max(wake, p.now+1)
		p.ms[0].OnTimeout(p.now, true)
		if p.ms[0].Turn() {
			p.ms[0].Check(p.now)
		}
	}
	// every 10 ms, whatever the backoff says
	if n := p.ms[0].Stats().RetransmittedPackets - before; n < 300 {
		t.Errorf("%d retransmissions in %v asleep", n, d)
	}
	if idle := newPair(t, 2, nil); idle.ms[0].WakeBy(idle.now) != 0 {
		t.Error("it wakes with nothing to wait for")
	}
}

// POLLING_INTERVAL and RETRANSMIT_INTERVAL are upper bounds of the pause between retransmissions,
// whatever the backoff is.
func TestIntervalsBoundRetransmission(t *testing.T) {
	const d = 4 * time.Second
	plain := retransmissions(t, d, nil, false)
	polling := retransmissions(t, d, func(_ int,
		c *Config) {
		c.PollingInterval = 10 * time.Millisecond
	}, false)
	// 100 turns are 10 ms here
	loops := retransmissions(t, d, func(_ int, c *Config) { c.RetransmitInterval = 100 }, true)
	// at most 400 ms apart, after the backoff
	if plain < 10 || plain > 30 {
		t.Errorf("%d retransmissions with the defaults", plain)
	}
	if polling < 390 || polling > 450 {
		t.Errorf("%d retransmissions in %v with POLLING_INTERVAL 10 ms", polling, d)
	}
	if loops < 390 || loops > 450 {
		t.Errorf("%d retransmissions in %v with RETRANSMIT_INTERVAL of 10 ms", loops, d)
	}
}

// A hole that later packets reveal is filled without waiting for a timer.
func TestFastRetransmission(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.AckThreshold = 10 })
	p.meet()
	n := 0
	p.lose = func(from int, _ []byte) bool {
		if from == 0 {
			n++
		}
		return from == 0 && (n == 2 || n == 4)
	}
	for range 12 {
		p.send(0, 1, 1, 500) // borrowed: each is a packet
	}
	window := p.ms[0].connected(1).paths.At(0).Congestion().Window()
	p.settle()
	p.want("retransmitted packets", int(p.ms[0].Stats().RetransmittedPackets), 2)
	p.want("duplicates", int(p.ms[1].Stats().DuplicatePackets), 0)
	if got := p.ms[0].connected(1).paths.At(0).Congestion().Window(); got > window || got < window/3 {
		t.Errorf("the window went from %d to %d bytes: it should shrink once at most", window, got)
	}
	p.pass(time.Millisecond)
	if p.ms[0].connected(1).sender.window.Outstanding() {
		t.Error("something is missing")
	}
}

// A peer that was away for a while makes a retransmission superfluous. It is not taken as a sign
// that others are lost.
func TestLateReceiver(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.AckThreshold = 8 })
	p.meet()
	for range 20 {
		p.send(0, 1, 1, 200)
	}
	p.now += int64(rtt.Initial) + 1
	p.ms[0].OnTimeout(p.now, true)
	window := p.ms[0].connected(1).paths.At(0).Congestion().Window()
	p.settle()
	p.pass(time.Millisecond)
	p.want("retransmitted packets", int(p.ms[0].Stats().RetransmittedPackets), 1)
	p.want("duplicates", int(p.ms[1].Stats().DuplicatePackets), 1)
	if p.ms[0].connected(1).paths.At(0).Congestion().Window() < window ||
		p.ms[0].connected(1).sender.window.Outstanding() {
		t.Error("the window shrank, or something is missing")
	}
}

// When all that was in flight is lost, one retransmission by timer reveals it all.
func TestWholeFlightLost(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	p.lose = func(from int, _ []byte) bool { return from == 0 }
	for range 20 {
		p.send(0, 1, 1, 200)
	}
	p.lose = nil
	p.now += int64(rtt.Initial) + 1
	p.ms[0].OnTimeout(p.now, true)
	p.want("packets sent by the timer", p.count(0, wire.KindData), 1)
	p.settle()
	p.want("retransmitted packets", int(p.ms[0].Stats().RetransmittedPackets), 20)
	p.want("duplicates", int(p.ms[1].Stats().DuplicatePackets), 0)
}

// No more than MAX_PKTS_OUT bursts of packets are in flight; small messages wait earlier and share
// packets; beyond all bounds Send says ErrBusy.
func TestWindow(t *testing.T) {
	for name, c := range map[string]struct{ size, first int }{"copied": {100, maxSmall},
		"borrowed": {200, 20}} {
		t.Run(name, func(t *testing.T) { testWindow(t, c.size, c.first) })
	}
}

// wideLaw is a congestion law that allows whatever the test needs.
type wideLaw struct{ congestion.Controller }

func (wideLaw) Window() int  { return 1 << 27 }
func (wideLaw) Allowed() int { return 1 << 27 }

func wide(packetSize int) congestion.Controller { return wideLaw{congestion.New(packetSize)} }

// testWindow sends messages until there is no room; of the first 20 as many fly alone as first
// says.
func testWindow(t *testing.T, size, first int) {
	p := newPair(t, 2, func(_ int, c *Config) { c.law = wide }) // the packets count, not the bytes
	p.meet()
	most := MaxPacketsOut * burstBytes / 8192
	messages := 0
	for ; ; messages++ {
		if messages == 20 {
			p.want("packets of 20 messages in flight", p.count(0, wire.KindData), first)
		}
		if _, err := p.trySend(0, 1, 1, size); err == transport.ErrBusy {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if messages > 1<<20 {
			t.Fatal("there is no end to what Send takes")
		}
	}
	p.want("packets in flight", p.count(0, wire.KindData), most)
	if shared := messages > 20*(most+maxWaiting); shared != (first == maxSmall) ||
		messages > maxMessages*(most+maxWaiting) {
		t.Errorf("%d messages in %d packets", messages, most+maxWaiting)
	}
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	p.settle()
	p.ms[1].Check(p.now) // the last acknowledgement, before its absence is noticed
	p.settle()
	p.pass(100 * time.Millisecond)
	p.want("messages arrived", got, messages)
	if data := p.ms[0].Stats().RetransmittedPackets; data != 0 {
		t.Errorf("%d packets were sent twice", data)
	}
}

// The byte window keeps large packets from overrunning the peer's receive buffer.
func TestByteWindow(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.ReceiveBuffer = 1 << 18 })
	p.meet()
	bytes, most := 0, 0
	for range 60 {
		p.send(0, 1, 1, 8000)
	}
	for p.ms[0].connected(1).sender.window.Outstanding() {
		bytes = 0
		for _, f := range p.wires[0] {
			bytes += len(f.b)
		}
		most = max(most, bytes)
		p.settle()
		p.pass(time.Millisecond)
	}
	if most < 16000 || most > 1<<17 {
		t.Errorf("%d bytes were on their way to a buffer of %d", most, 1<<18)
	}
}

// Small data is always copied, if need be after waiting for a buffer; larger data is borrowed.
func TestCopyOrBorrow(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) {
		c.CopyMax = 6000
		c.RexmitBufCount = 2
		c.RexmitBufSize = 6000
	})
	p.meet()
	for i, c := range []struct {
		n    int
		want transport.Status
	}{
		{100, transport.Done}, {6000, transport.Done}, {5000, transport.Done},
		{3000, transport.Done}, // has room in the packet's own memory
		{6001, transport.Queued}, {0, transport.Done},
	} {
		if s := p.send(0, 1, 1, c.n); s.status != c.want {
			t.Errorf("send %d of %d bytes: status %d, want %d", i, c.n, s.status, c.want)
		}
	}
	if _, err := p.trySend(0, 1, 1, 5000); err != transport.ErrBusy {
		t.Errorf("no buffer is left, but: %v", err)
	}
	p.pass(time.Millisecond)
	if s := p.send(0, 1, 1, 6000); s.status != transport.Done {
		t.Error("an acknowledged packet keeps its buffer")
	}
}

func TestLimits(t *testing.T) {
	for _, size := range []int{MinPacketSize, 1472, 8192, wire.MaxDatagram} {
		p := newPair(t, 2, func(_ int, c *Config) { c.PacketSize = size })
		l := p.ms[0].Limits()
		if l.SendMax != (size-packet.Overhead)&^7 || l.HeaderMax%8 != 0 || l.HeaderMax > l.SendMax {
			t.Errorf("packet size %d: %+v", size, l)
		}
		longest := 0
		p.lose = func(_ int, b []byte) bool { longest = max(longest, len(b)); return false }
		p.meet()
		p.send(0, 1, 1, l.SendMax)
		if longest > size || longest <= size-8 {
			t.Errorf("packet size %d: the longest has %d bytes", size, longest)
		}
		if _, err := p.trySend(0, 1, 1, l.SendMax+1); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("one byte too many: %v", err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"task":       func(c *Config) { c.Task = 2 },
		"tasks":      func(c *Config) { c.NumTasks = 0 },
		"small":      func(c *Config) { c.PacketSize = MinPacketSize - 1 },
		"large":      func(c *Config) { c.PacketSize = 65537 },
		"threshold":  func(c *Config) { c.AckThreshold = MaxAckThreshold + 1 },
		"negative":   func(c *Config) { c.AckThreshold = -1 },
		"polling":    func(c *Config) { c.PollingInterval = -1 },
		"instance":   func(c *Config) { c.Instance = 1 << 16 },
		"retransmit": func(c *Config) { c.RexmitBufCount = -1 },
	} {
		c := Config{NumTasks: 2}
		set(&c)
		if _, err := NewMachine(c, nil); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := NewMachine(Config{NumTasks: 1, PacketSize: 65536}, nil); err != nil ||
		m.cfg.PacketSize != wire.MaxDatagram {
		t.Errorf("MP_UDP_PACKET_SIZE 65536: %v", err)
	}
}

// When a packet seems to be missing the next ones are acknowledged as soon as there is nothing else
// to do, else not.
func TestMissingIsToldSoon(t *testing.T) {
	for _, lost := range []int{0, 2} {
		p := newPair(t, 2, func(_ int, c *Config) { c.law = wide }) // else the origin asks
		p.meet()
		n := 0
		p.lose = func(from int, _ []byte) bool {
			if from == 0 {
				n++
			}
			return from == 0 && n == lost
		}
		for range 5 {
			p.send(0, 1, 1, p.ms[0].Limits().SendMax) // so long that it is not the end of a message
		}
		p.deliver(0)
		p.ms[1].OnIdle()
		p.want("acknowledgements", p.count(1, wire.KindAck), min(lost, 1))
	}
}

// TestEnormousBuffer: the buffer size that a peer states, up to the largest number, makes no window
// that lets nothing through, however wide an int is.
func TestEnormousBuffer(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	of := p.ms[0].connected(1)
	for _, bytes := range []uint32{1 << 31, math.MaxUint32} {
		of.sender.roomIs(bytes)
		for i := range of.paths.Len() {
			if allowed := of.paths.At(i).Congestion().Allowed(); allowed <= 0 {
				t.Errorf("%d bytes: %d may be under way", bytes, allowed)
			}
		}
	}
}

// A flush asks for no acknowledgement that the last packet in flight has asked for: one packet goes
// each way.
func TestFlushAddsNoPacket(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	p.send(0, 1, 1, 8)
	f := p.flush(0, 1)
	p.want("requests beside the packet", p.count(0, wire.KindAck), 0)
	p.want("packets to acknowledge", p.count(0, wire.KindData), 1)
	p.deliver(0)
	p.ms[1].OnIdle()
	p.want("acknowledgements", p.count(1, wire.KindAck), 1)
	p.settle()
	if !f.over() || f.err != nil {
		t.Errorf("the flush is not over: %v", f.err)
	}
}

// A flush asks where the last packet has not, or where the answer has come without it.
func TestFlushAsksForWhatIsSilent(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	whole := p.ms[0].Limits().SendMax
	p.send(0, 1, 1, 8)
	p.send(0, 1, 1, whole) // a part of more: its acknowledgement may wait
	f := p.flush(0, 1)
	p.want("requests", p.count(0, wire.KindAck), 1)
	p.settle()
	if !f.over() {
		t.Error("the flush is not over")
	}
	p.lose = func(_ int, b []byte) bool { k, _ := wire.KindOf(b); return k == wire.KindData }
	p.send(0, 1, 1, 8)
	p.lose = nil
	p.ms[0].connected(1).sender.Ask(p.ms[0].connected(1).paths.At(0), p.now)
	p.settle()
	f = p.flush(0, 1)
	p.want("requests after an answer", p.count(0, wire.KindAck), 1)
	p.pass(50 * time.Millisecond)
	if !f.over() || f.err != nil {
		t.Errorf("a packet was lost, and the flush is not over: %v", f.err)
	}
}
