package congestion

import (
	"testing"

	"lapi/transport/udp/internal/rtt"
)

const packet = 1472

// path is one bottleneck under a controller: a rate, a round trip without a queue, and a buffer.
type path struct {
	c      Controller
	t      rtt.Estimator
	now    int64
	rate   int64 // bytes a millisecond
	base   int64 // ns
	buffer int   // bytes
	tx     uint64
	lost   int
}

// round sends what the window allows, and acknowledges what arrives. Of each hundred packets, loss
// are lost at random.
func (p *path) round(loss int) (sent int) {
	window := p.c.Allowed()
	fits := int(p.rate*p.base/1e6) + p.buffer
	p.c.Blocked()
	queue := max(min(window, fits)-int(p.rate*p.base/1e6), 0)
	t := p.base + int64(queue)*1e6/p.rate
	p.now += t
	p.t.Sample(p.now, t)
	first := p.tx
	for size := packet + PacketOverhead; sent+size <= window; sent += size {
		p.tx++
		if sent > fits || int(p.tx*37%100) < loss {
			p.lost++
			p.c.Lost(Loss{Tx: p.tx, Newest: first + uint64(window/size), Bytes: size}, &p.t)
		} else {
			p.c.Acked(size)
		}
	}
	p.c.Update(p.now, &p.t)
	return sent
}

func newPath(rate, base int64, buffer int) *path {
	p := &path{c: New(packet), now: 1, rate: rate, base: base, buffer: buffer}
	p.c.Reset(1 << 22)
	return p
}

// The window doubles until a queue shows: a path is full after a few round trips.
func TestOpens(t *testing.T) {
	p := newPath(125000, 1e6, 1<<20)
	first := p.c.Window()
	p.round(0)
	if w := p.c.Window(); w < 2*first-packet-PacketOverhead || w > 2*first {
		t.Errorf("the window goes from %d to %d", first, w)
	}
	for range 10 {
		p.round(0)
	}
	if w := p.c.Window(); w < 125000 {
		t.Errorf("a window of %d bytes on a path that holds 125000", w)
	}
}

// It does not grow while something else than the window holds packets back.
func TestGrowsOnlyWhenUsed(t *testing.T) {
	p := newPath(125000, 1e6, 1<<20)
	first := p.c.Window()
	p.t.Sample(1, 1e6)
	for range 20 {
		p.now += 2e6
		p.c.Acked(packet)
		p.c.Update(p.now, &p.t)
	}
	if w := p.c.Window(); w != first {
		t.Errorf("the window goes from %d to %d", first, w)
	}
}

// The peer's limit for its socket holds, whatever the law says.
func TestLimit(t *testing.T) {
	p := newPath(125000, 1e6, 1<<20)
	p.c.SetLimit(10000)
	if n := p.c.Allowed(); n != 10000 {
		t.Errorf("%d bytes are allowed", n)
	}
	for range 10 {
		p.round(0)
	}
	if w := p.c.Window(); w > 1<<16 {
		t.Errorf("a window of %d bytes that nobody may use", w)
	}
}

// Losses at random, where no queue shows, cost nothing but what was lost.
func TestRandomLoss(t *testing.T) {
	p := newPath(1e9, 1e6, 1<<30)
	for range 50 {
		p.round(10)
	}
	if w := p.c.Window(); w < 1<<21 || p.lost == 0 {
		t.Errorf("a window of %d bytes after %d losses", w, p.lost)
	}
}

// Where more than a quarter of a round was lost the window is halved although no queue shows; a
// quarter changes nothing.
func TestHeavyLossHalves(t *testing.T) {
	for _, k := range []struct{ lost, want int }{{24, 64 << 10}, {60, 32 << 10}} {
		c := &law{packetSize: packet, window: 64 << 10, limit: 1 << 20,
			start: start{over: true}, round: round{at: 1}}
		var flat rtt.Estimator
		flat.Sample(1, 1e6)
		for i := range k.lost {
			c.Lost(Loss{uint64(i + 1), 100, packet}, &flat)
		}
		c.Acked((100 - k.lost) * packet)
		c.Update(3e6, &flat)
		if w := c.Window(); w != k.want {
			t.Errorf("%d of 100 lost: a window of %d bytes, want %d", k.lost, w, k.want)
		}
	}
}

