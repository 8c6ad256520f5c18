package dat

import "testing"

// TestDeviceUnlistenKeepsRequest: a service point that ends right after its request was accepted
// loses no connection.
func TestDeviceUnlistenKeepsRequest(t *testing.T) {
	for _, before := range []bool{true, false} {
		l := newLab(t, 2)
		a, b := l.hosts[0].end(nil), l.hosts[1].end(nil)
		l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
		cr := l.request(b.h)
		if before {
			l.must("free", b.h.psp.Free())
		}
		l.must("accept", cr.Accept(b.Handle(), nil))
		if !before {
			l.must("free", b.h.psp.Free())
		}
		l.expect(a.con, EventEstablished)
		l.expect(b.con, EventEstablished)
		l.close()
	}
}

// TestDeviceClosedBeforeReady: the active side of a connection that is established there is
// notified when the passive side, where it is not established yet, closes it.
func TestDeviceClosedBeforeReady(t *testing.T) {
	for _, free := range []bool{true, false} {
		l := newLab(t, 2)
		a, b := l.hosts[0].end(nil), l.hosts[1].end(nil)
		b.h.d.LateReady = true
		l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
		cr := l.request(b.h)
		l.must("accept", cr.Accept(b.Handle(), nil))
		l.expect(a.con, EventEstablished)
		if b.State != CompletionPending {
			t.Fatalf("the passive side is in state %d", b.State)
		}
		if free {
			l.must("free", b.Free())
		} else {
			l.must("disconnect", b.Disconnect(false))
			l.expect(b.con, EventDisconnected)
		}
		l.expect(a.con, EventDisconnected)
		if a.State != Disconnected {
			t.Errorf("the active side is in state %d", a.State)
		}
		l.close()
	}
}
