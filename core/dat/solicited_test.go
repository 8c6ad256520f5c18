package dat

import (
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/simnet"
)

// TestSolicited: if an endpoint's receives are solicited, a message not sent as solicited is
// queued, wakes nobody and triggers nothing. A wait still finds events that are there when it
// begins.
func TestSolicited(t *testing.T) {
	w := newWorld(t, 1, 2, simnet.Way{})
	p, q := w.procs[0], w.procs[1]
	attr := DefaultAttr
	attr.RecvFlags = Solicited
	a, b := p.end(nil), q.end(&attr)
	cno, r := q.ia.NewCNO(Agent{}, -1)
	w.must("cno", r)
	w.must("modify_cno", b.recv.ModifyCNO(cno.Handle()))
	if b.recv.State()&EVDConfigSolicited == 0 || b.req.State()&EVDConfigSolicited != 0 {
		t.Errorf("states %#x and %#x", b.recv.State(), b.req.State())
	}
	for i := range uint64(6) {
		w.must("recv", b.ep.PostReceive([]Triplet{q.part(0, 8)}, i, 0))
	}
	w.connect(a, b)
	send := func(flags CompletionFlags) {
		n := b.recv.Len()
		w.must("send", a.ep.Post(PostArgs{Op: rc.Send, Flags: flags}))
		if !w.until(func() bool { return b.recv.Len() == n+1 }) {
			t.Fatal("nothing has come")
		}
	}
	w.must("wait", b.recv.WaitBegin(1, true))
	send(0)
	if b.recv.slot.Ready != 0 || b.recv.slot.Length != 1 || cno.fired() != 0 {
		t.Errorf("a plain send: %d wake, %d are there, %d have triggered", b.recv.slot.Ready,
			b.recv.slot.Length, cno.fired())
	}
	send(Solicited)
	if b.recv.slot.Ready != 2 || cno.fired() != 1 {
		t.Errorf("a solicited one: %d wake, %d have triggered", b.recv.slot.Ready, cno.fired())
	}
	if _, more, r := b.recv.WaitEnd(1); r != codes.Success || more != 1 {
		t.Errorf("the wait: %#x, %d more", r, more)
	}
	w.must("wait", b.recv.WaitBegin(1, true)) // for what is there already
	if b.recv.slot.Ready != 1 {
		t.Errorf("a wait that begins: %d wake", b.recv.slot.Ready)
	}
	_, _, r = b.recv.WaitEnd(1)
	w.must("wait", r)
	w.must("wait", b.recv.WaitBegin(1, true))
	write := PostArgs{Op: rc.Write, Triplets: []Triplet{p.part(0, 8)}, Remote: q.part(0, 8),
		Immediate: true}
	w.must("write", a.ep.Post(write))
	w.expect(a.req, EventDTO)
	w.expect(a.req, EventDTO)
	w.expect(a.req, EventExtendedDTO)
	if b.recv.slot.Ready != 0 || b.recv.Len() != 1 {
		t.Errorf("immediate data: %d wake", b.recv.slot.Ready)
	}
	if _, _, r = b.recv.WaitEnd(2); r.Type() != codes.TimeoutExpired {
		t.Errorf("a wait for two: %#x", uint32(r))
	}
	w.must("wait", b.recv.WaitBegin(1, true))
	if b.recv.slot.Ready != 1 {
		t.Errorf("a wait for what came silently: %d wake", b.recv.slot.Ready)
	}
	w.must("disconnect", a.ep.Disconnect(false)) // what fails wakes
	w.expect(b.con, EventDisconnected)
	if b.recv.slot.Ready != 4 || b.recv.Len() != 4 {
		t.Errorf("flushed receives: %d wake of %d", b.recv.slot.Ready, b.recv.Len())
	}
	_, _, r = b.recv.WaitEnd(4)
	w.must("wait", r)
	w.must("ep_free", b.ep.Free())
	if b.recv.State()&EVDConfigSolicited != 0 {
		t.Error("it stays solicited without an endpoint")
	}
}

// TestSolicitedDatagrams: the same of datagrams.
func TestSolicitedDatagrams(t *testing.T) {
	w := newWorld(t, 2, 2, simnet.Way{})
	p, q := w.procs[0], w.procs[1]
	attr := DefaultAttr
	attr.Service, attr.RecvFlags = ServiceUD, Solicited
	a, b := p.end(&attr), q.end(&attr)
	ah, qpn := w.connectUD(a, b)
	w.must("wait", b.recv.WaitBegin(1, true))
	for i, flags := range []CompletionFlags{0, Solicited} {
		w.must("recv", b.ep.PostReceive([]Triplet{q.part(0, 100)}, 1, 0))
		w.must("send", a.ep.PostUD([]Triplet{p.part(0, 8)}, ah, qpn, 2, flags))
		if !w.until(func() bool { return b.recv.Len() == i+1 }) {
			t.Fatal("nothing has come")
		}
		if want := uint32(2 * i); b.recv.slot.Ready != want {
			t.Errorf("datagram %d: %d wake, not %d", i, b.recv.slot.Ready, want)
		}
	}
}
