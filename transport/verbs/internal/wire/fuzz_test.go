package wire

import (
	"reflect"
	"testing"
)

// FuzzHello: a decoded Hello is the same when it is encoded and decoded again; it is proven by no
// other key, and by no other generations.
func FuzzHello(f *testing.F) {
	f.Add((&Hello{Open: true, Own: 1, Peer: 2, From: 3, QPN: 4, At: Place{QPN: 5, MTU: MTUMin}}).
		Encode(nil, 1, 2))
	f.Add(make([]byte, helloSize-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again Hello
		if !h.Decode(b) {
			return
		}
		e := h.Encode([]byte("a key"), 1, 2)
		if !again.Decode(e) || again != h {
			t.Errorf("% x: %+v becomes %+v", b, h, again)
		}
		if !Proven(e, []byte("a key"), 1, 2) || Proven(e, []byte("another"), 1, 2) ||
			Proven(e, []byte("a key"), 2, 1) {
			t.Errorf("% x: not proven, or by anything", e)
		}
	})
}

// FuzzAddress: decoded fields lie within the address, and are encoded as they were.
func FuzzAddress(f *testing.F) {
	f.Add((&Address{Task: 1, Generation: 2, Places: []Place{{}, {QPN: 3, Opened: 4}}}).Encode())
	f.Add(append((&Address{Generation: 2, Places: make([]Place, PortsMax)}).Encode(), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a, again Address
		if !a.Decode(b) {
			return
		}
		if len(a.Places) > PortsMax || addressHead+PlaceSize*len(a.Places)+len(a.Carrier) != len(b) {
			t.Errorf("% x: %+v", b, a)
		}
		e := append(a.Encode(), a.Carrier...)
		if !again.Decode(e) || !reflect.DeepEqual(again, a) {
			t.Errorf("% x: %+v becomes %+v", b, a, again)
		}
	})
}

// FuzzPacket: decoded fields lie within the packet, and are encoded as they were.
func FuzzPacket(f *testing.F) {
	var c [HeadSize + ControlSize]byte
	for k := range Kinds {
		h := Head{Kind: k, Header: ControlSize}
		h.Encode(c[:])
		f.Add(c[:])
	}
	b := append(make([]byte, HeadSize), 2, 0, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		2, 0, 8, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)
	several := Head{Kind: KindMessages, Data: uint32(len(b) - HeadSize)}
	several.Encode(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Head
		if !h.Decode(b) {
			return
		}
		if HeadSize+int(h.Header)+int(h.Data) != len(b) {
			t.Errorf("%+v of %d bytes", h, len(b))
		}
		for rest := b[HeadSize:]; h.Kind == KindMessages && len(rest) > 0; {
			_, header, data, next, ok := Part(rest)
			if !ok || header < PartSize || data < header || next < data || next > len(rest) {
				t.Fatalf("% x has a message from %d to %d", rest, header, data)
			}
			rest = rest[next:]
		}
		var again [HeadSize]byte
		if h.Encode(again[:]); string(again[:]) != string(b[:HeadSize]) {
			t.Errorf("% x becomes % x", b[:HeadSize], again)
		}
	})
}
