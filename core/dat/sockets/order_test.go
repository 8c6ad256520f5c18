package sockets

import (
	"encoding/binary"
	"testing"
	"time"

	"lapi/core/dat"
)

// A peer makes connections and then ends an older one. All of it arrives before this side looks:
// the new connections are reported first, as dtestcm of Debian expects. 40 connections are at more
// sockets than one look reads.
func TestNewBeforeEnded(t *testing.T) {
	for _, count := range []int{1, 1, 40} {
		p, q := newProcess(t), newProcess(t)
		con, cr := q.evd(dat.EVDConnection), q.evd(dat.EVDCR)
		mine, theirs := make([]*end, count+1), make([]*end, count+1)
		for i := range mine {
			mine[i], theirs[i] = p.end(nil, 0), q.end(nil, 0)
			b := theirs[i]
			ep, r := q.ia.NewEP(dat.EPArgs{PZ: q.pz.Handle(), Recv: b.recv.Handle(),
				Request: b.req.Handle(), Connect: con.Handle()})
			must(t, "ep", r)
			b.ep, b.con = ep, con
		}
		connect(t, mine[0], theirs[0])
		for i := 1; i <= count; i++ {
			at := qualifier()
			_, r := q.ia.NewPSP(at, cr.Handle(), false)
			must(t, "psp", r)
			must(t, "connect", mine[i].ep.Connect(loopback, at, int64(10*time.Second), nil))
		}
		for i := 1; i <= count; i++ {
			ev := expect(t, cr, dat.EventConnectionRequest, q, p)
			h := dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:]))
			request, r := dat.Find[*dat.CR](q.l, h, 0)
			must(t, "cr", r)
			must(t, "accept", request.Accept(theirs[i].ep.Handle(), nil))
		}
		q.l.Progress() // it finds nothing, and will not look each time
		for i := 1; i <= count; i++ {
			expect(t, mine[i].con, dat.EventEstablished, p)
		}
		must(t, "disconnect", mine[0].ep.Disconnect(false))
		for range 100 {
			p.l.Progress()
			time.Sleep(100 * time.Microsecond)
		}
		for range count {
			expect(t, con, dat.EventEstablished, q, p)
		}
		ev := expect(t, con, dat.EventDisconnected, q, p)
		if h := dat.Handle(binary.LittleEndian.Uint64(ev.Data[:])); h != theirs[0].ep.Handle() {
			t.Error("the wrong one ended")
		}
	}
}
