package verbs

import (
	"reflect"
	"testing"
)

// FuzzHello: what is decoded is the same when it is encoded and decoded again; it is proven by no
// other key, and by no other incarnations.
func FuzzHello(f *testing.F) {
	f.Add((&hello{open: true, own: 1, his: 2, from: 3, qpn: 4, at: place{qpn: 5, mtu: mtuMin}}).
		encode(nil, 1, 2))
	f.Add(make([]byte, helloSize-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again hello
		if !h.decode(b) {
			return
		}
		e := h.encode([]byte("a key"), 1, 2)
		if !again.decode(e) || again != h {
			t.Errorf("% x: %+v becomes %+v", b, h, again)
		}
		if !proven(e, []byte("a key"), 1, 2) || proven(e, []byte("another"), 1, 2) ||
			proven(e, []byte("a key"), 2, 1) {
			t.Errorf("% x: not proven, or by anything", e)
		}
	})
}

// FuzzAddress: what is decoded lies within the address, and is encoded as it was.
func FuzzAddress(f *testing.F) {
	f.Add((&address{task: 1, incarnation: 2, places: []place{{}, {qpn: 3, opened: 4}}}).encode())
	f.Add(append((&address{incarnation: 2, places: make([]place, PortsMax)}).encode(), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a, again address
		if !a.decode(b) {
			return
		}
		if len(a.places) > PortsMax || addressHead+placeSize*len(a.places)+len(a.carrier) != len(b) {
			t.Errorf("% x: %+v", b, a)
		}
		e := JoinAddress(a.encode(), a.carrier)
		if !again.decode(e.Bytes) || !reflect.DeepEqual(again, a) {
			t.Errorf("% x: %+v becomes %+v", b, a, again)
		}
	})
}

// FuzzPacket: what is decoded lies within the packet, and is encoded as it was.
func FuzzPacket(f *testing.F) {
	var c [headSize + controlSize]byte
	for k := range kinds {
		h := head{kind: k, header: controlSize}
		h.encode(c[:])
		f.Add(c[:])
	}
	b := append(make([]byte, headSize), parts(1, 2)...)
	several := head{kind: kindMessages, data: uint32(len(b) - headSize)}
	several.encode(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var h head
		if !h.decode(b) {
			return
		}
		if headSize+int(h.header)+int(h.data) != len(b) {
			t.Errorf("%+v of %d bytes", h, len(b))
		}
		for rest := b[headSize:]; h.kind == kindMessages && len(rest) > 0; {
			_, header, data, next, ok := part(rest)
			if !ok || header < partSize || data < header || next < data || next > len(rest) {
				t.Fatalf("% x has a message from %d to %d", rest, header, data)
			}
			rest = rest[next:]
		}
		var again [headSize]byte
		if h.encode(again[:]); string(again[:]) != string(b[:headSize]) {
			t.Errorf("% x becomes % x", b[:headSize], again)
		}
	})
}
