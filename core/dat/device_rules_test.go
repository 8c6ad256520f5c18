package dat

import (
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// TestDeviceAfterFailure: requests posted after a failed one are not sent, not even before the
// connection's end is reported.
func TestDeviceAfterFailure(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	l.must("receive", b.PostReceive(b.h.local(0, 8), 1, 0))
	l.must("bad", a.Post(PostArgs{Op: rc.Send, Triplets: []Triplet{{Addr: 1, N: 8, Context: 77}}}))
	l.must("good", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.wantDTO(a.req, rc.LocalProtection, 0, dtoSend)
	l.wantDTO(a.req, rc.Flushed, 0, dtoSend)
	l.wantDTO(b.recv, rc.Flushed, 0, dtoReceive)
	l.expect(a.con, EventBroken)
}

// TestModifyKeepsQueuePair: a field that a queue pair does not depend on, such as the connection's EVD
// or the longest message, leaves it as it is; a field that it was made for makes another.
func TestModifyKeepsQueuePair(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	h := l.hosts[0]
	e := h.end(nil)
	other, r := h.ia.NewEVD(64, 0, EVDConnection)
	l.must("evd", r)
	number := func() uint32 { return e.way.(deviceWay).Number() }
	made := number()
	a := e.Attr
	a.MaxMessage, a.MaxRequest = a.MaxMessage/2, a.MaxRequest+1
	l.must("modify the EVD", e.Modify(FieldConnect, EPArgs{Connect: other.Handle()}))
	l.must("modify the message", e.Modify(1<<(firstAttr+1), EPArgs{Attr: &a}))
	if number() != made || e.ConnectE != other || e.Attr.MaxMessage != a.MaxMessage {
		t.Errorf("queue pair %d, made was %d; longest message %d", number(), made,
			e.Attr.MaxMessage)
	}
	l.must("modify the requests", e.Modify(1<<(firstAttr+7), EPArgs{Attr: &a}))
	if number() == made || e.Attr.MaxRequest != a.MaxRequest {
		t.Error("a queue pair that was made for fewer requests stays")
	}
}

// TestDeviceReadsToNoWindow: a read to a context that names no window fails by its completion.
func TestDeviceReadsToNoWindow(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	l.must("read", a.Post(PostArgs{Op: rc.Read, ToRMR: true, Remote: b.h.remote(512, 8),
		Triplets: []Triplet{{Addr: 1, N: 8, Context: 77}}}))
	l.wantDTO(a.req, rc.LocalProtection, 0, dtoRead)
	l.expect(a.con, EventBroken)
}

// TestDeviceBindsInOrder: a bind takes effect after the requests before it, and completes also
// where the adapter has no part in it.
func TestDeviceBindsInOrder(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	m, r := a.h.ia.NewRMR(a.h.pz.Handle(), false)
	l.must("rmr", r)
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	_, r = m.Bind(BindArgs{LMR: a.h.lmr.Handle(), Triplet: a.h.local(64, 8)[0],
		Privileges: RemoteRead, EP: a.Handle(), ZeroBased: true})
	l.must("bind", r)
	l.expect(a.req, 0) // the send waits for a receive
	l.must("receive", b.PostReceive(b.h.local(0, 8), 1, 0))
	l.wantDTO(a.req, rc.Success, 4, dtoSend)
	l.expect(a.req, EventBind)
}

// TestDeviceSharedOrder: receives of an SRQ complete in the order in which messages took them.
func TestDeviceSharedOrder(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	q := l.hosts[1]
	srq, r := q.ia.NewSRQ(q.pz.Handle(), 8, 1, 0)
	l.must("srq", r)
	a, b := l.hosts[0].end(nil), q.end(func(_ *Attr, p *EPArgs) { p.SRQ = srq.Handle() })
	l.must("connect", a.Connect(q.ia.Addr, 7, 1e9, nil))
	l.must("accept", l.request(q).Accept(b.Handle(), nil))
	l.expect(a.con, EventEstablished)
	l.expect(b.con, EventEstablished)
	for i := range 8 {
		l.must("post", srq.Post(q.local(i*16, 16), uint64(i)))
	}
	for i := range 8 {
		a.h.b[0] = byte(100 + i)
		l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 1)}))
		l.turn()
		ev := b.recv.take()
		if cookie := ev.Data[8]; cookie != byte(i) || q.b[i*16] != byte(100+i) {
			t.Errorf("message %d is told of at receive %d", i, cookie)
		}
	}
}

