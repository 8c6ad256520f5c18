package sock

import (
	"bytes"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/internal/medium"
)

var loopback = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

func open(t testing.TB, a netip.AddrPort) *Socket {
	t.Helper()
	s, err := Open(a, Options{Receive: 1 << 20, Send: 1 << 20, Length: length})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func receive(t testing.TB, s *Socket) ([]byte, netip.AddrPort) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); Wait([]int{s.fd},
		int64(time.Second)) {
		if b, from, ok := s.Receive(); ok {
			return b, from
		}
	}
	t.Fatal("nothing arrives")
	return nil, netip.AddrPort{}
}

// mapped is n bytes outside the Go heap, before a page without access.
func mapped(t *testing.T, n int) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b[size-n : size]
}

func testExchange(t *testing.T, local netip.AddrPort) {
	a, b := open(t, local), open(t, local)
	if a.Local().Port() == 0 || a.Local() == b.Local() ||
		a.Local().Addr() != local.Addr().WithZone("") {
		t.Fatalf("bound to %v and %v", a.Local(), b.Local())
	}
	data := mapped(t, 60000)
	for i := range data {
		data[i] = byte(i * 3)
	}
	head := mapped(t, 40)
	copy(head[2:], "head")
	for _, n := range []int{0, 1, 1000, 60000} {
		declare(head, len(head)+n)
		if got := a.Send(b.Local(), head, uint64(addressOf(data)), n); got != medium.Sent {
			t.Fatalf("%d bytes: outcome %d", n, got)
		}
		d, from := receive(t, b)
		if from != a.Local() || !bytes.Equal(d[:40], head) || !bytes.Equal(d[40:], data[:n]) {
			t.Errorf("%d bytes arrive as %d from %v", n, len(d)-40, from)
		}
	}
	if _, _, ok := b.Receive(); ok {
		t.Error("more arrives than was sent")
	}
}

func TestExchange(t *testing.T) { testExchange(t, loopback) }

