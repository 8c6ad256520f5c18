package dat

import (
	"encoding/binary"
	"testing"
)

// TestHandoffKeepsTheKindOfRequest: a request that goes to another service point has an event of the
// same number there, of connections and of datagrams alike, and is accepted from there.
func TestHandoffKeepsTheKindOfRequest(t *testing.T) {
	ud := func(x *Attr, _ *EPArgs) { x.Service, x.MaxReadsIn, x.MaxReadsOut = ServiceUD, 0, 0 }
	for _, c := range []struct {
		change            func(*Attr, *EPArgs)
		request, accepted EventNumber
	}{{ud, EventUDRequest, EventUDEstablished}, {nil, EventConnectionRequest, EventEstablished}} {
		l := newLab(t, 2)
		a, b := l.hosts[0].end(c.change), l.hosts[1].end(c.change)
		other, r := b.h.ia.NewEVD(10, 0, EVDCR)
		l.must("evd", r)
		_, r = b.h.ia.NewPSP(8, other.Handle(), false)
		l.must("psp", r)
		l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
		ev := l.expect(b.h.crs, c.request)
		cr, r := find[*CR](b.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
		l.must("request", r)
		l.must("handoff", cr.Handoff(8))
		again := l.expect(other, c.request)
		if binary.LittleEndian.Uint64(again.Data[24:]) != uint64(cr.Handle()) {
			t.Errorf("the event is of another request: %x", again.Data)
		}
		l.must("accept", cr.Accept(b.Handle(), nil))
		l.expect(a.con, c.accepted)
		l.expect(b.con, c.accepted)
		l.close()
	}
}