// TestDeviceConnectionsApart: a connection of an adapter is its two queue pairs, whatever processes
// say of themselves. A process that repeats another's private data, before it or after it, gets what
// is sent to its own queue pair, and nothing else.
func TestDeviceConnectionsApart(t *testing.T) {
	for _, order := range [][2]int{{0, 2}, {2, 0}} { // the client and the thief, of host 1
		l := newLab(t, 3)
		server := l.hosts[1]
		var ends [3][2]*labEnd
		for _, i := range order {
			a, b := l.hosts[i].end(nil), server.end(nil)
			l.must("connect", a.Connect(server.ia.Addr, 7, 1e9, []byte("I am the client")))
			l.must("accept", l.request(server).Accept(b.Handle(), nil))
			l.expect(a.con, EventEstablished)
			l.expect(b.con, EventEstablished)
			l.must("receive", a.PostReceive(a.h.local(0, 100), 1, 0))
			ends[i] = [2]*labEnd{a, b}
		}
		copy(server.b, "secret")
		l.must("post", ends[0][1].Post(PostArgs{Op: rc.Send, Triplets: server.local(0, 6)}))
		l.wantDTO(ends[0][1].req, rc.Success, 6, dtoSend)
		l.wantDTO(ends[0][0].recv, rc.Success, 6, dtoReceive)
		if l.expect(ends[2][0].recv, 0); string(l.hosts[2].b[:6]) == "secret" {
			t.Error("the thief has the client's data")
		}
		l.close()
	}
}

// TestDevicePortTaken: a qualifier that another process of the node listens at is refused, so that
// its owner notices it.
func TestDevicePortTaken(t *testing.T) {
	l := newLab(t, 1)
	defer l.close()
	h := l.hosts[0]
	id, err := h.d.NewID(false) // as another process would have it
	if err != nil || h.d.Listen(id, device.PortOf(8)) != nil {
		t.Fatal("the fabric does not listen")
	}
	defer h.d.FreeID(id)
	if _, r := h.ia.NewPSP(8, h.crs.Handle(), false); r.Type() != codes.ConnQualInUse {
		t.Errorf("a port that another process has: %#x", uint32(r))
	}
}

// TestDeviceLow: an SRQ that asks for it has the adapter report that few receives are left, before
// the receives that messages have taken complete; the program is notified once.
func TestDeviceLow(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	q := l.hosts[1]
	srq, r := q.ia.NewSRQ(q.pz.Handle(), 8, 1, 0)
	l.must("srq", r)
	a, b := l.hosts[0].end(nil), q.end(func(_ *Attr, p *EPArgs) { p.SRQ = srq.Handle() })
	l.must("connect", a.Connect(q.ia.Addr, 7, 1e9, nil))
	l.must("accept", l.request(q).Accept(b.Handle(), nil))
	l.expect(a.con, EventEstablished)
	l.expect(b.con, EventEstablished)
	for range 4 {
		l.must("post", srq.Post(q.local(0, 16), 0))
	}
	l.must("low", srq.SetLow(3))
	l.expect(q.ia.Async, 0)
	for i, want := range []ibv.EventKind{ibv.NoEvent, ibv.SRQLow, ibv.NoEvent} {
		l.must("send", a.Post(PostArgs{Op: rc.Send}))
		async := q.d.Event()
		if async.Kind != want {
			t.Fatalf("after %d messages the adapter reports %d", i+1, async.Kind)
		}
		if want != ibv.NoEvent {
			q.d.Raise(async)
			break
		}
	}
	l.expect(q.ia.Async, EventEPBroken)
	l.expect(q.ia.Async, 0)
	if srq.LowWatermark != 0 {
		t.Errorf("low watermark %d", srq.LowWatermark)
	}
	l.must("send", a.Post(PostArgs{Op: rc.Send}))
	l.expect(q.ia.Async, 0)
	l.must("low", srq.SetLow(2)) // what is there already is found
	l.expect(q.ia.Async, EventEPBroken)
	l.must("low", srq.SetLow(0))
	l.must("send", a.Post(PostArgs{Op: rc.Send}))
	l.expect(q.ia.Async, 0)
}