func TestExchangeIPv6(t *testing.T) {
	local := netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	s, err := Open(local, Options{})
	if err != nil {
		t.Skipf("this host has no IPv6 loopback: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	testExchange(t, local)
}

func TestSendOutcomes(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	head, data := mapped(t, 40), mapped(t, 1000)
	bad := uint64(addressOf(data)) + 500
	for name, address := range map[string]uint64{"page without access": bad, "zero": 0,
		"not canonical": 1 << 63, "kernel": ^uint64(0) - 5000,
		"good memory, but for bit 32": uint64(addressOf(mapped(t, 1000))) ^ 1<<32,
		"for bit 63":                  uint64(addressOf(mapped(t, 1000))) | 1<<63} {
		if got := a.Send(b.Local(), head, address, 1000); got != medium.Fault {
			t.Errorf("%s: outcome %d, want a fault", name, got)
		}
	}
	// 33 bytes too long: lost
	long := uint64(addressOf(mapped(t, 65500)))
	if got := a.Send(b.Local(), head, long, 65500); got != medium.Sent {
		t.Errorf("too long a datagram: outcome %d, want a loss", got)
	}
	nobody := netip.AddrPortFrom(loopback.Addr(), 1)
	for range 3 { // nobody there: lost, also after the kernel has learned so
		if got := a.Send(nobody, head, 0, 0); got != medium.Sent {
			t.Errorf("to nobody: outcome %d, want a loss", got)
		}
	}
	if _, _, ok := a.Receive(); ok {
		t.Error("something arrives")
	}
	if got := a.Send(b.Local(), head, 0, 0); got != medium.Sent {
		t.Errorf("outcome %d", got)
	}
	if d, _ := receive(t, b); len(d) != 40 {
		t.Errorf("%d bytes arrive after all that", len(d))
	}
}

func TestSocketFlags(t *testing.T) {
	s := open(t, loopback)
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("not close-on-exec: %#x, %v", flags, err)
	}
	if s.ReceiveBuffer() < 1<<15 {
		t.Errorf("receive buffer of %d bytes", s.ReceiveBuffer())
	}
}

func TestOpenErrors(t *testing.T) {
	used := open(t, loopback)
	for name, a := range map[string]netip.AddrPort{
		"no address": {}, "port in use": used.Local(),
		// TEST-NET-1 is nobody's
		"not of this host": netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 0),
	} {
		if s, err := Open(a, Options{}); err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func TestInterfacePayload(t *testing.T) {
	if n := InterfacePayload(loopback.Addr()); n < 1024 || n > maxPayload {
		t.Errorf("loopback carries %d bytes", n)
	}
	if n := InterfacePayload(netip.AddrFrom4([4]byte{127, 9, 9,
		9})); n != InterfacePayload(loopback.Addr()) {
		t.Errorf("127.9.9.9 is loopback too, but carries %d bytes", n)
	}
	if n := InterfacePayload(netip.AddrFrom4([4]byte{192, 0, 2, 1})); n != fallbackMTU-28 {
		t.Errorf("an address of no interface: %d bytes", n)
	}
}

func TestNoAllocations(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	head, data := mapped(t, 40), mapped(t, 1000)
	address := uint64(addressOf(data))
	if n := testing.AllocsPerRun(100, func() {
		a.Send(b.Local(), head, address, len(data))
		a.Send(b.Local(), head, 0, 0)
		for range 3 {
			b.Receive()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A link-local address is bound and sent to by the interface that its zone names.
func TestLinkLocal(t *testing.T) {
	local, ok := linkLocal(t)
	if !ok {
		t.Skip("skipped: no interface that is up has a link-local IPv6 address")
	}
	testExchange(t, netip.AddrPortFrom(local, 0))
	if n := InterfacePayload(local); n != InterfacePayload(local.WithZone("")) {
		t.Errorf("InterfacePayload(%v) is %d", local, n)
	}
}

func TestUnknownZone(t *testing.T) {
	if s, err := Open(netip.MustParseAddrPort("[fe80::1%nosuch0]:0"), Options{}); err == nil {
		t.Errorf("bound to %v", s.Local())
	}
}

// linkLocal is a link-local address of this machine, with its zone.
func linkLocal(t *testing.T) (netip.Addr, bool) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().Is6() &&
				p.Addr().IsLinkLocalUnicast() {
				return p.Addr().WithZone(i.Name), true
			}
		}
	}
	return netip.Addr{}, false
}

// A connected socket receives from its peer only, gathered or not; afterwards from everybody again,
// at the same port.
func TestConnect(t *testing.T) {
	for _, local := range []netip.AddrPort{loopback, netip.AddrPortFrom(netip.IPv6Loopback(), 0)} {
		if s, err := Open(local, Options{}); err != nil {
			t.Logf("this host has no %v", local)
			continue
		} else if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		a, b, attacker := open(t, local), open(t, local), open(t, local)
		at := a.Local()
		head := mapped(t, 40)
		a.Connect(b.Local())
		b.Connect(at)
		exchangeSet(t, a, b, []int{1000, 1000, 500})
		exchangeSet(t, b, a, []int{40})
		attacker.Send(at, head, 0, 0)
		if _, from, ok := a.Receive(); ok {
			t.Errorf("something arrives from %v", from)
		}
		a.Send(attacker.Local(), head, 0, 0) // datagrams to other places still go there
		if _, from := receive(t, attacker); from != at {
			t.Errorf("it comes from %v, not %v", from, at)
		}
		a.Rebind()
		exchangeSet(t, a, b, []int{40})
		a.Connect(attacker.Local())
		exchangeSet(t, attacker, a, []int{40, 40})
		a.Connect(netip.AddrPort{})
		if bound, err := a.bound(); err != nil || bound != at {
			t.Fatalf("bound to %v, %v, not to %v", bound, err, at)
		}
		exchangeSet(t, attacker, a, []int{40})
		exchangeSet(t, b, a, []int{40})
		exchangeSet(t, a, attacker, []int{40})
	}
}
