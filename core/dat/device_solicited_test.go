package dat

import (
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

func solicitedReceives(a *Attr, _ *EPArgs) { a.RecvFlags = Solicited }

// TestDeviceSolicited: completions that an adapter reports as solicited, or failed, wake a waiting
// thread; the rest is queued.
func TestDeviceSolicited(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(solicitedReceives)
	cno, r := b.h.ia.NewCNO(Agent{}, -1)
	l.must("cno", r)
	l.must("modify_cno", b.recv.ModifyCNO(cno.Handle()))
	receive := func() { l.must("receive", b.PostReceive(b.h.local(0, 100), 1, 0)) }
	send := func(flags CompletionFlags, ready, there uint32, fired int) {
		t.Helper()
		receive()
		l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8), Flags: flags}))
		l.turn()
		l.wantDTO(a.req, rc.Success, 8, dtoSend)
		if s := b.recv.slot; s.Ready != ready || s.Length != there || cno.fired() != fired {
			t.Errorf("%d wake of %d, %d have triggered; not %d, %d, %d", s.Ready, s.Length,
				cno.fired(), ready, there, fired)
		}
	}
	l.must("wait", b.recv.WaitBegin(1, true))
	send(0, 0, 1, 0)
	send(0, 0, 2, 0)
	send(Solicited, 3, 3, 1)
	send(0, 3, 4, 1)
	_, _, r = b.recv.WaitEnd(1)
	l.must("wait", r)
	for b.recv.Len() > 0 {
		b.recv.take()
	}
	send(Solicited, 1, 1, 1) // the queue is armed again
	b.recv.take()

	receive() // what nobody has taken yet is found by a wait that begins, or ends
	l.must("send", a.Post(PostArgs{Op: rc.Send}))
	l.must("wait", b.recv.WaitBegin(1, true))
	if b.recv.slot.Ready != 1 {
		t.Errorf("a wait that begins finds %d", b.recv.slot.Ready)
	}
	receive()
	l.must("send", a.Post(PostArgs{Op: rc.Send}))
	if _, _, r = b.recv.WaitEnd(2); r != codes.Success {
		t.Errorf("a wait that ends: %#x", uint32(r))
	}
	b.recv.take()
	for b.recv.Len() > 0 {
		b.recv.take()
	}
	receive()
	l.must("send", a.Post(PostArgs{Op: rc.Send, Flags: Solicited}))
	b.h.l.devices[0].Progress(false)
	if b.recv.slot.Ready != 1 {
		t.Error("what is told of is not taken")
	}
	b.recv.take()
	receive()
	l.must("wait", b.recv.WaitBegin(1, true))
	l.must("disconnect", a.Disconnect(false))
	l.expect(b.con, EventDisconnected)
	if b.recv.slot.Ready != 1 {
		t.Error("a flushed receive wakes nobody")
	}
	_, _, r = b.recv.WaitEnd(1)
	l.must("wait", r)

	a, b = l.pair(solicitedReceives) // a message from before the end is no flushed receive
	receive()
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)}))
	l.must("disconnect", b.Disconnect(false))
	l.wantDTO(b.recv, rc.Success, 8, dtoReceive)
}

// TestDeviceSolicitedSleep: an adapter reports solicited receives, and no others, to a sleeping
// thread; the other queues stay armed even if another thread takes the reports.
func TestDeviceSolicitedSleep(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(solicitedReceives)
	k := b.h.l.devices[0]
	if !k.Arm() {
		t.Fatal("there is something to do")
	}
	for i, flags := range []CompletionFlags{0, 0, Solicited} {
		l.must("receive", b.PostReceive(b.h.local(0, 100), 1, 0))
		l.must("send", a.Post(PostArgs{Op: rc.Send, Flags: flags}))
		if told := len(b.h.d.Reported()); (told > 0) != (flags == Solicited) {
			t.Errorf("message %d: told of %d queues", i, told)
		}
	}
	for range 3 { // another thread takes them; the next one is still reported
		l.must("write", b.Post(PostArgs{Op: rc.Write, Triplets: b.h.local(0, 8),
			Remote: a.h.remote(0, 8)}))
		if len(b.h.d.Reported()) == 0 {
			t.Error("the queue of requests is not armed any more")
		}
		k.Progress(false)
	}
	k.Disarm()
}
