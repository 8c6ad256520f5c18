package sock

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/internal/medium"
)

// openPlain is open for a socket that sends and receives each datagram by itself.
func openPlain(t testing.TB, a netip.AddrPort) *Socket {
	t.Helper()
	s, err := Open(a, Options{Receive: 1 << 20, Send: 1 << 20, Length: length, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// mustGather skips a test that would test nothing on an old kernel.
func mustGather(t *testing.T, s *Socket) {
	t.Helper()
	if s.most == 0 || !s.Merges() {
		t.Skip("skipped: this kernel has no UDP_SEGMENT or no UDP_GRO")
	}
}

// full is datagrams that come back for lack of room.
func full(tags ...int) (b []medium.Bounce) {
	for _, tag := range tags {
		b = append(b, medium.Bounce{Tag: tag, Outcome: medium.Full})
	}
	return b
}

// fault is the bounce of a datagram whose data cannot be read.
func fault(tag int) []medium.Bounce {
	return []medium.Bounce{{Tag: tag, Outcome: medium.Fault}}
}

// declare makes b the front of a datagram of n bytes, as length reads it.
func declare(b []byte, n int) { binary.LittleEndian.PutUint16(b, uint16(n)) }

// length is Options.Length of these tests.
func length(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b))
}

// front is a head of n bytes for a datagram of all bytes.
func front(t *testing.T, i, n, all int) []byte {
	b := pattern(t, i, n)
	declare(b, all)
	return b
}

// pattern is a datagram of n bytes outside the Go heap that only i has.
func pattern(t *testing.T, i, n int) []byte {
	b := mapped(t, n)
	for j := range b {
		b[j] = byte(i*31 + j*7)
	}
	if n >= 2 {
		declare(b, n)
	}
	return b
}

// Packets of all sorts of lengths in a row, gathered, arrive whole and in order, on multiples of 8,
// however they were put together.
func TestGather(t *testing.T) {
	lengths := [][]int{
		{40}, {40, 40, 40}, {1000, 1000, 1000, 500}, {1000, 500, 1000}, {8, 16, 24, 24, 16, 8},
		{37, 37, 37, 5},
		{1400, 1400, 1400, 1400, 1400, 1400}, {32000, 32000, 32000, 7}, {60000, 60000}, {2, 2, 2},
		slices.Repeat([]int{72}, 200),
		slices.Repeat([]int{1401}, 100), {65507, 40, 65507}, {40, 40, 60000, 60000, 60000, 40, 40},
		slices.Repeat([]int{33000}, maxRow+1),
	}
	for name, open := range map[string][2]func(testing.TB, netip.AddrPort) *Socket{
		"gathered": {open, open}, "plain": {openPlain, openPlain}, "to plain": {open, openPlain},
		"from plain": {openPlain, open},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open[0](t, loopback), open[1](t, loopback)
			for _, set := range lengths {
				exchangeSet(t, a, b, set)
			}
		})
	}
}

// exchangeSet gathers packets of these lengths, every second with borrowed data, and receives them.
func exchangeSet(t *testing.T, a, b *Socket, lengths []int) {
	t.Helper()
	var packets [][]byte
	for i, n := range lengths {
		p := pattern(t, i, n)
		packets = append(packets, p)
		head, data := p, uint64(0)
		if i%2 == 1 && n > 8 {
			head, data = p[:8], uint64(addressOf(p[8:]))
		}
		if o := a.Gather(i, b.Local(), head, data, n-len(head)); o != medium.Sent &&
			o != medium.Gathered {
			t.Fatalf("%v: outcome %d", lengths, o)
		}
	}
	if bounces := a.Push(nil); len(bounces) != 0 {
		t.Fatalf("%v: %v come back", lengths, bounces)
	}
	for i, p := range packets {
		d, from := receive(t, b)
		if from != a.Local() || !bytes.Equal(d, p) {
			t.Fatalf("%v: packet %d of %d bytes arrives as %d from %v, or damaged", lengths, i,
				len(p), len(d), from)
		}
		if addressOf(d)%8 != 0 {
			t.Fatalf("%v: packet %d does not start on a multiple of 8", lengths, i)
		}
	}
	if _, _, ok := b.Receive(); ok {
		t.Errorf("%v: more arrives than was sent", lengths)
	}
}

// Several packets are one call at both ends: the receiver has the others without asking the kernel.
func TestTogether(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	for i := range 10 {
		if o := a.Gather(i, b.Local(), pattern(t, i, 200), 0, 0); o != medium.Gathered {
			t.Fatalf("outcome %d", o)
		}
	}
	if _, _, ok := b.Receive(); ok {
		t.Fatal("sent before Push")
	}
	a.Push(nil)
	receive(t, b)
	for i := 1; i < 10; i++ {
		if !b.Waiting() {
			t.Fatalf("packet %d is not here", i)
		}
		if d, _, ok := b.Receive(); !ok || !bytes.Equal(d, pattern(t, i, 200)) {
			t.Errorf("packet %d is damaged", i)
		}
	}
	if b.Waiting() {
		t.Error("more waits")
	}
}

// Two receivers: each gets its own.
func TestGatherToSeveral(t *testing.T) {
	a := open(t, loopback)
	to := []*Socket{open(t, loopback), open(t, loopback)}
	for i := range 20 {
		a.Gather(i, to[i/3%2].Local(), pattern(t, i, 100), 0, 0)
	}
	a.Push(nil)
	for i := range 20 {
		if d, _ := receive(t, to[i/3%2]); !bytes.Equal(d, pattern(t, i, 100)) {
			t.Errorf("packet %d is damaged", i)
		}
	}
}

