package sock

import (
	"encoding/binary"
	"fmt"
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

func linkBody(family byte, index, flags uint32) []byte {
	b := make([]byte, linkSize)
	b[0] = family
	binary.NativeEndian.PutUint32(b[4:], index)
	binary.NativeEndian.PutUint32(b[8:], flags)
	return b
}

func addressBody(index uint32, attributes ...any) []byte {
	b := make([]byte, addressSize)
	binary.NativeEndian.PutUint32(b[4:], index)
	for i := 0; i < len(attributes); i += 2 {
		a := netip.MustParseAddr(attributes[i+1].(string)).AsSlice()
		b = binary.NativeEndian.AppendUint16(b, uint16(4+len(a)))
		b = binary.NativeEndian.AppendUint16(b, uint16(attributes[i].(int)))
		b = append(b, a...)
	}
	return b
}

func TestNetlinkMessages(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fe80::1")
	for name, k := range map[string]struct {
		b    []byte
		want event
	}{
		"up": {message(unix.RTM_NEWLINK, linkBody(0, 7, running)),
			event{kind: linkIs, index: 7, up: true}},
		"no carrier": {message(unix.RTM_NEWLINK, linkBody(0, 7, unix.IFF_UP)),
			event{kind: linkIs, index: 7}},
		"gone": {message(unix.RTM_DELLINK, linkBody(0, 7, 0)),
			event{kind: linkWent, index: 7}},
		"left its bridge": {message(unix.RTM_DELLINK, linkBody(unix.AF_BRIDGE, 7, 0)), event{}},
		"address": {message(unix.RTM_NEWADDR, addressBody(3, unix.IFA_ADDRESS, "10.1.2.3")),
			event{kind: addressCame, index: 3, addr: v4}},
		"with a peer": {message(unix.RTM_DELADDR,
			addressBody(3, unix.IFA_ADDRESS, "10.9.9.9", unix.IFA_LOCAL, "10.1.2.3")),
			event{kind: addressWent, index: 3, addr: v4}},
		"peer behind": {message(unix.RTM_DELADDR,
			addressBody(3, unix.IFA_LOCAL, "10.1.2.3", unix.IFA_ADDRESS, "10.9.9.9")),
			event{kind: addressWent, index: 3, addr: v4}},
		"IPv6": {message(unix.RTM_NEWADDR, addressBody(3, unix.IFA_ADDRESS, "fe80::1")),
			event{kind: addressCame, index: 3, addr: v6}},
		"other": {message(unix.RTM_NEWROUTE, addressBody(3)), event{}},
		"short": {message(unix.RTM_NEWLINK, make([]byte, linkSize-1)), event{}},
	} {
		var e event
		if rest := e.parse(append(k.b, 1, 2)); e != k.want || len(rest) != 2 {
			t.Errorf("%s: %+v, %d bytes left", name, e, len(rest))
		}
	}
}

func FuzzNetlink(f *testing.F) {
	f.Add(message(unix.RTM_NEWLINK, linkBody(0, 7, running)))
	f.Add(message(unix.RTM_NEWADDR, addressBody(3, unix.IFA_LOCAL, "10.1.2.3", unix.IFA_ADDRESS,
		"fe80::1")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			var e event
			rest := e.parse(b)
			if len(rest) >= len(b) {
				t.Fatalf("no progress at %d bytes", len(b))
			}
			if e.addr.IsValid() != (e.kind == addressCame || e.kind == addressWent) ||
				e.addr.Zone() != "" {
				t.Errorf("%+v", e)
			}
			b = rest
		}
	})
}

// What the state becomes by each message, without a kernel.
func TestWatchState(t *testing.T) {
	new := func() *Watch {
		return &Watch{addrs: []watched{
			{addr: netip.MustParseAddr("192.0.2.1"), index: 70001, there: true, up: true,
				told: true},
			{addr: netip.MustParseAddr("192.0.2.2"), index: 70002, there: true, up: true,
				told: true},
			{addr: netip.MustParseAddr("127.9.9.9"), told: true},
		}}
	}
	for name, k := range map[string]struct {
		b    []byte
		down []bool
	}{
		"link down": {message(unix.RTM_NEWLINK, linkBody(0, 70001, unix.IFF_UP)),
			[]bool{true, false, false}},
		"link gone": {message(unix.RTM_DELLINK, linkBody(0, 70002, 0)),
			[]bool{false, true, false}},
		"address gone": {message(unix.RTM_DELADDR,
			addressBody(70001, unix.IFA_LOCAL, "192.0.2.1")), []bool{true, false, false}},
		"another address": {message(unix.RTM_DELADDR,
			addressBody(70001, unix.IFA_LOCAL, "192.0.2.9")), []bool{false, false, false}},
		"another link": {message(unix.RTM_NEWLINK, linkBody(0, 70003, 0)),
			[]bool{false, false, false}},
		"no such interface": {message(unix.RTM_NEWLINK, linkBody(0, 0, 0)),
			[]bool{false, false, false}},
		"two in one, behind": {append(message(unix.RTM_NEWLINK, linkBody(0, 70001, 0)),
			message(unix.RTM_NEWLINK, linkBody(0, 70002, 0))...), []bool{true, true, false}},
	} {
		w := new()
		w.fd = -1
		w.take(k.b)
		down := make([]bool, 3)
		w.Look(func(i int, usable bool) { down[i] = !usable })
		if fmt.Sprint(down) != fmt.Sprint(k.down) {
			t.Errorf("%s: down: %v", name, down)
		}
	}
}

// The kernel itself tells of an interface that goes down and up again, and loses its address.
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
			Wait([]int{w.Descriptor()}, int64(time.Second))
			w.Look(look)
		}
		if usable != step.usable {
			t.Errorf("after ip %v: usable: %v", step.words, usable)
		}
	}
}
