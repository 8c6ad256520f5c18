// Package congestion decides how many bytes may be in flight on one path. It has no clock: calls
// that need the time take now, in nanoseconds.
package congestion

import "lapi/transport/udp/internal/rtt"

// PacketOverhead is what a packet costs a receive buffer beyond its bytes, about. All sizes here
// include it.
const PacketOverhead = 512

// Controller is a congestion law for one path of one peer. Loss detection drives it: it says what
// was acknowledged and lost, and asks before each packet.
type Controller interface {
	// Reset begins anew: a session begins, or the path works again and may be another one.
	// buffer is how many bytes the peer's socket holds.
	Reset(buffer int)
	// SetLimit bounds the window by the peer's statement of its socket: no more than bytes,
	// whatever the law says.
	SetLimit(bytes int)
	// Window is how many bytes the law allows in flight.
	Window() int
	// Allowed is how many bytes may be in flight: the law's window, and the peer's limit.
	Allowed() int
	// Pause is how long after a packet of bytes length the next may follow, in nanoseconds:
	// pauses keep to a window of less than a few packets. 0: only Allowed holds it back.
	Pause(bytes int, t *rtt.Estimator) int64
	// Blocked tells that a packet had to wait because of Allowed.
	Blocked()
	// Acked reports bytes that have arrived. Update follows, once an acknowledgement.
	Acked(bytes int)
	// Update draws the conclusions from what was acknowledged since the last Update.
	Update(now int64, t *rtt.Estimator)
	// Lost reports a transmission that was lost.
	Lost(l Loss, t *rtt.Estimator)
	// Late reports that a transmission reported by Lost has arrived after all.
	Late(l Loss)
	// Collapse takes the window back to the least: nothing came for long.
	Collapse()
	// Revive tells that what was sent before a time-out has arrived: the peer was only late.
	Revive()
}

// Loss is a lost transmission.
type Loss struct {
	Tx     uint64 // its number on the path
	Newest uint64 // how many had been sent when it was noticed
	Bytes  int
}