// A loss behind a queue takes the window back to what the path delivers, at most to a half, and
// once for all that was in flight.
func TestQueueDrains(t *testing.T) {
	p := newPath(125000, 1e6, 250000)
	for range 200 {
		before := p.c.Window()
		p.round(0)
		if w := p.c.Window(); w < before/4-1 { // a queue and a heavy loss at once
			t.Fatalf("the window falls from %d to %d in one round", before, w)
		}
	}
	w, full := p.c.Window(), 125000+250000
	if w < 100000 || w > full+full/4 || p.lost == 0 {
		t.Errorf("a window of %d bytes in the end, %d packets lost", w, p.lost)
	}
}

// However bad it gets, two packets may fly, so that a lost one is noticed by the next.
func TestLeast(t *testing.T) {
	p := newPath(1000, 1e6, 3000)
	for range 100 {
		p.round(90)
	}
	p.c.Collapse()
	if w := p.c.Window(); w != 2*(packet+PacketOverhead) {
		t.Errorf("a window of %d bytes", w)
	}
	p.c.Reset(1)
	if w := p.c.Window(); w != 2*(packet+PacketOverhead) {
		t.Errorf("a window of %d bytes for a socket that holds nothing", w)
	}
}

// Pauses keep to a window of less than two packets, which may fly all the same.
func TestSmallWindowIsPaced(t *testing.T) {
	p := newPath(1000, 1e6, 3000)
	p.c.SetLimit(1 << 22 / 64) // one of 64 origins
	for range 100 {
		p.round(50)
	}
	if w := p.c.Window(); w != 2*(packet+PacketOverhead) {
		t.Errorf("%d bytes may fly", w)
	}
	if d, round := p.c.Pause(packet+PacketOverhead, &p.t), p.t.Smooth(); d < 2*round {
		t.Errorf("a pause of %d ns after a packet, with a round trip of %d ns", d, round)
	}
	p = newPath(125000, 1e6, 1<<20)
	for range 10 {
		p.round(0)
	}
	if d := p.c.Pause(packet+PacketOverhead, &p.t); d != 0 {
		t.Errorf("a pause of %d ns in a window of many packets", d)
	}
}

// Where many share a queue, pauses are of about the longest round trip, also while the queue happens
// to be empty; but at most twice the average.
func TestPausesKeepToCrest(t *testing.T) {
	const short, long = int64(100e3), int64(180e3)
	c := &law{packetSize: packet}
	c.Reset(1 << 22)
	c.SetLimit(1 << 22 / 64)
	c.start.over, c.shared, c.window = true, true, float64(packet+PacketOverhead)
	var e rtt.Estimator
	pause := func() int64 { return c.Pause(packet+PacketOverhead, &e) }
	c.Update(1, &e) // nothing is known yet
	at := func(round int64, n int) {
		for i := range int64(n) {
			e.Sample(i, round)
			c.Update(i, &e)
		}
	}
	at(long, 60)
	full := pause()
	at(short, 30)
	if e.Smooth() > short+short/20 {
		t.Fatalf("the average is %d ns after 30 of %d", e.Smooth(), short)
	}
	if d := pause(); d < full*8/10 || d > full {
		t.Errorf("pauses of %d ns with a full queue, %d with one that was emptied", full, d)
	}
	at(short, 600)
	if d := pause(); d > short*11/10 {
		t.Errorf("pauses of %d ns long after the queue is gone", d)
	}
	at(100*short, 1)
	at(short, 20)
	if d := pause(); d > 2*e.Smooth() {
		t.Errorf("a pause of %d ns some time after one late answer", d)
	}
}

// Origins that know how many they are come to equal windows, however different they were.
func TestManyBecomeEqual(t *testing.T) {
	const origins = 8
	var e rtt.Estimator
	e.Sample(1, 1e5)
	e.Sample(2, 4e5) // a queue
	var windows [2]float64
	for i, first := range []int{2, 40} {
		c := &law{packetSize: packet, window: float64(first * (packet + PacketOverhead)),
			start: start{over: true}, shared: true, buffer: 1 << 22, limit: 1 << 22 / origins}
		for tx := range uint64(200) { // each time as much arrives between two losses
			for range 200 {
				c.Blocked()
				c.Acked(int(c.window))
				c.Update(3, &e)
			}
			c.Lost(Loss{Tx: tx + 1, Newest: tx + 1, Bytes: packet}, &e)
		}
		windows[i] = c.window
	}
	if windows[0] < windows[1]*9/10 || windows[1] < windows[0]*9/10 {
		t.Errorf("windows of %v bytes", windows)
	}
}

// Every packet passes here: nothing may be allocated.
func TestAllocatesNothing(t *testing.T) {
	p := newPath(125000, 1e6, 250000)
	if n := testing.AllocsPerRun(100, func() { p.round(5) }); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
