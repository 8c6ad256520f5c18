package wire

import (
	"testing"

	"lapi/transport"
)

// FuzzHeaders feeds every decoder with bytes from outside.
func FuzzHeaders(f *testing.F) {
	f.Add((&Am{Handler: 7, Length: 3, UhdrLen: 4}).Encode(make([]byte, 64)), 3)
	f.Add(Order.AppendUint64(nil, 1), 0)
	listed := (&Am{Length: 9, Rendezvous: true, Listed: true}).Encode(make([]byte, 128))
	f.Add(append(listed, (&Amv{Kind: VectorGeneric, Count: 2}).Encode(make([]byte, 64))...), 32)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 {
			return
		}
		var am Am
		if uhdr, ok := am.Decode(b, n); ok && (len(uhdr) > MaxUhdrSize || uint64(n) > am.Length) {
			t.Fatal("accepted an active message that does not fit")
		}
		var p PutFragment
		if p.Decode(b, n) && (p.Offset > p.Total || uint64(n) > p.Total-p.Offset) {
			t.Fatal("accepted a fragment outside its message")
		}
		for _, d := range []func([]byte) bool{(&Put{}).Decode, (&PutDirect{}).Decode,
			(&Get{}).Decode, (&Part{}).Decode, (&Completion{}).Decode, (&Read{}).Decode,
			(&Fetched{}).Decode, (&Fault{}).Decode} {
			d(b)
		}
		var v Vector
		if v.Decode(b, n) && (v.Offset > v.Total || uint64(v.Entries)*EntrySize > uint64(n)) {
			t.Fatal("accepted a part of a vector that does not fit")
		}
		var a Amv
		if uhdr, ok := DecodeAmv(&am, &a, b, n); ok &&
			(len(uhdr) > MaxUhdrSize || !am.Listed && uint64(n) > a.Lengths()+am.Length ||
				am.Listed && (uint64(n) > a.List() || a.List() > EntrySize*ListMax)) {
			t.Fatal("accepted a vector's active message that does not fit")
		}
		(&Exchange{}).Decode(b, n)
	})
}

// FuzzSmall gives the decoder of the lane's active messages arbitrary bytes.
func FuzzSmall(f *testing.F) {
	f.Add(make([]byte, 64), 40)
	f.Fuzz(func(t *testing.T, b []byte, header int) {
		header = min(max(header, 0), len(b)) &^ 7
		m := transport.Msg{Hdr: b[:header:header], Data: b[header:]}
		if h, uhdr, ok := DecodeSmall(&m); ok &&
			(len(uhdr) > MaxUhdrSize || h.Length > uint64(len(b))) {
			t.Errorf("accepted %+v with a user header of %d bytes, of %d in all",
				h, len(uhdr), len(b))
		}
	})
}
