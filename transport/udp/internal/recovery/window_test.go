package recovery

import (
	"testing"

	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/wire"
)

const first = wire.Seq(1<<32 - 100)

// owner notes what becomes of packets.
type owner struct{ acked, lost []wire.Seq }

func (o *owner) Release(*Packet)         {}
func (o *owner) Acked(k *Packet)         { o.acked = append(o.acked, k.Seq()) }
func (o *owner) Lost(k *Packet, _ int64) { o.lost = append(o.lost, k.Seq()) }

// newWindow is an open window with a path, and n packets that wait.
func newWindow(n int) (*Window, *Path, *owner) {
	r := NewPath(congestion.New(1472))
	r.Congestion().Reset(1 << 24)
	w, o := &Window{}, &owner{}
	w.Init(o, first, 1e9)
	w.SetPaths([]*Path{&r}, 1e9)
	for range n {
		w.Push(newPacket())
	}
	return w, &r, o
}

func newPacket() *Packet {
	return &Packet{Content: packet.New(make([]byte, packet.HeadSize))}
}

// sendAll sends what waits, at 1, 2 ….
func sendAll(w *Window, now int64) int64 {
	for k := w.FirstUnsent(); k != nil; k = w.FirstUnsent() {
		w.Sent(k, 0, now, 0)
		now++
	}
	return now
}

// ack is an Ack packet: all before number expect have arrived, and the bits behind it.
func ack(w *Window, r *Path, now int64, expect wire.Seq, bits uint64, echo uint16) {
	a := &Ack{
		Path: r, Header: &wire.Header{Kind: wire.KindAck, Ack: expect, Bits: bits, Echo: echo}}
	if !w.Possible(a) {
		panic("an impossible acknowledgement")
	}
	r.Echo(now, echo)
	gaps, _ := w.Take(now, a)
	w.Detect(now, a, gaps, AllPaths)
	w.Update(now, r)
}

// A packet that three later transmissions have overtaken is lost, and is resent first; a packet
// that two have overtaken is not lost.
func TestOvertaken(t *testing.T) {
	w, r, o := newWindow(6)
	now := sendAll(w, 1)
	ack(w, r, now, first, 0b1000, 4) // only the fourth
	if len(o.lost) != 1 || o.lost[0] != first || len(o.acked) != 1 || w.LostPackets() != 1 {
		t.Fatalf("lost %v, acknowledged %v", o.lost, o.acked)
	}
	k := w.FirstLost()
	if k.Seq() != first || w.InFlight() != 4 {
		t.Fatalf("%d goes first, %d are in flight", k.Seq(), w.InFlight())
	}
	if w.Sent(k, 0, now, 0) {
		t.Error("for the first time, it is said")
	}
	ack(w, r, now+1, first+6, 0, 7)
	if w.Outstanding() || w.InFlight() != 0 || r.BytesInFlight() != 0 || r.RetryDue() != 0 ||
		len(o.acked) != 6 {
		t.Errorf("%d packets, %d bytes are left", w.InFlight(), r.BytesInFlight())
	}
}

// An acknowledgement of packets that were never sent is refused.
func TestImpossible(t *testing.T) {
	w, r, _ := newWindow(3)
	w.Sent(w.FirstUnsent(), 0, 1, 0)
	for _, a := range []Ack{
		{r, &wire.Header{Kind: wire.KindData, Ack: first + 2}, nil},
		{r, &wire.Header{Kind: wire.KindAck, Ack: first}, make([]byte, wire.BlockSize-1)},
	} {
		if w.Possible(&a) {
			t.Errorf("%+v is possible", *a.Header)
		}
	}
}

// A packet that the peer is not ready for is not in flight, and is resent after a pause that grows.
func TestNotReady(t *testing.T) {
	w, r, _ := newWindow(1)
	now, last := int64(1), int64(0)
	for range 8 {
		k := w.FirstUnsent()
		if k == nil {
			k = w.FirstLost()
		}
		w.Sent(k, 0, now, 0)
		b := make([]byte, wire.BlockSize)
		(&wire.Block{First: first, NotReady: 1}).Put(b)
		w.Take(now, &Ack{r, &wire.Header{Kind: wire.KindAck, Ack: first}, b})
		pause := w.NotReadyDue() - now
		if w.InFlight() != 0 || pause < last || pause > int64(notReadyMost) {
			t.Fatalf("%d in flight, a pause of %d after %d", w.InFlight(), pause, last)
		}
		if w.RetryNotReady(w.NotReadyDue() - 1); w.LostPackets() != 0 {
			t.Fatal("it goes before its time")
		}
		now, last = w.NotReadyDue(), pause
		w.RetryNotReady(now)
	}
	if last != int64(notReadyMost) {
		t.Errorf("a pause of %d in the end", last)
	}
}

// The last number is for the rest of the oldest packet: else nothing might move.
func TestLastNumber(t *testing.T) {
	w, _, _ := newWindow(0)
	n := 0
	for ; w.HasNumber(); n++ {
		w.Push(newPacket())
	}
	sendAll(w, 1)
	oldest, other := w.At(first), w.At(first+1)
	for w.HasNumberForRest(other) {
		w.Replace(other, newPacket())
		w.Repush(other)
		sendAll(w, 1)
		other = w.At(first + 2)
	}
	if !w.HasNumberForRest(oldest) || n != Numbers-spare {
		t.Fatalf("after %d packets there is no number for the oldest", n)
	}
	w.Replace(oldest, newPacket())
	w.Repush(oldest)
	if int(w.End()-w.Base()) != Numbers || w.At(first) == oldest {
		t.Errorf("%d numbers are in use", w.End()-w.Base())
	}
}
