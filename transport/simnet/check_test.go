package simnet

import (
	"lapi/transport"
	"time"
)

// checkUsage holds what the links have in use against what they may.
func (s *run) checkUsage() {
	for i, k := range s.tasks {
		if k.link == nil {
			continue
		}
		u := k.link.Usage()
		if u.Packets > u.MostPackets || u.RetransmitBuffers > s.sc.RexmitBufCount ||
			u.Partial > 512*s.sc.Tasks || u.Incomplete > 2048*s.sc.Tasks ||
			u.Timers > s.sc.Tasks*(1+s.sc.Restarts) {
			s.fail("task %d has too much in use: %+v", i, u)
		}
	}
}

// checkIdle: all that task i has sent is acknowledged, so it holds nothing any more.
func (s *run) checkIdle(i int) {
	u := s.tasks[i].link.Usage()
	// a peer that died unnoticed may have left some behind
	if u.Packets != 0 || u.RetransmitBuffers != 0 || (u.Partial != 0 || u.Incomplete != 0) &&
		!s.sc.Unannounced {
		s.fail("task %d holds %+v when all is over", i, u)
	}
}

// checkEnd holds what arrived against what was sent, when all tasks are gone.
func (s *run) checkEnd() {
	for id := range s.messages {
		if m := &s.messages[id]; m.accepted != m.count && !m.maybe {
			s.fail("message %d from %d to %d: %d of %d fragments accepted", id, m.from, m.to,
				m.accepted, m.count)
		}
	}
	for s.net.Step() {
	}
	if n := s.net.InFlight(); n > 0 {
		s.fail("%d packets are left in the network", n)
	}
}

func addStats(to, from *transport.Stats) {
	to.DuplicatePackets += from.DuplicatePackets
	to.RetransmittedPackets += from.RetransmittedPackets
	to.GhostPackets += from.GhostPackets
	to.PacketsSent += from.PacketsSent
	to.PacketsReceived += from.PacketsReceived
	to.DataSent += from.DataSent
	to.DataReceived += from.DataReceived
	to.AcksSent += from.AcksSent
	to.AcksReceived += from.AcksReceived
}

// checkEffort holds the packets that were sent against what it took: each fragment once, with an
// acknowledgement and room for small ones that went by themselves, or were overtaken and seemed
// lost, some for each that the network spoiled or a handler refused, and, while a task is not to be
// reached, some in each polling interval.
func (s *run) checkEffort() {
	if s.sc.Unannounced || len(s.failures) > 0 {
		return
	}
	c, fragments := &s.net.Counts, 0
	for i := range s.fragments {
		if s.fragments[i].given {
			fragments++
		}
	}
	spoilt := c.Lost + c.Dropped + c.Overflowed + c.TooLong + c.Cut + c.Damaged + c.Nobody +
		s.refused
	n := s.sc.Tasks
	intervals := int(time.Duration(s.net.Now()) / s.sc.PollingInterval)
	if s.sc.Discover { // the parts of each
		fragments *= 1 + s.sc.PacketSize/max(leastMTU, s.sc.PacketSize/16)
	}
	most := 8*fragments + 8*spoilt + c.Duplicated + c.Strays + 20*n*n + n*intervals
	if c.Sent > most {
		s.fail("%d packets were sent for %d fragments, %d of which the network spoiled, in %v",
			c.Sent, fragments, spoilt, time.Duration(s.net.Now()))
	}
}

// checkSums holds the statistics of all links against each other.
func (s *run) checkSums() {
	st, c := &s.stats, &s.net.Counts
	total := uint64(0)
	for i := range s.messages {
		total += uint64(s.messages[i].n)
	}
	if s.sc.Restarts == 0 && (st.DataSent != total || st.DataReceived != total) {
		s.fail("%d bytes of data: sent %d, received %d", total, st.DataSent, st.DataReceived)
	}
	again := uint64(c.Duplicated + c.Strays)
	if st.DuplicatePackets > st.RetransmittedPackets+again ||
		st.RetransmittedPackets > st.PacketsSent || st.AcksSent > st.PacketsSent ||
		st.AcksReceived > st.PacketsReceived+st.DuplicatePackets {
		s.fail("statistics that cannot be: %+v; network: %+v", *st, *c)
	}
}
