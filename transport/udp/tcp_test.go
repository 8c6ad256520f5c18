package udp

import (
	"math"
	"time"
)

// tcpFlow is a TCP connection that sends all it can from one task of a simNet to another, beside
// what machines send there: the congestion control of RFC 9438 (CUBIC) or RFC 5681 (Reno), an
// acknowledgement for each second packet, and packets that are lost when one three later has
// arrived. A packet that is resent has a number of its own, as in QUIC, which changes nothing for
// the window. Its packets keep their order.
type tcpFlow struct {
	r         *simNet
	there     *simLink // the way to the target
	back      *simLink
	reno      bool
	window    float64 // packets
	threshold float64 // of slow start
	flying    []tcpSegment
	next      uint64 // the first number not yet sent
	recovery  uint64 // losses below belong to the latest reduction
	smooth    int64  // the round trip
	heard     int64  // when the last acknowledgement came

	delivered int    // packets at the target
	latest    uint64 // the last of these
	waiting   int    // of these, not acknowledged
	soon      int    // packets to acknowledge at once, as an earlier one is missing
	acks      int
	handed    int64 // when the latest acknowledgement is with the origin

	most, prior, friendly float64 // of CUBIC: W_max, cwnd_prior, W_est
	epoch                 int64   // 0: no congestion avoidance since the last reduction
}

// tcpSegment is a packet in flight.
type tcpSegment struct {
	n       uint64
	at      int64
	dropped bool
}

const (
	tcpPacket  = 1472
	tcpDelayed = int64(40 * time.Millisecond) // the longest that an acknowledgement waits
	tcpTimeout = int64(200 * time.Millisecond)
	tcpHost    = int64(50 * time.Microsecond)
	tcpOrder   = 3
	cubicC     = 0.4
)

// tcp starts a connection.
func (r *simNet) tcp(from, to int, reno bool) *tcpFlow {
	f := &tcpFlow{r: r, there: &r.links[to][0], back: &r.links[from][0], reno: reno, window: 10,
		threshold: math.Inf(1), next: 1, heard: r.now}
	f.pump()
	f.watch()
	return f
}

func (f *tcpFlow) pump() {
	for float64(len(f.flying)) < f.window {
		n := f.next
		f.next++
		f.there.sent++
		at, ok := f.r.carry(f.there, tcpPacket)
		if ok {
			f.r.push(arrival{at: at, call: func() { f.arrived(n) }})
		}
		f.flying = append(f.flying, tcpSegment{n, f.r.now, !ok})
	}
}

// arrived: packet n is at the target.
func (f *tcpFlow) arrived(n uint64) {
	if n != f.latest+1 {
		f.soon = tcpOrder + 1
	}
	f.delivered, f.latest = f.delivered+1, n
	f.waiting++
	if f.soon > 0 || f.waiting == 2 {
		f.soon = max(f.soon-1, 0)
		f.acknowledge()
		return
	}
	acks := f.acks
	f.r.push(arrival{at: f.r.now + tcpDelayed, call: func() {
		if f.acks == acks {
			f.acknowledge()
		}
	}})
}

func (f *tcpFlow) acknowledge() {
	f.waiting = 0
	f.acks++
	n := f.latest
	if at, ok := f.r.carry(f.back, 60); ok {
		// hosts are not so exact that the phase of two flows decides whose packet is dropped
		f.handed = max(f.handed, at+f.r.random.Int64N(tcpHost))
		f.r.push(arrival{at: f.handed, call: func() { f.onAck(n) }})
	}
}

// onAck: all up to n that was not dropped has arrived.
func (f *tcpFlow) onAck(n uint64) {
	f.heard = f.r.now
	acked, kept := 0, f.flying[:0]
	for _, s := range f.flying {
		switch {
		case s.n <= n && !s.dropped:
			acked++
			if t := f.r.now - s.at; s.n == n && f.smooth == 0 {
				f.smooth = t
			} else if s.n == n {
				f.smooth += (t - f.smooth) / 8
			}
		case s.n+tcpOrder <= n:
			f.lost(s.n)
		default:
			kept = append(kept, s)
		}
	}
	f.flying = kept
	if acked > 0 && n >= f.recovery {
		f.grow(float64(acked))
	}
	f.pump()
}

// lost shrinks the window once a round trip.
func (f *tcpFlow) lost(n uint64) {
	if n < f.recovery {
		return
	}
	f.recovery, f.epoch = f.next, 0
	f.prior = f.window
	if f.reno {
		f.window = max(f.window/2, 2)
	} else {
		if f.window < f.most { // fast convergence
			f.most = f.window * 1.7 / 2
		} else {
			f.most = f.window
		}
		f.window = max(f.window*0.7, 2)
	}
	f.threshold = f.window
}

// grow opens the window by what was acknowledged.
func (f *tcpFlow) grow(packets float64) {
	switch {
	case f.window < f.threshold:
		f.window += packets
	case f.reno:
		f.window += packets / f.window
	default:
		f.cubic(packets)
	}
}

// cubic is congestion avoidance of RFC 9438.
func (f *tcpFlow) cubic(packets float64) {
	if f.epoch == 0 {
		f.epoch, f.friendly = f.r.now, f.window
	}
	k := math.Cbrt(max(f.most-f.threshold, 0) / cubicC)
	alpha := 1.0
	if f.friendly < f.prior {
		alpha = 3 * 0.3 / 1.7
	}
	f.friendly += alpha * packets / f.window
	t := float64(f.r.now-f.epoch+f.smooth) / 1e9
	target := min(max(cubicC*math.Pow(t-k, 3)+f.most, f.window), 1.5*f.window)
	f.window = max(f.window+packets*(target-f.window)/f.window, f.friendly)
}

// watch begins anew when nothing comes back.
func (f *tcpFlow) watch() {
	f.r.push(arrival{at: f.r.now + tcpTimeout, call: func() {
		if f.r.now-f.heard >= tcpTimeout {
			f.lost(f.next - 1)
			f.flying, f.window = f.flying[:0], 1
			f.pump()
		}
		f.watch()
	}})
}
