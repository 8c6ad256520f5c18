package recovery

import (
	"testing"
	"time"

	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/rtt"
	"lapi/transport/udp/wire"
)

// For a lone packet a path that loses some is slower than a path that is a little longer and loses
// none.
func TestLossesCountForLatency(t *testing.T) {
	a, b := NewPath(congestion.New(1472)), NewPath(congestion.New(1472))
	for now := range int64(20) {
		a.RTT().Sample(now+1, int64(100*time.Microsecond))
		b.RTT().Sample(now+1, int64(160*time.Microsecond))
	}
	if a.Latency() >= b.Latency() {
		t.Errorf("%d and %d: the first is shorter", a.Latency(), b.Latency())
	}
	a.lossShare = 1 << 16 / 5
	if a.Latency() <= b.Latency() {
		t.Errorf("%d and %d: the first loses a fifth", a.Latency(), b.Latency())
	}
}

// The allowance for late packets is doubled at most once a round trip, and taken back.
func TestReordering(t *testing.T) {
	var o reordering
	const trip = int64(time.Millisecond)
	if !o.isLost(reorderPackets, 0, trip) || o.isLost(reorderPackets-1, trip/4, trip) ||
		!o.isLost(1, trip/4+1, trip) {
		t.Error("the bounds of order are not as they should be")
	}
	now := int64(time.Second)
	o.wasLate(now, trip, trip)
	o.wasLate(now+1, trip, trip)
	if o.slack != int64(lateLeast) {
		t.Errorf("%v are allowed for after one round trip", time.Duration(o.slack))
	}
	if o.isLost(100, trip/4, trip) {
		t.Error("the number of packets counts where they do not keep their order")
	}
	for range 10 {
		now += trip + 1
		o.wasLate(now, trip, trip)
	}
	if o.slack != trip {
		t.Errorf("%v are allowed for, not a round trip", time.Duration(o.slack))
	}
	for range 10 {
		now += int64(lateKeep) + 1
		o.decay(now)
	}
	if o.slack != 0 {
		t.Errorf("%v are allowed for when nothing is late any more", time.Duration(o.slack))
	}
}

// The echo has 16 bits; an impossible one changes nothing.
func TestEcho(t *testing.T) {
	p := NewPath(congestion.New(1472))
	for range 3 * echoReach {
		p.Asked(1)
	}
	if p.tx != echoReach {
		t.Errorf("%d transmissions are out of the echo's reach", p.tx)
	}
	if !p.Echo(2, uint16(p.tx)) || p.Echo(3, uint16(p.tx)) || p.Echo(3, uint16(p.tx+1)) ||
		p.ackedTx != p.tx {
		t.Errorf("acknowledged up to %d of %d", p.ackedTx, p.tx)
	}
}

// sentOnce begins w with the one path p, by which a packet was sent.
func sentOnce(w *Window, p *Path) *Packet {
	w.Init(nothing{}, 1, int64(time.Second))
	w.SetPaths([]*Path{p}, int64(time.Second))
	k := &Packet{Content: packet.New(make([]byte, packet.HeadSize))}
	w.Push(k)
	w.Sent(k, 0, 1, wire.FlagAckNow)
	return k
}

// A packet that was sent again after a time-out, and was missing, is a loss for the congestion law;
// one whose acknowledgement was only late is not.
func TestOverdueCountsAsLost(t *testing.T) {
	for _, missing := range []bool{true, false} {
		var law lossCounter
		var w Window
		p := NewPath(&law)
		k := sentOnce(&w, &p)
		w.Sent(k, 0, 5e6, wire.FlagAckNow)
		echo := uint16(1)
		if missing {
			echo = 2
		}
		p.Echo(6e6, echo)
		w.Take(6e6, &Ack{Path: &p, Header: &wire.Header{Ack: 2}})
		if (law.lost == 1) != missing || law.lost > 1 {
			t.Errorf("missing %v: %d losses", missing, law.lost)
		}
	}
}

// The congestion law is notified of a loss that was none: the first transmission has arrived before
// the second could. If it went by another path that is not known.
func TestLateIsNotLost(t *testing.T) {
	for _, c := range []struct {
		by   uint8  // the path of the second transmission
		echo uint16 // the newest transmission that arrived there
		late uint64 // the transmission that was none
	}{{by: 0, echo: 5, late: 1}, {by: 0, echo: 6}, {by: 1, echo: 0}} {
		var law lossCounter
		var w Window
		ps := []*Path{{cc: &law}, {cc: &law}}
		w.Init(nothing{}, 1, int64(time.Second))
		w.SetPaths(ps, int64(time.Second))
		for range 5 {
			k := &Packet{Content: packet.New(make([]byte, packet.HeadSize))}
			w.Push(k)
			w.Sent(k, 0, 1, 0)
		}
		ps[0].Echo(2, 5)
		a := &Ack{Path: ps[0], Header: &wire.Header{Ack: 1, Bits: 0b11110}}
		w.Take(2, a)
		w.Detect(2, a, true, AllPaths)
		k := w.FirstLost()
		if k == nil || law.lost != 1 {
			t.Fatalf("%d losses of one", law.lost)
		}
		w.Sent(k, c.by, 3, 0)
		ps[c.by].Echo(4, c.echo)
		w.Take(4, &Ack{Path: ps[c.by], Header: &wire.Header{Ack: 6}})
		if law.late != c.late || w.Outstanding() {
			t.Errorf("by path %d, echo %d: transmission %d was late, want %d", c.by, c.echo,
				law.late, c.late)
		}
	}
}

// An answer to a packet sent before a time-out shows that the time-out was wrong; an answer to a
// packet sent since does not.
func TestAnswerAfterTimeOut(t *testing.T) {
	for _, echo := range []uint16{1, 2} {
		var law lossCounter
		var w Window
		p := NewPath(&law)
		k := sentOnce(&w, &p)
		w.Sent(k, 0, 5e6, wire.FlagAckNow)
		p.Echo(6e6, echo)
		w.Take(6e6, &Ack{Path: &p, Header: &wire.Header{Ack: 2}})
		if law.revived != (echo == 1) {
			t.Errorf("echo %d: the law is told of that: %v", echo, law.revived)
		}
	}
}

// lossCounter is a congestion law that only counts.
type lossCounter struct {
	congestion.Controller
	lost    int
	late    uint64 // the latest
	revived bool
}

func (c *lossCounter) Lost(congestion.Loss, *rtt.Estimator) { c.lost++ }
func (c *lossCounter) Acked(int)                            {}
func (c *lossCounter) Late(l congestion.Loss)               { c.late = l.Tx }
func (c *lossCounter) Revive()                              { c.revived = true }

// nothing is an owner whom nothing concerns.
type nothing struct{}

func (nothing) Release(*Packet)     {}
func (nothing) Acked(*Packet)       {}
func (nothing) Lost(*Packet, int64) {}
