package sock

import (
	"encoding/binary"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// message is one of the kernel's.
func message(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, make([]byte, unix.SizeofNlMsghdr-len(b))...)
	return append(append(b, body...), make([]byte, -len(body)&3)...)
}

func linkBody(index uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], index)
	return b
}

func addressBody(index uint32, a string) []byte {
	b := make([]byte, unix.SizeofIfAddrmsg)
	binary.NativeEndian.PutUint32(b[4:], index)
	ip := netip.MustParseAddr(a).AsSlice()
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(ip)))
	b = binary.NativeEndian.AppendUint16(b, unix.IFA_LOCAL)
	return append(b, ip...)
}

func testWatch() *Watch {
	return &Watch{addrs: []watched{
		{addr: netip.MustParseAddr("192.0.2.1"), index: 70001, there: true, up: true, told: true},
		{addr: netip.MustParseAddr("fe80::1%x"), index: 70002, there: true, up: true, told: true},
		{addr: netip.MustParseAddr("127.9.9.9"), told: true},
	}}
}

// Which of the kernel's messages make the state be asked for.
func TestNetlinkMessages(t *testing.T) {
	for name, k := range map[string]struct {
		b    []byte
		want bool
	}{
		"link":         {message(unix.RTM_NEWLINK, linkBody(70001)), true},
		"link gone":    {message(unix.RTM_DELLINK, linkBody(70002)), true},
		"address gone": {message(unix.RTM_DELADDR, addressBody(70001, "192.0.2.1")), true},
		"address on another interface": {message(unix.RTM_NEWADDR,
			addressBody(70003, "192.0.2.1")), true},
		"IPv6 there":          {message(unix.RTM_NEWADDR, addressBody(70003, "fe80::1")), true},
		"gone there":          {message(unix.RTM_DELADDR, addressBody(70003, "192.0.2.1")), false},
		"another address":     {message(unix.RTM_NEWADDR, addressBody(70003, "192.0.2.9")), false},
		"one that nobody has": {message(unix.RTM_NEWADDR, addressBody(0, "127.9.9.9")), false},
		"another link":        {message(unix.RTM_NEWLINK, linkBody(70003)), false},
		"no such interface":   {message(unix.RTM_NEWLINK, linkBody(0)), false},
		"short":               {message(unix.RTM_NEWLINK, linkBody(70001)[:7]), false},
		"cut":                 {message(unix.RTM_NEWLINK, linkBody(70003))[:20], true},
		"two in one, behind": {append(message(unix.RTM_NEWLINK, linkBody(70003)),
			message(unix.RTM_NEWLINK, linkBody(70002))...), true},
	} {
		if got := testWatch().concerns(k.b); got != k.want {
			t.Errorf("%s: concerns us: %v", name, got)
		}
	}
}

// FuzzNetlink: no message of whatever content does harm.
func FuzzNetlink(f *testing.F) {
	f.Add(message(unix.RTM_NEWLINK, linkBody(70001)))
	f.Add(message(unix.RTM_NEWADDR, addressBody(3, "10.1.2.3")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := testWatch()
		if w.concerns(b) && len(b) == 0 {
			t.Error("nothing concerns us")
		}
	})
}

// The kernel itself reports an interface that goes down and up again, and loses its address.
func TestWatchKernel(t *testing.T) {
	const name, other = "lapi-watch0", "lapi-watch1"
	ip := func(words ...string) error { return exec.Command("ip", words...).Run() }
	if os.Geteuid() != 0 || ip("link", "add", name, "type", "veth", "peer", "name", other) != nil {
		t.Skip("skipped: not root, no ip command or no veth interfaces")
	}
	defer ip("link", "del", name)
	for _, words := range [][]string{{"addr", "add", "192.0.2.77/32", "dev", name},
		{"link", "set", other, "up"}, {"link", "set", name, "up"}} {
		if err := ip(words...); err != nil {
			t.Fatalf("ip %v: %v", words, err)
		}
	}
	w, err := NewWatch([]netip.Addr{netip.MustParseAddr("127.0.0.1"),
		netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("127.9.9.9")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	usable := true
	look := func(i int, u bool) {
		if i != 1 {
			t.Errorf("address %d is said to be usable: %v", i, u)
			return
		}
		usable = u
	}
	for _, step := range []struct {
		words  []string
		usable bool
	}{
		{[]string{"link", "set", name, "up"}, true}, // it is, but runs only a little later
		{[]string{"link", "set", name, "down"}, false}, {[]string{"link", "set", name, "up"}, true},
		// the cable
		{[]string{"link", "set", other, "down"}, false},
		{[]string{"link", "set", other, "up"}, true},
		{[]string{"addr", "del", "192.0.2.77/32", "dev", name}, false},
		{[]string{"addr", "add", "192.0.2.77/32", "dev", name}, true},
		{[]string{"link", "del", name}, false},
	} {
		if err := ip(step.words...); err != nil {
			t.Fatalf("ip %v: %v", step.words, err)
		}
		for end := time.Now().Add(time.Minute); usable != step.usable && time.Now().Before(end); {
			Wait([]int{w.fd}, int64(time.Second))
			w.Look(look)
		}
		if usable != step.usable {
			t.Errorf("after ip %v: usable: %v", step.words, usable)
		}
	}
}
