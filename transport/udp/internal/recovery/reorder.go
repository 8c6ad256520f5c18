package recovery

import "time"

const (
	// A packet counts as lost when one sent this many transmissions by the same path, or this
	// much time and a quarter of a round trip, later was acknowledged and it was not.
	reorderPackets = 3
	reorderTime    = 200 * time.Microsecond
	// If packets resent for that reason are found to have been only late, more time is allowed
	// for, as in RFC 8985: from lateLeast on, doubled up to a round trip each time, and halved
	// after each lateKeep without.
	lateLeast = 100 * time.Microsecond
	lateKeep  = time.Second
)

// reordering is how much later a path may deliver a packet than others that were sent after it.
type reordering struct {
	slack   int64 // time that is allowed for beside the usual; 0: packets keep their order, about
	slackAt int64 // when it was changed last
}

// isLost says whether a packet is lost because another was acknowledged that was sent packets
// transmissions and the time later after it. The number of packets proves nothing where they do not
// keep their order: then only time counts.
func (o *reordering) isLost(packets uint64, later, roundTrip int64) bool {
	if o.slack == 0 && packets >= reorderPackets {
		return true
	}
	return later > max(int64(reorderTime), roundTrip/4)+o.slack
}

// wasLate: a packet that seemed to be lost has arrived. All of one round trip count once. most
// bounds what is allowed for.
func (o *reordering) wasLate(now, roundTrip, most int64) {
	if now-o.slackAt < roundTrip && o.slack != 0 {
		return
	}
	o.slack = min(max(2*o.slack, int64(lateLeast)), max(most, int64(lateLeast)))
	o.slackAt = now
}

// decay takes slack back that was not needed lately.
func (o *reordering) decay(now int64) {
	if o.slack == 0 || now-o.slackAt < int64(lateKeep) {
		return
	}
	if o.slack /= 2; o.slack < int64(lateLeast) {
		o.slack = 0
	}
	o.slackAt = now
}
