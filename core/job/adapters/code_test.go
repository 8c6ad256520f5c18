package adapters

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

func prefixes(all ...string) (p []netip.Prefix) {
	for _, s := range all {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// TestRoundTrip: what a choice may take arrives as it is, and what follows is left alone.
func TestRoundTrip(t *testing.T) {
	eth0 := Interface{Name: "eth0", Up: true, MTU: 9000,
		Addrs: prefixes("10.0.0.1/24", "fd00::1/64", "fe80::1/64", "192.0.2.7/32")}
	ib0 := Interface{Name: "ib0", Late: true, MTU: 65520, Addrs: prefixes("fe80::2/64")}
	bare := Interface{Name: "fifteen-letters", Up: true, MTU: 1500}
	lo := Interface{Name: "lo", Up: true, Loopback: true, Addrs: prefixes("127.0.0.1/8")}
	down := Interface{Name: "eth1", Addrs: prefixes("10.1.0.1/24")}
	comma := Interface{Name: "a,b", Up: true, Addrs: prefixes("10.2.0.1/24")}
	sent := Node{Namespace: 1<<63 + 5, Interfaces: []Interface{lo, bare, eth0, down, comma, ib0}}
	want := Node{Namespace: sent.Namespace, Interfaces: []Interface{bare, eth0, ib0}}
	b := sent.Append([]byte("before"))
	got, rest, err := Decode(append(bytes.TrimPrefix(b, []byte("before")), "after"...))
	if err != nil || !reflect.DeepEqual(got, want) || string(rest) != "after" {
		t.Errorf("%+v, rest %q, %v", got, rest, err)
	}
	if got, rest, err := Decode((Node{}).Append(nil)); err != nil || len(rest) != 0 ||
		!reflect.DeepEqual(got, Node{}) {
		t.Errorf("nothing: %+v, %q, %v", got, rest, err)
	}
}

// crowded has more of everything than is written: interfaces without any network first.
func crowded() (n Node) {
	for k := range 3 * maxInterfaces {
		i := Interface{Name: fmt.Sprintf("veth%011d", k), Up: true, MTU: 1500}
		if k >= maxInterfaces {
			i.Addrs = prefixes("fe80::1/64")
		}
		if k >= 3*maxInterfaces-2 {
			for a := range maxAddresses + 1 {
				i.Addrs = append(i.Addrs, prefixes(fmt.Sprintf("fd00:%d::%d/64", k, a))...)
			}
		}
		n.Interfaces = append(n.Interfaces, i)
	}
	return n
}

// TestBounds: of too many interfaces those are written that a choice is likely to take.
func TestBounds(t *testing.T) {
	sent := crowded()
	got, _, err := Decode(sent.Append(nil))
	if err != nil || len(got.Interfaces) != maxInterfaces {
		t.Fatalf("%d interfaces, %v", len(got.Interfaces), err)
	}
	var names, want []string
	for _, i := range got.Interfaces {
		names = append(names, i.Name)
	}
	for _, i := range slices.Concat(sent.Interfaces[maxInterfaces:2*maxInterfaces-2],
		sent.Interfaces[3*maxInterfaces-2:]) {
		want = append(want, i.Name)
	}
	last := got.Interfaces[maxInterfaces-1].Addrs
	if !slices.Equal(names, want) ||
		!slices.Equal(last, sent.Interfaces[3*maxInterfaces-1].Addrs[:maxAddresses]) {
		t.Errorf("%q, the last with %v", names, last)
	}
	for k := range sent.Interfaces {
		sent.Interfaces[k].Addrs = sent.Interfaces[3*maxInterfaces-1].Addrs
	}
	if size := len(sent.Append(nil)); size != 5321 {
		t.Errorf("%d bytes at most", size)
	}
}

// TestRefused: each line differs from a good one in what is said.
func TestRefused(t *testing.T) {
	// code is one interface of that name with one address.
	code := func(interfaces byte, name string, flags byte, mtu uint32, addresses, family, bits byte,
		addr ...byte) []byte {
		b := append(binary.LittleEndian.AppendUint64(nil, 7), interfaces, byte(len(name)))
		b = append(append(b, name...), flags)
		b = append(binary.LittleEndian.AppendUint32(b, mtu), addresses, family, bits)
		return append(b, addr...)
	}
	good := code(1, "eth0", 1, 1500, 1, 4, 24, 10, 0, 0, 1)
	if n, rest, err := Decode(good); err != nil || len(rest) != 0 || len(n.Interfaces) != 1 {
		t.Fatalf("%+v, %v, %v", n, rest, err)
	}
	for k := range good {
		if n, _, err := Decode(good[:k]); err == nil {
			t.Errorf("the first %d bytes give %+v", k, n)
		}
	}
	mapped := netip.MustParseAddr("::ffff:10.0.0.1").As16()
	for what, b := range map[string][]byte{
		"no name":         code(1, "", 1, 1500, 1, 4, 24, 10, 0, 0, 1),
		"a long name":     code(1, "sixteen-letters-", 1, 1500, 1, 4, 24, 10, 0, 0, 1),
		"a bad name":      code(1, "a/b", 1, 1500, 1, 4, 24, 10, 0, 0, 1),
		"no flag":         code(1, "eth0", 0, 1500, 1, 4, 24, 10, 0, 0, 1),
		"an unknown flag": code(1, "eth0", 5, 1500, 1, 4, 24, 10, 0, 0, 1),
		"a huge MTU":      code(1, "eth0", 1, 1<<31, 1, 4, 24, 10, 0, 0, 1),
		"another family":  code(1, "eth0", 1, 1500, 1, 5, 24, 10, 0, 0, 1),
		"a long prefix":   code(1, "eth0", 1, 1500, 1, 4, 33, 10, 0, 0, 1),
		"IPv4 in IPv6":    code(1, "eth0", 1, 1500, 1, 6, 120, mapped[:]...),
		"nine addresses": append(code(1, "e", 1, 1, 9, 4, 8, 10, 0, 0, 1),
			bytes.Repeat([]byte{4, 8, 10, 0, 0, 1}, 8)...),
		"many interfaces": append(code(33, "e", 1, 1, 0, 1, 'e', 1, 1, 0, 0, 0, 0),
			bytes.Repeat([]byte{1, 'e', 1, 1, 0, 0, 0, 0}, 40)...),
		"fewer than it said": code(2, "eth0", 1, 1500, 1, 4, 24, 10, 0, 0, 1),
	} {
		if n, _, err := Decode(b); err == nil {
			t.Errorf("%s: %+v", what, n)
		}
	}
}

// FuzzDecode: whatever comes is refused, or is within the bounds and what Append writes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add((Node{}).Append(nil))
	f.Add(crowded().Append(nil))
	two := Node{Namespace: 1, Interfaces: []Interface{
		{Name: "eth0", Up: true, MTU: 1500, Addrs: prefixes("10.0.0.1/24", "fe80::1/64")},
		{Name: "ib0", Late: true, MTU: 65520, Addrs: prefixes("fd00::1/128")}}}
	f.Add(two.Append(nil))
	f.Add(append(two.Append(nil), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rest, err := Decode(b)
		if err != nil {
			if len(n.Interfaces) != 0 || rest != nil {
				t.Fatalf("refused, and yet %+v, %v", n, rest)
			}
			return
		}
		if again := n.Append(nil); !bytes.Equal(append(again, rest...), b) {
			t.Fatalf("%x gives %+v, which is %x", b, n, again)
		}
		if len(n.Interfaces) > maxInterfaces {
			t.Fatalf("%d interfaces", len(n.Interfaces))
		}
		for _, i := range n.Interfaces {
			if !ValidDevice(i.Name) || len(i.Addrs) > maxAddresses || i.MTU < 0 || i.Loopback {
				t.Fatalf("%+v", i)
			}
		}
		twin := Node{Namespace: n.Namespace + 1, Interfaces: n.Interfaces}
		_, err = Choose([]Node{n, twin}, AllNetworks, All)
		if err == nil {
			t.Fatalf("%+v: a second node with the same addresses has a network with it", n)
		}
	})
}
