package recovery

import (
	"time"

	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/rtt"
	"lapi/transport/udp/wire"
)

// AckDelay is how long a received packet may wait for others, or for data going the other way,
// before it is acknowledged.
const AckDelay = 200 * time.Microsecond

// StreamAckDelay is how long, from the second packet on. The origin sends as much at once as is
// acknowledged together, and long bursts lose more than their share where a queue is short.
const StreamAckDelay = 50 * time.Microsecond

// echoReach is how far transmission numbers may be ahead of the latest echo, which has 16 bits.
const echoReach = 1 << 14

// Path is what is known of a path by the packets in flight on it, and the answers by it.
type Path struct {
	cc              congestion.Controller
	rtt             rtt.Estimator
	order           reordering
	number          uint8
	inFlight, bytes int

	tx        uint64 // transmissions so far
	ackedTx   uint64 // the latest transmission known to have arrived
	ackedSent int64  // when it was sent, or an earlier one, if that is not known
	timedTx   uint64 // a transmission that asked for its acknowledgement at once; 0: none
	timedAt   int64  // when it went
	fresh     bool   // ackedTx is news of the packet at hand, and was not timed
	askedTx   uint64 // the latest transmission that asked for its acknowledgement, at once or soon

	unaskedBytes int // sent since an acknowledgement came or was asked for
	unaskedCount int
	lossShare    int64 // of transmissions lately, in 65536ths
	// when the peer is asked for an acknowledgement, or a packet sent again; 0: nothing is in
	// flight
	retryDue     int64
	backoff      uint  // how often in a row it was
	longestRetry int64 // bounds the time to a retransmission
}

// NewPath makes the state of a path under a congestion law.
func NewPath(cc congestion.Controller) Path { return Path{cc: cc} }

func (r *Path) Number() uint8 { return r.number } // the path's number

func (r *Path) RTT() *rtt.Estimator               { return &r.rtt } // the path's round trip
func (r *Path) Congestion() congestion.Controller { return r.cc }   // the path's law

// Slack is the time that is allowed for late packets, beside the usual.
func (r *Path) Slack() time.Duration { return time.Duration(r.order.slack) }

func (r *Path) InFlight() int      { return r.inFlight } // how many packets are
func (r *Path) BytesInFlight() int { return r.bytes }    // what they count for

// HasRoom says whether bytes more may be in flight.
func (r *Path) HasRoom(bytes int) bool { return r.bytes+bytes <= r.cc.Allowed() }

// Latency is how long a lone packet takes by r, what losses cost on the average included.
func (r *Path) Latency() int64 { return r.rtt.Shortest()/2 + r.lossShare*r.rtt.Timeout()>>16 }

// Queued is how long r takes for bytes beyond what is in flight already.
func (r *Path) Queued(bytes int) int64 {
	return int64(r.bytes+bytes) * r.rtt.Smooth() / int64(max(r.cc.Window(), 1))
}

// Transmissions is how many went that want an answer.
func (r *Path) Transmissions() uint64 { return r.tx }

// AckedTx is the latest transmission known to have arrived.
func (r *Path) AckedTx() uint64 { return r.ackedTx }

// AckedSent is when that was sent, or an earlier one.
func (r *Path) AckedSent() int64 { return r.ackedSent }

// NextTx is the number of r's next transmission. It stays within reach of the peer's echo.
func (r *Path) NextTx() uint64 {
	if r.tx-r.ackedTx >= echoReach {
		return r.tx
	}
	return r.tx + 1
}

// Asked notes that a transmission went that asks for its acknowledgement at once.
func (r *Path) Asked(now int64) {
	r.tx = r.NextTx()
	r.timedTx, r.timedAt, r.askedTx = r.tx, now, r.tx
}

// AwaitsAck says whether the peer acknowledges all that went by r without another request: the
// latest transmission asked for that, and is not answered yet.
func (r *Path) AwaitsAck() bool { return r.askedTx == r.tx && r.ackedTx < r.tx }

// AskedLongAgo says whether the latest transmission that asked for its acknowledgement at once went
// more than a round trip ago.
func (r *Path) AskedLongAgo(now int64) bool { return now-r.timedAt > r.rtt.Smooth() }

// Unasked counts bytes more to be sent, and returns what goes, these included, since an
// acknowledgement came or was asked for.
func (r *Path) Unasked(bytes int) (sum, count int) {
	r.unaskedBytes += bytes
	r.unaskedCount++
	return r.unaskedBytes, r.unaskedCount
}

