package sockets

import (
	"encoding/binary"
	"testing"
	"time"

	"lapi/core/dat"
)

// One endpoint connects several times before it looks at any event: each has its own private data.
// The passive side's events have the private data of the requests, by which programs distinguish
// them.
func TestDatagramPrivateData(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		attr := dat.DefaultAttr
		attr.Service = dat.ServiceUD
		a, b := p.end(&attr, 0), q.end(&attr, 0)
		cr := q.evd(dat.EVDCR)
		at := qualifier()
		_, r := q.ia.NewPSP(at, cr.Handle(), false)
		must(t, "psp", r)
		for i := range byte(3) {
			must(t, "connect", a.ep.Connect(loopback, at, int64(10*time.Second), []byte{'a' + i}))
			ev := expect(t, cr, dat.EventUDRequest, p, q)
			h := dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:]))
			request, r := dat.Find[*dat.CR](q.l, h, 0)
			must(t, "cr", r)
			must(t, "accept", request.Accept(b.ep.Handle(), []byte{'x' + i}))
		}
		for ends := time.Now().Add(20 * time.Second); a.con.Len()+b.con.Len() < 6; {
			p.l.Progress()
			q.l.Progress()
			if time.Now().After(ends) {
				t.Fatal("not all are connected")
			}
		}
		for _, side := range []struct {
			e     *end
			first byte
		}{{a, 'x'}, {b, 'a'}} {
			seen := map[string]bool{}
			for range 3 {
				ev := expect(t, side.e.con, dat.EventUDEstablished, p, q)
				seen[string(private(&ev))] = true
			}
			for i := range byte(3) {
				if !seen[string([]byte{side.first + i})] {
					t.Errorf("no event with %q, but %v", side.first+i, seen)
				}
			}
		}
	})
}

// A UD endpoint takes receives of its SRQ.
func TestDatagramsShareReceives(t *testing.T) {
	p := newProcess(t)
	attr := dat.DefaultAttr
	attr.Service = dat.ServiceUD
	srq, r := p.ia.NewSRQ(p.pz.Handle(), 4, 1, 0)
	must(t, "srq", r)
	a, b := p.end(&attr, 0), p.end(&attr, srq.Handle())
	cr := p.evd(dat.EVDCR)
	at := qualifier()
	_, r = p.ia.NewPSP(at, cr.Handle(), false)
	must(t, "psp", r)
	must(t, "connect", a.ep.Connect(loopback, at, int64(10*time.Second), nil))
	ev := expect(t, cr, dat.EventUDRequest, p)
	request, r := dat.Find[*dat.CR](p.l, dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	must(t, "cr", r)
	must(t, "accept", request.Accept(b.ep.Handle(), nil))
	ev = expect(t, a.con, dat.EventUDEstablished, p)
	ah := dat.Handle(binary.LittleEndian.Uint64(ev.Extension[16:]))
	qpn := binary.LittleEndian.Uint32(ev.Extension[24:])
	for i := range uint64(2) {
		const far = memorySize / 2
		must(t, "recv", srq.Post([]dat.Triplet{p.triplet(far, 100)}, 7+i))
		must(t, "send", a.ep.PostUD([]dat.Triplet{p.triplet(0, 8)}, ah, qpn, i, 0))
		ev = expect(t, b.recv, dat.EventExtendedDTO, p)
		if cookie(&ev) != 7+i || length(&ev) != 48 {
			t.Errorf("receive %d: %d bytes", cookie(&ev), length(&ev))
		}
		if available, outstanding := srq.Counts(); available != 0 || outstanding != 0 {
			t.Errorf("%d available, %d outstanding", available, outstanding)
		}
	}
}
