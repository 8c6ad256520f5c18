package lapi

import (
	"fmt"
	"strings"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/version"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/udp"
)

// built is when the library was built, set by the Makefile (-ldflags -X).
var built = "at an unknown time"

// Levels of MP_INFOLEVEL above wireup.LevelInform. docs/environment.md says what each adds.
const (
	levelJob        = 3
	levelTasks      = 4
	levelStatistics = 5
	levelWaiting    = 6
)

// announce says what LAPI_Init has made of the environment.
func (s *setup) announce() {
	s.faults.Attention(wireup.LevelInform, codes.AttVersion,
		"%s, built %s (Linux, instance %d, %d tasks)", version.String(), built, s.instance, s.cfg.NumTasks)
	s.announceBulk()
	s.announceJob()
	s.announceTasks()
	spin, yield := s.net.Patience()
	s.faults.Message(levelWaiting,
		"a thread that waits makes %d calls, yields %d times, then sleeps; "+
			"tasks share processors: %v; interrupt mode: %v",
		spin, yield, s.net.Crowded(), s.wake.Interrupt())
	for _, l := range s.links.All() {
		m := l.Limits()
		s.faults.Message(levelWaiting,
			"link %T: messages of at most %d bytes, headers of %d; puts of %d, gets of %d",
			untraced(l), m.SendMax, m.HeaderMax, m.PutMax, m.GetMax)
	}
}

// announceBulk reports the effect of MP_USE_BULK_XFER=yes.
func (s *setup) announceBulk() {
	switch {
	case s.bulkEnabled():
		s.faults.Attention(wireup.LevelInform, codes.AttBulkEnabled,
			"(messages from %d bytes on; %d of %d other tasks)",
			s.cfg.BulkMin, s.reachedDirectly(), len(s.peers)-1)
	case s.cfg.UseBulk:
		s.faults.Message(wireup.LevelFailure,
			"LAPI_Init: MP_USE_BULK_XFER=yes has no effect: there is no direct way to another "+
				"task's memory, so all data goes in packets")
	}
}

// announceJob says how the other tasks are reached, and with which settings.
func (s *setup) announceJob() {
	shared, byUDP := 0, -s.reachedByRDMA()
	for i := range s.peers {
		switch p := &s.peers[i]; {
		case p.Shared:
			shared++
		case !p.IsSelf:
			byUDP++
		}
	}
	rdma := ""
	if s.net.Verbs != nil {
		rdma = fmt.Sprintf(", by RDMA: %d", s.reachedByRDMA())
	}
	s.faults.Message(levelJob,
		"other tasks by shared memory: %d, by UDP/IP: %d%s; memory is reached directly of %d",
		shared, byUDP, rdma, s.reachedDirectly())
	c := s.cfg
	s.faults.Message(levelJob,
		"fast lane: %s; acknowledgement of %d packets; %d buffers of %d bytes; copied at once: %d "+
			"bytes; retransmission every %v or %d polls; bulk transfer from %d bytes on: %v",
		[...]string{job.FastLaneOn: "on", job.FastLaneOff: "off",
			job.FastLaneRandom: "random"}[c.FastLane],
		c.AckThreshold, c.RexmitBufCount, c.RexmitBufSize, s.attributes.bufCopy, c.PollingInterval,
		c.RetransmitInterval, c.BulkMin, s.bulkEnabled())
}

// announceTasks says of each other task how it is reached. There may be thousands.
func (s *setup) announceTasks() {
	if s.cfg.InfoLevel < levelTasks {
		return
	}
	for i := range s.peers {
		if p := &s.peers[i]; !p.IsSelf {
			s.faults.Message(levelTasks, "task %d is reached by %s, %d bytes a message", i,
				s.way(i, p), p.Link.Limits().SendMax)
		}
	}
}

// way is by what, and where, a task is reached.
func (s *setup) way(i int, p *peer.Peer) string {
	switch {
	case s.rejoins.known(i).absent:
		return "nothing yet"
	case p.Shared && p.SingleCopy:
		return "shared memory with single copies"
	case p.Shared:
		return "shared memory"
	case s.byRDMA(p):
		return "RDMA"
	}
	addrs, _, err := udp.DecodeAddress(s.net.UDP.AddressOf(p.Ep).Bytes)
	if err != nil {
		return "UDP/IP"
	}
	return "UDP/IP at " + strings.Trim(fmt.Sprint(addrs), "[]")
}

// announceStatistics says, at LAPI_Term, what each way has carried.
func (c *Context) announceStatistics() {
	for _, t := range c.traffic() {
		if t.PacketsSent+t.PacketsReceived+t.DataSent+t.DataReceived > 0 {
			c.faults.Message(levelStatistics, "%s", t)
		}
	}
}

// traffic is what one way has carried.
type traffic struct {
	way string
	transport.Stats
}

func (t traffic) String() string {
	return fmt.Sprintf("%s: packets sent %d received %d, bytes sent %d received %d, "+
		"retransmitted %d duplicate %d ghost %d, acknowledgements sent %d received %d",
		t.way, t.PacketsSent, t.PacketsReceived, t.DataSent, t.DataReceived,
		t.RetransmittedPackets, t.DuplicatePackets, t.GhostPackets, t.AcksSent, t.AcksReceived)
}

func (c *Context) traffic() []traffic {
	all := []traffic{{way: "UDP/IP"}, {"shared memory", c.statistics(qShmStatistics)},
		{"local copy", c.statistics(qLocalSendStatistics)}}
	if c.net.UDP != nil {
		all[0].Stats = *c.net.UDP.Stats()
	}
	if c.net.Verbs != nil {
		all = append(all, traffic{"RDMA", *c.net.Verbs.Stats()})
	}
	return all
}