// One packet's data cannot be read: it comes back, the others go.
func TestGatherFault(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	bad := uint64(addressOf(mapped(t, 4096))) + 4096 - 50
	for i := range 5 {
		data := uint64(addressOf(pattern(t, i, 100)))
		if i == 2 {
			data = bad
		}
		if o := a.Gather(i, b.Local(), front(t, i, 16, 116), data, 100); o != medium.Gathered {
			t.Fatalf("outcome %d", o)
		}
	}
	if got := a.Push(nil); !slices.Equal(got, fault(2)) {
		t.Errorf("%v come back", got)
	}
	for _, i := range []int{0, 1, 3, 4} {
		if d, _ := receive(t, b); !bytes.Equal(d,
			append(bytes.Clone(front(t, i, 16, 116)), pattern(t, i, 100)...)) {
			t.Errorf("packet %d is damaged", i)
		}
	}
	if got := a.Push(nil); len(got) != 0 {
		t.Errorf("%v come back again", got)
	}
	a.Gather(7, b.Local(), front(t, 0, 16, 116), bad, 100) // alone
	if got := a.Push(nil); !slices.Equal(got, fault(7)) {
		t.Errorf("of one alone, %v come back", got)
	}
}

// A kernel that refuses runs for a reason of its own gets packet by packet.
func TestGatherRefused(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	// without its checksum the kernel refuses to cut a datagram: EIO
	if err := unix.SetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		exchangeSet(t, a, b, []int{500, 500, 500, 100})
	}
	if o := a.Gather(0, b.Local(), pattern(t, 0, 500), 0, 0); o != medium.Sent {
		t.Errorf("the kernel is asked again at once: outcome %d", o)
	}
	receive(t, b)
	if err := unix.SetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 0); err != nil {
		t.Fatal(err)
	}
	// until it is tried again
	for i := 0; a.Gather(i, b.Local(), pattern(t, 0, 8), 0, 0) == medium.Sent; i++ {
		if receive(t, b); i > recheck {
			t.Fatal("never tried again")
		}
	}
	a.Push(nil)
	receive(t, b)
}

// The kernel has no room: all of the run comes back, and the socket says so until Push. (Loopback
// frees a sender's buffer at once, so the test simulates the kernel's answer.)
func TestGatherFull(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	mustGather(t, a)
	for i := range 3 {
		a.Gather(10+i, b.Local(), pattern(t, i, 100), 0, 0)
	}
	a.sendApart(syscall.EAGAIN)
	a.count, a.used, a.bytes = 0, 0, 0
	if o := a.Gather(13, b.Local(), pattern(t, 3, 100), 0, 0); o != medium.Full {
		t.Errorf("outcome %d after the kernel had no room", o)
	}
	if got, want := a.Push(nil), full(10, 11, 12); !slices.Equal(got, want) {
		t.Errorf("%v come back", got)
	}
	if _, _, ok := b.Receive(); ok {
		t.Error("something arrives")
	}
	exchangeSet(t, a, b, []int{100, 100}) // there is room again
}

func TestGatherNoAllocations(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	head, data := front(t, 0, 40, 1040), pattern(t, 1, 1000)
	address := uint64(addressOf(data))
	var bounces []medium.Bounce
	if n := testing.AllocsPerRun(100, func() {
		for i := range 5 {
			a.Gather(i, b.Local(), head, address, len(data))
		}
		bounces = a.Push(bounces[:0])
		for range 6 {
			b.Receive()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzMerged: whatever the first of merged datagrams says of its length, the pieces are what
// arrived, in order and no more.
func FuzzMerged(f *testing.F) {
	a, b := open(f, loopback), open(f, loopback)
	f.Add(uint16(100), uint16(40))
	f.Add(uint16(1), uint16(65000))
	f.Add(uint16(0), uint16(2))
	f.Add(uint16(65535), uint16(300))
	f.Fuzz(func(t *testing.T, says, n uint16) {
		want := make([]byte, 2+int(n)%65000)
		for i := range want {
			want[i] = byte(i * 13)
		}
		declare(want, int(says))
		whole := bytes.Clone(want)
		if a.Send(b.Local(), want, 0, 0) != medium.Sent {
			t.Fatal("not sent")
		}
		for first := true; first || b.Waiting(); first = false {
			d, _ := receive(t, b)
			if len(d) == 0 || len(d) > len(whole) || !bytes.Equal(d, whole[:len(d)]) ||
				addressOf(d)%8 != 0 {
				t.Fatalf("%d bytes that say %d: %d bytes arrive, %d are left", len(want), says,
					len(d), len(whole))
			}
			whole = whole[len(d):]
		}
		if len(whole) != 0 {
			t.Errorf("%d of %d bytes do not arrive", len(whole), len(want))
		}
	})
}

// Drop discards the rest of the datagrams that came in one piece, and nothing else.
func TestDrop(t *testing.T) {
	a, b := open(t, loopback), open(t, loopback)
	lie := pattern(t, 0, 1000) // ten datagrams, it says, and the last of them short
	declare(lie, 104)
	a.Send(b.Local(), lie, 0, 0)
	a.Send(b.Local(), pattern(t, 1, 500), 0, 0)
	if d, _ := receive(t, b); len(d) != 104 {
		t.Fatalf("%d bytes", len(d))
	}
	if n := b.Drop(); n != 9 || b.Waiting() {
		t.Errorf("%d dropped", n)
	}
	if n := b.Drop(); n != 0 {
		t.Errorf("%d dropped again", n)
	}
	if d, _ := receive(t, b); !bytes.Equal(d, pattern(t, 1, 500)) {
		t.Error("the next datagram is damaged")
	}
}
