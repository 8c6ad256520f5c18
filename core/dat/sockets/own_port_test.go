package sockets

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/core/dat/cm"
)

func ownPort(t *testing.T, n *Network) cm.Port {
	t.Helper()
	a, err := unix.Getsockname(n.own.fd)
	if err != nil {
		t.Fatal(err)
	}
	return cm.Port(addrPort(a).Port())
}

type packets struct {
	dat.Arrivals
	at []cm.Port
}

func (p *packets) OnPacket(at cm.Port, _ netip.Addr, _ netip.AddrPort, _ []byte) {
	p.at = append(p.at, at)
}

// TestOwnPortIsNobodysQualifier: the kernel may give a process's own socket the port of a qualifier
// at which its program listens later. It can, as long as nothing was sent from the socket.
func TestOwnPortIsNobodysQualifier(t *testing.T) {
	open := func() *Network {
		n, err := Open(Config{Clock: func() int64 { return 0 }, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	n, peer := open(), open()
	port := ownPort(t, n)
	if err := n.Listen(port, netip.Addr{}); err != nil {
		t.Fatalf("listening at the port of the own socket: %v", err)
	}
	next := ownPort(t, n)
	if next == port {
		t.Fatal("the own socket is at the port still")
	}
	for _, to := range []cm.Port{port, next} {
		peer.Send(cm.Own, netip.Addr{}, netip.AddrPortFrom(loopback, uint16(to)), []byte("a"))
	}
	var got packets
	for end := time.Now().Add(20 * time.Second); len(got.at) < 2 && time.Now().Before(end); {
		n.Woken()
		n.Receive(8, &got)
	}
	if len(got.at) != 2 || got.at[0]+got.at[1] != port+cm.Own {
		t.Errorf("packets came to %v, not to %d and the own socket", got.at, port)
	}
	if err := peer.Listen(ownPort(t, peer), netip.Addr{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("listening where answers come: %v, not EADDRINUSE", err)
	}
	n.Unlisten(port)
	if err := peer.Listen(port, netip.Addr{}); err != nil {
		t.Errorf("the port is taken after the last listener: %v", err)
	}
}
