package sockets

import (
	"encoding/binary"
	"testing"

	"lapi/core/dat"
)

// Programs open an adapter with a short asynchronous EVD (eight events, with 100 endpoints), and
// wait for one event of each endpoint that shares receives.
func TestEveryEndpointIsTold(t *testing.T) {
	const ends = 30 // more than newProcess asks room for
	p, q := newProcess(t), newProcess(t)
	srq, r := q.ia.NewSRQ(q.pz.Handle(), 16, 1, 0)
	must(t, "srq", r)
	told := map[dat.Handle]bool{}
	var pairs [ends][2]*end
	for i := range pairs {
		pairs[i] = [2]*end{p.end(nil, 0), q.end(nil, srq.Handle())}
		connect(t, pairs[i][0], pairs[i][1])
	}
	for _, ab := range pairs {
		must(t, "disconnect", ab[0].ep.Disconnect(true))
	}
	for _, ab := range pairs {
		expect(t, ab[1].con, dat.EventDisconnected, p, q)
	}
	for range pairs {
		ev := expect(t, q.ia.Async, dat.EventEPBroken, p, q)
		told[dat.Handle(binary.LittleEndian.Uint64(ev.Data[:]))] = true
	}
	for i, ab := range pairs {
		if !told[ab[1].ep.Handle()] {
			t.Errorf("not told of endpoint %d", i)
		}
	}
}
