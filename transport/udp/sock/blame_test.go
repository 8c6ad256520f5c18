package sock

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
)

// TestLastErrorOfAnAddress: the error of a packet is kept for its address, whichever call sent it,
// until something comes from there. Refusals that ask for another try are not kept.
func TestLastErrorOfAnAddress(t *testing.T) {
	head := mapped(t, 40)
	declare(head, 40)
	broadcast := netip.MustParseAddrPort("255.255.255.255:9") // EACCES without SO_BROADCAST
	for name, send := range map[string]func(a *Socket, to netip.AddrPort){
		"by itself": func(a *Socket, to netip.AddrPort) { a.Send(to, head, 0, 0) },
		"in a run": func(a *Socket, to netip.AddrPort) {
			a.Gather(0, to, head, 0, 0)
			a.Gather(1, to, head, 0, 0)
			a.Push(nil)
		},
		"in a row": func(a *Socket, to netip.AddrPort) {
			long := mapped(t, 40000)
			declare(long, 40000)
			a.Gather(0, to, long, 0, 0)
			a.Gather(1, to, long, 0, 0)
			a.Push(nil)
		},
	} {
		a, b := open(t, loopback), open(t, loopback)
		send(a, b.Local())
		if err := a.LastError(b.Local()); err != nil {
			t.Errorf("%s: %v of a packet that arrives", name, err)
		}
		send(a, broadcast)
		if err := a.LastError(broadcast); err == nil {
			t.Errorf("%s: no error of a packet that cannot go", name)
		}
		if err := a.LastError(b.Local()); err != nil {
			t.Errorf("%s: %v of another address", name, err)
		}
		b.Send(a.Local(), head, 0, 0)
		receive(t, a)
		if err := a.LastError(broadcast); err == nil {
			t.Errorf("%s: a packet of another address has ended the error", name)
		}
	}
	a, b := open(t, loopback), open(t, loopback)
	a.failed(syscall.EPERM, b.Local())
	a.failed(syscall.EAGAIN, b.Local())
	if err := a.LastError(b.Local()); !errors.Is(err, syscall.EPERM) {
		t.Errorf("EAGAIN has taken the place of the error: %v", err)
	}
	b.Send(a.Local(), head, 0, 0)
	receive(t, a)
	if err := a.LastError(b.Local()); err != nil {
		t.Errorf("%v, though the peer has sent since", err)
	}
}

// TestLastErrorThatComesLater: a connected socket learns of a port where nobody listens.
func TestLastErrorThatComesLater(t *testing.T) {
	gone, err := Open(loopback, Options{})
	if err != nil {
		t.Fatal(err)
	}
	to := gone.Local()
	gone.Close()
	a, head := open(t, loopback), mapped(t, 40)
	declare(head, 40)
	a.Connect(to)
	a.Send(to, head, 0, 0)
	Wait([]int{a.fd}, 1e9)
	if _, _, ok := a.Receive(); ok {
		t.Fatal("something arrives")
	}
	if err := a.LastError(to); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the error is %v", err)
	}
}
