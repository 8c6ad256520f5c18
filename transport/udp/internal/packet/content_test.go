package packet

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// blocks is memory of the kind that packets have.
func blocks(t testing.TB, size int) *Blocks {
	b := &Blocks{Size: size, Count: 4, Most: 8}
	t.Cleanup(b.Close)
	return b
}

// user is n bytes of a user's, off the Go heap.
func user(t testing.TB, n int) []byte {
	b := blocks(t, (n+4095)&^4095).Get()[:n]
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// messages are the data of those in b, what follows a packet's header.
func messages(t *testing.T, b []byte) (all [][]byte) {
	t.Helper()
	for len(b) > 0 {
		var m wire.Message
		var err error
		if b, err = m.Next(b); err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Data)
	}
	return all
}

// Messages that are copied share a packet, as long as they fit; earlier bytes of its memory are not
// in it.
func TestJoin(t *testing.T) {
	memory.Guard()
	head := blocks(t, HeadSize).Get()
	for i := range head {
		head[i] = 0xee
	}
	k, data, rexes := New(head), user(t, 100), blocks(t, 8192)
	op := &transport.Op{Local: memory.AddrOf(data), N: 13}
	limits := Limits{Size: 1472, CopyMax: 128}
	if status, err := k.Begin(1, nil, op, limits, rexes); status != transport.Done || err != nil {
		t.Fatalf("%v, %v", status, err)
	}
	n := 1
	for ; k.Takes(8, 13, limits.Size); n++ {
		if err := k.Join(1, make([]byte, 8), op); err != nil {
			t.Fatal(err)
		}
	}
	all := messages(t, k.Bytes()[wire.HeaderSize:])
	if len(all) != n || n != k.messages || n < 30 || k.UserBytes() != 13*n ||
		k.Length() > limits.Size {
		t.Errorf("%d of %d messages in %d bytes", len(all), n, k.Length())
	}
	for _, b := range all {
		if !bytes.Equal(b, data[:13]) {
			t.Fatalf("% x", b)
		}
	}
	if i := bytes.IndexByte(k.Bytes()[wire.HeaderSize:], 0xee); i >= 0 {
		t.Errorf("byte %d is of an earlier packet", i)
	}
	k.Shut()
	if k.Takes(8, 0, HeadSize) {
		t.Error("a packet that is shut takes more")
	}
}

// Short data are copied into the head, longer ones into a retransmit buffer, long ones borrowed.
func TestWhereDataLie(t *testing.T) {
	memory.Guard()
	data, rexes := user(t, 60000), blocks(t, 20000)
	for _, c := range []struct {
		n        int
		status   transport.Status
		rex      int
		borrowed int
	}{{100, transport.Done, 0, 0}, {5000, transport.Done, 1, 0},
		{50000, transport.Queued, 0, 50000}} {
		k := New(blocks(t, HeadSize).Get())
		op := &transport.Op{Local: memory.AddrOf(data), N: uint64(c.n)}
		status, err := k.Begin(1, nil, op, Limits{Size: 65507, CopyMax: 16384}, rexes)
		_, n := k.Borrowed()
		if err != nil || status != c.status || rexes.InUse() != c.rex || n != c.borrowed {
			t.Errorf("%d bytes: %v, %v; %d buffers, %d bytes borrowed",
				c.n, status, err, rexes.InUse(), n)
		}
		if b := k.TakeRetransmitBuffer(); b != nil {
			rexes.Put(b)
		}
	}
	for range rexes.Most {
		rexes.Get()
	}
	k := New(blocks(t, HeadSize).Get())
	op := &transport.Op{Local: memory.AddrOf(data), N: 5000}
	if _, err := k.Begin(1, nil, op, Limits{65507, 16384}, rexes); err != transport.ErrBusy ||
		!rexes.Exhausted() {
		t.Errorf("without a buffer: %v", err)
	}
}

// TestPartsAreBorrowed: a part of a long message takes no retransmit buffer, unless it is short.
func TestPartsAreBorrowed(t *testing.T) {
	memory.Guard()
	data, rexes := user(t, 60000), blocks(t, 20000)
	for n, want := range map[uint64]transport.Status{Short: transport.Done,
		Short + 1: transport.Queued, 1400: transport.Queued} {
		k := New(blocks(t, HeadSize).Get())
		op := &transport.Op{Local: memory.AddrOf(data), N: n, Part: true}
		status, err := k.Begin(1, nil, op, Limits{Size: 65507, CopyMax: 4096}, rexes)
		if err != nil || status != want || rexes.InUse() != 0 {
			t.Errorf("%d bytes: %v, %v, %d buffers", n, status, err, rexes.InUse())
		}
	}
}

