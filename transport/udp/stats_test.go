package udp

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"lapi/transport"
)

func TestStats(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	before := *p.ms[0].Stats()
	for range 3 {
		p.send(0, 1, 1, 1000)
	}
	p.pass(10 * time.Millisecond)
	a, b := p.ms[0].Stats(), p.ms[1].Stats()
	p.want("DataSent", int(a.DataSent-before.DataSent), 3000)
	p.want("DataReceived", int(b.DataReceived), 3000)
	if a.PacketsSent != b.PacketsReceived || b.PacketsSent != a.PacketsReceived {
		t.Errorf("sent and received packets differ: %+v, %+v", a, b)
	}
	if a.AcksReceived == 0 || b.AcksSent < a.AcksReceived {
		t.Errorf("acknowledgements: %d sent, %d received", b.AcksSent, a.AcksReceived)
	}
	if a.RetransmittedPackets+b.DuplicatePackets+a.GhostPackets+b.GhostPackets != 0 {
		t.Errorf("nothing went wrong, but %+v, %+v", a, b)
	}
}

func TestAddress(t *testing.T) {
	for _, s := range []string{"127.0.0.1:1", "10.1.2.3:65535", "[::1]:80", "[2001:db8::1]:9"} {
		want := netip.MustParseAddrPort(s)
		list := []netip.AddrPort{want, pairAddr(3), want}
		got, incarnation, err := DecodeAddress(encodeAddress(list, 77))
		if err != nil || !slices.Equal(got, list) || incarnation != 77 {
			t.Errorf("%v: %v, %d, %v", want, got, incarnation, err)
		}
	}
	good := EncodeAddress(pairAddr(1))
	for name, b := range map[string][]byte{
		"nothing": nil, "short": good[:len(good)-1], "long": append(good[:len(good):len(good)], 0),
		"family":     append(make([]byte, 8), 5, 0, 0, 0, 0, 0, 0, 1),
		"no address": good[:8],
		"too many":   EncodeAddress(slices.Repeat([]netip.AddrPort{pairAddr(1)}, MaxPaths+1)...),
		"port 0":     EncodeAddress(netip.MustParseAddrPort("1.2.3.4:0")),
		"any":        EncodeAddress(netip.MustParseAddrPort("0.0.0.0:5")),
	} {
		if _, _, err := DecodeAddress(b); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