// ResetUnasked begins that count anew.
func (r *Path) ResetUnasked() { r.unaskedBytes, r.unaskedCount = 0, 0 }

// Echo takes in the newest transmission number that a packet by r says has arrived. False: the
// number was known before.
func (r *Path) Echo(now int64, echo uint16) bool {
	tx := r.tx - uint64(uint16(r.tx)-echo)
	if tx <= r.ackedTx || tx > r.tx {
		return false
	}
	r.ackedTx = tx
	r.fresh = tx != r.timedTx
	if !r.fresh {
		r.rtt.Sample(now, now-r.timedAt)
		r.ackedSent = max(r.ackedSent, r.timedAt)
	}
	return true
}

// Answered: a probe by r was answered, which was not for certain.
func (r *Path) ProbeAnswered() { r.lossShare -= r.lossShare >> 3 }

// Renewed: r works again, and may be another route. Its peer's socket holds buffer bytes.
func (r *Path) Renewed(buffer int) {
	r.cc.Reset(buffer)
	r.rtt = rtt.Estimator{}
}

func (r *Path) RetryDue() int64 { return r.retryDue } // when to retransmit; 0: nothing is in flight
func (r *Path) Backoff() uint   { return r.backoff }  // how many time-outs there were in a row

// BackOff makes that n at least, and doubles the time to the next for each.
func (r *Path) BackOff(n uint) { r.backoff = max(r.backoff, n) }

func (r *Path) EndBackoff()          { r.backoff = 0 }        // begins anew: an answer came
func (r *Path) RetryIn(now, t int64) { r.retryDue = now + t } // sets the next retransmission's time

// Rearm sets the time of the next retransmission, if anything is in flight.
func (r *Path) Rearm(now int64) {
	r.retryDue = 0
	if r.inFlight > 0 {
		r.arm(now)
	}
}

func (r *Path) arm(now int64) {
	t := r.rtt.Tail(AckDelay)
	if r.backoff > 0 {
		t = r.rtt.Timeout() << min(r.backoff, 20)
	}
	r.retryDue = now + min(t, int64(rtt.Longest), r.longestRetry)
}

// sent counts transmission of k.
func (r *Path) sent(k *Packet, now int64, flags wire.Flags) {
	r.tx = r.NextTx()
	k.tx, k.sentAt = r.tx, now
	if flags&wire.FlagAckNow != 0 {
		r.timedTx, r.timedAt = r.tx, now
	}
	if flags&(wire.FlagAckNow|wire.FlagAckSoon) != 0 {
		r.askedTx = r.tx
	}
}

// acked takes in that k, which went by r, has arrived. byIt: the acknowledgement came by r.
func (r *Path) acked(k *Packet, now int64, byIt bool) {
	// the transmission before the latest has arrived: it was late, not lost
	if late := k.tx > r.ackedTx && byIt; late && k.lostTx != 0 {
		r.order.wasLate(now, r.rtt.Smooth(), r.rtt.Smooth()+4*r.rtt.Deviation())
		r.cc.Late(congestion.Loss{Tx: k.lostTx, Newest: r.tx, Bytes: k.Size()})
	} else if late && k.overdue {
		r.cc.Revive()
	}
	if k.tx <= r.ackedTx {
		r.ackedSent = max(r.ackedSent, k.sentAt)
	}
	if r.fresh && k.tx == r.ackedTx { // the very transmission that arrived
		r.rtt.Sample(now, now-k.sentAt)
	}
	if k.overdue && k.tx <= r.ackedTx { // the one before was lost, or its acknowledgement
		r.cc.Lost(congestion.Loss{Tx: k.tx, Newest: r.tx, Bytes: k.Size()}, &r.rtt)
	}
	r.cc.Acked(k.Size())
	r.lossShare -= r.lossShare >> 6
}

// lost takes in that k is, which went by r.
func (r *Path) lost(k *Packet) {
	r.cc.Lost(congestion.Loss{Tx: k.tx, Newest: r.tx, Bytes: k.Size()}, &r.rtt)
	r.lossShare += (1<<16 - r.lossShare) >> 6
}

// overtook says whether enough packets sent by r after k have arrived that k is lost.
func (r *Path) overtook(k *Packet) bool {
	if k.tx >= r.ackedTx {
		return false
	}
	return r.order.isLost(r.ackedTx-k.tx, r.ackedSent-k.sentAt, r.rtt.Smooth())
}