// TestLongDataWaitForNothing: a packet is held for more messages only while all in it are short.
func TestLongDataWaitForNothing(t *testing.T) {
	memory.Guard()
	data := user(t, 60000)
	k := New(blocks(t, HeadSize).Get())
	op := &transport.Op{Local: memory.AddrOf(data), N: Short}
	if _, err := k.Begin(1, nil, op, Limits{Size: 65507, CopyMax: 4096}, nil); err != nil ||
		k.Full() {
		t.Fatalf("%v; full: %v", err, k.Full())
	}
	op.N++
	if err := k.Join(1, nil, op); err != nil || !k.Full() || !k.Open() {
		t.Errorf("%v; full: %v, open: %v", err, k.Full(), k.Open())
	}
}

// Data that cannot be read any more leave the packet, with the messages in front of them.
func TestVoid(t *testing.T) {
	memory.Guard()
	gone, err := syscall.Mmap(-1, 0, 8192, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(gone)
	k := New(blocks(t, HeadSize).Get())
	op := &transport.Op{Local: memory.AddrOf(gone), N: 8000}
	if status, err := k.Begin(1, nil, op, Limits{65507, 128}, nil); status != transport.Queued ||
		err != nil {
		t.Fatalf("%v, %v", status, err)
	}
	got, fault := k.Void()
	if got != op || fault != op.Local || k.Length() != wire.HeaderSize || k.messages != 0 ||
		k.UserBytes() != 0 {
		t.Errorf("fault at %x; %d bytes, %d messages are left", fault, k.Length(), k.messages)
	}
	small := New(blocks(t, HeadSize).Get())
	op.N = 8
	var e *transport.FaultError
	if _, err := small.Begin(1, nil, op, Limits{65507, 128}, nil); !errors.As(err, &e) {
		t.Errorf("copied all the same: %v", err)
	}
}

// Messages that are reserved and committed are in the packet like messages that joined.
func TestReserveCommit(t *testing.T) {
	memory.Guard()
	k := New(blocks(t, HeadSize).Get())
	if _, err := k.Begin(1, nil, &transport.Op{}, Limits{1472, 128}, nil); err != nil {
		t.Fatal(err)
	}
	tail, n := k.Reserve(1000)
	if n != MaxMessages-2 || len(tail) != 0 || k.Length()+cap(tail) != 1000 {
		t.Fatalf("room for %d messages in %d bytes", n, cap(tail))
	}
	wire.PutMessage(tail[:wire.MessageSize], 2, 0, 0)
	k.Commit(wire.MessageSize, 1, 0)
	if all := messages(t, k.Bytes()[wire.HeaderSize:]); len(all) != 2 || k.messages != 2 {
		t.Errorf("%d messages", len(all))
	}
}

// Parts put together in any order are the packet, whatever their size; if data of a packet were
// lost meanwhile, the part's header says how much of it is good.
func TestParts(t *testing.T) {
	memory.Guard()
	data := user(t, 5000)
	for _, size := range []int{548, 1232, 4000} {
		for _, fault := range []bool{false, true} {
			k := New(blocks(t, HeadSize).Get())
			op := &transport.Op{Local: memory.AddrOf(data), N: 5000}
			if _, err := k.Begin(3, []byte("a header"), op, Limits{65507, 128}, nil); err != nil {
				t.Fatal(err)
			}
			if k.MustCut(65507) || !k.MustCut(size) {
				t.Fatalf("%d bytes", k.Length())
			}
			k.FirstCut(7)
			var whole []byte
			keep, got := 0, 0
			for last := false; !last; {
				last = k.IsLastPart(size)
				small := New(blocks(t, HeadSize).Get())
				if !k.MovePart(&small, size, false) {
					t.Fatal("the data cannot be read")
				}
				if small.Length() > size || !k.MustCut(65507) {
					t.Fatalf("a part of %d bytes", small.Length())
				}
				var m wire.Message
				if _, err := m.Next(small.Bytes()[wire.HeaderSize:]); err != nil ||
					m.ID != wire.PartID {
					t.Fatal(err)
				}
				var w wire.Part
				if err := w.Decode(m.Hdr, len(m.Data)); err != nil || w.Of != 7 {
					t.Fatalf("%+v, %v", w, err)
				}
				if whole == nil {
					whole = make([]byte, w.Total)
				}
				got += copy(whole[w.Offset:], m.Data)
				keep = w.Keep
				if fault && got == len(m.Data) && !last {
					k.Void()
				}
			}
			if got != len(whole) {
				t.Fatalf("%d of %d bytes", got, len(whole))
			}
			all := messages(t, whole[:keep])
			if fault && len(all) != 0 || !fault && (len(all) != 1 || !bytes.Equal(all[0], data)) {
				t.Errorf("parts of %d, fault %v: %d messages", size, fault, len(all))
			}
		}
	}
}
