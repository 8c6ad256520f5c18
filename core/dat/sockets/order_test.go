package sockets

import (
	"encoding/binary"
	"testing"
	"time"

	"lapi/core/dat"
)

// A peer makes a connection and then ends an older one. Both have come before this side looks: it
// tells of the first one first, as dtestcm of Debian counts on.
func TestNewBeforeEnded(t *testing.T) {
	for range 2 {
		p, q := newProcess(t), newProcess(t)
		con := q.evd(dat.EVDConnection)
		var mine, theirs [2]*end
		for i := range mine {
			mine[i], theirs[i] = p.end(nil, 0), q.end(nil, 0)
			b := theirs[i]
			ep, r := q.ia.NewEP(dat.EPArgs{PZ: q.pz.Handle(), Recv: b.recv.Handle(),
				Request: b.req.Handle(), Connect: con.Handle()})
			must(t, "ep", r)
			b.ep, b.con = ep, con
		}
		connect(t, mine[0], theirs[0])
		cr := q.evd(dat.EVDCR)
		at := qualifier()
		_, r := q.ia.NewPSP(at, cr.Handle(), false)
		must(t, "psp", r)
		must(t, "connect", mine[1].ep.Connect(loopback, at, int64(10*time.Second), nil))
		ev := expect(t, cr, dat.EventConnectionRequest, p, q)
		request, r := dat.Find[*dat.CR](q.l, dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
		must(t, "cr", r)
		must(t, "accept", request.Accept(theirs[1].ep.Handle(), nil))
		q.l.Progress() // it finds nothing, and will not look each time
		expect(t, mine[1].con, dat.EventEstablished, p)
		must(t, "disconnect", mine[0].ep.Disconnect(false))
		for range 100 {
			p.l.Progress()
			time.Sleep(100 * time.Microsecond)
		}
		expect(t, con, dat.EventEstablished, q, p)
		ev = expect(t, con, dat.EventDisconnected, q, p)
		if h := dat.Handle(binary.LittleEndian.Uint64(ev.Data[:])); h != theirs[0].ep.Handle() {
			t.Error("the wrong one ended")
		}
	}
}
