package sockets

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat/cm"
)

// arrivals notes where packets came from and to.
type arrivals struct {
	packets
	local []netip.Addr
	from  []netip.AddrPort
}

func (a *arrivals) OnPacket(at cm.Port, local netip.Addr, from netip.AddrPort, b []byte) {
	a.packets.OnPacket(at, local, from, b)
	a.local, a.from = append(a.local, local), append(a.from, from)
}

// TestPortsOfAdapters: two processes of a host listen at one port, each at the address of its adapter.
// Each receives what comes to its own, and answers from there.
func TestPortsOfAdapters(t *testing.T) {
	open := func() *Network {
		n, err := Open(Config{Clock: func() int64 { return 0 }, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	receive := func(n *Network) *arrivals {
		got := &arrivals{}
		for end := time.Now().Add(20 * time.Second); len(got.at) == 0 && time.Now().Before(end); {
			n.Woken()
			n.Receive(8, got)
		}
		if len(got.at) == 0 {
			t.Fatal("nothing has come")
		}
		return got
	}
	asker := open()
	free := ownPort(t, asker) // of a socket that is closed: nobody's
	asker.Close()
	asker = open()
	var processes []*Network
	var at []netip.Addr
	for i := range 2 {
		n, a := open(), netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)})
		if err := n.Listen(free, a); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
		processes, at = append(processes, n), append(at, a)
	}
	for i, n := range processes {
		to := netip.AddrPortFrom(at[i], uint16(free))
		asker.Send(cm.Own, netip.Addr{}, to, []byte("a"))
		got := receive(n)
		if got.at[0] != free || got.local[0] != at[i] {
			t.Errorf("process %d received at port %d of %v", i, got.at[0], got.local[0])
		}
		n.Send(free, got.local[0], got.from[0], []byte("b"))
		if answer := receive(asker); answer.from[0] != to {
			t.Errorf("process %d answers from %v, not %v", i, answer.from[0], to)
		}
	}
	if err := open().Listen(free, netip.Addr{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("listening at all addresses beside them: %v, not EADDRINUSE", err)
	}
	// Two adapters of one process.
	other := netip.AddrFrom4([4]byte{127, 0, 0, 9})
	for _, a := range []netip.Addr{at[0], other} {
		if err := processes[0].Listen(free, a); err != nil {
			t.Errorf("listening at %v, too: %v", a, err)
		}
	}
	asker.Send(cm.Own, netip.Addr{}, netip.AddrPortFrom(other, uint16(free)), []byte("a"))
	if got := receive(processes[0]); got.local[0] != other {
		t.Errorf("what was sent to %v came to %v", other, got.local[0])
	}
	for i, n := range processes {
		for range 1 + 2*(1-i) {
			n.Unlisten(free)
		}
		if len(n.byFD) != 1 {
			t.Errorf("process %d has %d sockets after its last listener", i, len(n.byFD))
		}
	}
	n := open()
	if err := n.Listen(free, netip.AddrFrom4([4]byte{192, 0, 2, 1})); err != nil {
		t.Errorf("listening for an adapter without an address: %v", err)
	}
}
