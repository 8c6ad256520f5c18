package udp

import (
	"lapi/transport/udp/internal/paths"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// pending are packets received and not yet acknowledged.
type pending struct {
	ackCount int   // packets
	ackDue   int64 // when they must be acknowledged; 0: there are none
	wantAck  bool  // the origin asks for it when there is nothing else to do
	listed   bool  // in Machine.soon
}

// acknowledge decides when the packet just received is acknowledged.
func (c *receiver) acknowledge(now int64, r *paths.Path, flags wire.Flags) {
	c.ackCount++
	if flags&wire.FlagAckNow != 0 || c.ackCount >= c.m.cfg.AckThreshold {
		c.sendAck(r, wire.KindAck, 0)
		return
	}
	delay := recovery.AckDelay
	if c.ackCount > 1 {
		delay = recovery.StreamAckDelay
	}
	if due := now + min(int64(delay), int64(c.m.cfg.PollingInterval)); c.ackDue == 0 ||
		due < c.ackDue {
		c.ackDue = due
		c.p.timer(c.ackDue)
	}
	if flags&wire.FlagAckSoon != 0 {
		c.wantAck = true
		if !c.listed {
			c.listed = true
			c.m.soon = append(c.m.soon, c)
		}
	}
}

// acksWent: a data packet has gone out. It says whether there was anything to acknowledge in it.
func (c *receiver) acksWent() bool {
	if c.ackCount == 0 {
		return false
	}
	c.m.stats.AcksSent++
	if c.received.FitsHeader() { // the header acknowledged everything
		c.clearPending()
	}
	return true
}

// ackBounced: the acknowledgements in a packet did not go after all; they are sent again at the
// time again.
func (c *receiver) ackBounced(again int64) {
	c.m.stats.AcksSent--
	c.ackCount++
	c.ackDue = earlier(c.ackDue, again)
	c.p.timer(again)
}

func (c *receiver) clearPending() { c.ackCount, c.ackDue, c.wantAck = 0, 0, false }

// answerPath is the path for acknowledgements that had to wait: the path of the latest data packet,
// if it can be used.
func (c *receiver) answerPath() *paths.Path {
	if r := c.p.paths.At(int(c.latestBy)); !r.IsOffline() {
		return r
	}
	return c.p.paths.Usable()
}

// sendAck acknowledges by r all that came from the peer, as an Ack or Bye packet: a block for each
// 64 numbers of which some were received, followed by the blocks of more. The ack bits of the
// header repeat part of that. A task that is leaving sends Bye in place of every Ack. If the outlet
// is full the packet is lost, as any packet may be.
func (c *receiver) sendAck(r *paths.Path, kind wire.Kind, flags wire.Flags,
	more ...wire.Block) bool {
	m := c.m
	if m.leaving {
		kind = wire.KindBye
	}
	b := m.scratch[:min(len(m.scratch), c.p.sender.mtus[r.Number()].size)]
	c.p.putHeader(b, r, kind, flags, 0)
	n := wire.HeaderSize + c.received.PutBlocks(b[wire.HeaderSize:])
	for _, k := range more {
		k.Put(m.scratch[n:])
		n += wire.BlockSize
	}
	c.p.session.seal(m.scratch[:n], 0, 0)
	if m.out.Transmit(Path(r.Number()), r.Addr(), m.scratch[:n], 0, 0) == Full {
		return false
	}
	m.stats.PacketsSent++
	m.stats.AcksSent++
	c.clearPending()
	return true
}

// onTimer acknowledges what has waited long enough; all: whatever waits.
func (c *receiver) onTimer(now int64, all bool) {
	if c.ackDue == 0 || !all && now < c.ackDue {
		return
	}
	c.sendAck(c.answerPath(), wire.KindAck, 0)
	if c.ackDue != 0 { // the outlet is full
		c.ackDue = now + int64(fullDelay)
	}
}

// OnIdle answers the requests that could wait until the socket was empty, and sends the packets
// that are held.
func (m *Machine) OnIdle() {
	for _, c := range m.soon {
		c.listed = false
		if c.wantAck {
			c.sendAck(c.answerPath(), wire.KindAck, 0)
		}
	}
	m.soon = m.soon[:0]
	if len(m.coalescing.held) > 0 {
		m.coalescing.sendHeld(&m.batch)
	}
}

// acknowledgeAll sends every acknowledgement that waits.
func (m *Machine) acknowledgeAll() {
	m.OnIdle()
	for _, p := range m.timers.active {
		if c := &p.receiver; c.ackDue != 0 {
			c.sendAck(c.answerPath(), wire.KindAck, 0)
		}
	}
}
