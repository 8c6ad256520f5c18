package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
)

// arrivals gives what comes by the network to its part of the library. It implements Arrivals.
type arrivals struct{ l *Library }

// OnPacket implements Arrivals.
func (a arrivals) OnPacket(at cm.Port, local netip.Addr, from netip.AddrPort, b []byte) {
	a.l.machine.OnPacket(a.l.cfg.Clock(), at, local, from, b)
}

// OnRefused implements Arrivals.
func (a arrivals) OnRefused(to netip.AddrPort) { a.l.machine.Refused(a.l.cfg.Clock(), to) }

// OnLine implements Arrivals.
func (a arrivals) OnLine(line Line, m *wire.Message) { a.l.node.onLine(line, m) }

// OnLineEnd implements Arrivals.
func (a arrivals) OnLineEnd(line Line) { a.l.node.onLineEnd(line) }
