package dat

import "lapi/core/dat/adapter"

// Receives that are solicited. An adapter does not tell which message its sender has marked; but a
// completion queue can be armed for those alone. So each EVD that has such receives has a queue of
// its own for them, which is always armed: what it holds is taken silently, and when the adapter
// has told of it, who waits for the EVD is woken for all that has come. A plain message that came
// with the one that was marked, or soon after, counts then, too.

// noticeRounds bounds how often one call looks for what the adapter tells meanwhile.
const noticeRounds = 4

// told is told that there is something in a completion queue.
func (k *device) told(c adapter.Completions) {
	for _, p := range k.pools {
		if p.c == c {
			p.news = p.evd != nil || k.armed
		}
	}
}

// notice takes what the adapter tells of completion queues, and wakes who waits for what is
// solicited. A queue that a sleeping thread has armed is armed again. Each is armed before it is
// looked at, so that nothing is missed; and what was told of meanwhile is looked at before anyone
// is woken, so that it wakes nobody later.
func (k *device) notice() (n int) {
	if k.quiet == 0 {
		return 0
	}
	for again, round := true, 0; again && round < noticeRounds; round++ {
		again = false
		k.d.Quiet(k.told)
		for _, p := range k.pools {
			if p.news {
				p.news, p.wakes, again = false, p.evd != nil, true
				k.d.Arm(p.c, p.evd != nil)
				n += k.drain(p)
			}
		}
	}
	for _, p := range k.pools {
		if p.wakes {
			p.wakes = false
			p.evd.wake()
			n++
		}
	}
	return n
}
