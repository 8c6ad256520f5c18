package device

import "lapi/transport/ibv"

// Receives that are solicited. An adapter does not report which message its sender has marked; but a
// completion queue can be armed for those alone. So each Waker that has such receives has a queue of
// its own for them, which is always armed: what it holds is taken silently, and when the adapter
// has reported it, the Waker is woken for all that has come. A plain message that came with the
// marked message, or soon after, counts then, too.

// solicitedRounds bounds how often one call looks for what the adapter reports meanwhile.
const solicitedRounds = 4

// reported: there are completions in a queue.
func (k *Device) reported(c ibv.CQ) {
	for _, p := range k.pools {
		if p.cq == c {
			p.ready = p.waker != nil || k.armed
		}
	}
}

// wakeSolicited takes the adapter's reports of completion queues, and wakes the Wakers of what is
// solicited. A queue that a sleeping thread has armed is armed again. Each is armed before it is
// looked at, so that nothing is missed; and what is reported meanwhile is looked at before a Waker
// is woken, so that it wakes nobody later.
func (k *Device) wakeSolicited() (n int) {
	if k.quiet == 0 {
		return 0
	}
	for again, round := true, 0; again && round < solicitedRounds; round++ {
		again = false
		k.d.Quiet(k.reported)
		for _, p := range k.pools {
			if p.ready {
				p.ready, p.wakes, again = false, p.waker != nil, true
				_ = k.d.ArmCQ(p.cq, p.waker != nil)
				n += k.drain(p)
			}
		}
	}
	for _, p := range k.pools {
		if p.wakes {
			p.wakes = false
			p.waker.Wake()
			n++
		}
	}
	return n
}
