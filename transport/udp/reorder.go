package udp

// reordering is how much later a path may deliver a packet than others that were sent after it.
type reordering struct {
	slack   int64 // time that is allowed for beside the usual; 0: packets keep their order, about
	slackAt int64 // when it was changed last
}

// overtook says whether so much of what was sent by r after k has arrived that k is lost. How many packets went by tells nothing where they do
// not keep their order: then only time counts.
func (r *route) overtook(k *packet) bool {
	if k.tx >= r.ackedTx {
		return false
	}
	usual := max(int64(reorderTime), r.smooth/4)
	if r.slack == 0 && r.ackedTx-k.tx >= reorderPackets {
		return true
	}
	return r.ackedSent-k.sentAt > usual+r.slack
}

// late: a packet that seemed to be lost on r has arrived.
func (r *route) late(now int64) {
	if now-r.slackAt < r.smooth && r.slack != 0 { // all of one round trip count once
		return
	}
	r.slack, r.slackAt = min(max(2*r.slack, int64(lateLeast)), max(r.smooth, int64(lateLeast))), now
}

// settle takes slack back that was not needed lately.
func (r *route) settle(now int64) {
	if r.slack == 0 || now-r.slackAt < int64(lateKeep) {
		return
	}
	if r.slack /= 2; r.slack < int64(lateLeast) {
		r.slack = 0
	}
	r.slackAt = now
}
