package udp

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/wire"
)

// PathMTU implements MTUSource: the MTU that routers of the simNet have reported.
func (o linkOutlet) PathMTU(path Path, to netip.AddrPort) int {
	ip := to.Addr().As4()
	return o.r.links[ip[3]][path].told
}

// narrowed are machines that discover packet sizes; told is the latest sendMax that SendMaxChanged
// reported to task 0 for its peer.
func narrowed(t testing.TB, told *int, ways ...simLink) *simNet {
	return newSimNet(t, 2, func(c *Config) {
		c.Discover, c.CopyMax = true, 2048
		if c.Task == 0 {
			c.SendMaxChanged = func(_ transport.Endpoint, n int) { *told = n }
		}
	}, ways...)
}

// moves sends messages from task 0 to task 1, of that many bytes of data at most and of what fits a
// packet, and says how long it took until all were there.
func (r *simNet) moves(count, most int, told *int) time.Duration {
	r.t.Helper()
	want, i := r.got[1]+count, 0
	d := r.until(time.Minute, func() bool {
		for ; i < count; i++ {
			n := min(most, r.ms[0].Limits().SendMax-8)
			if *told > 0 {
				n = min(n, *told-8)
			}
			status, err := r.ms[0].Send(r.now, 1, 1, make([]byte, 8),
				&transport.Op{Local: memory.AddrOf(r.buffer), N: uint64(n)})
			if err == transport.ErrBusy {
				return false
			}
			if err != nil || status != transport.Done {
				r.t.Fatalf("Send: %v, %v", status, err)
			}
		}
		return r.got[1] >= want
	})
	if r.got[1] != want {
		r.t.Fatalf("%d messages have arrived, not %d", r.got[1], want)
	}
	return d
}

// A router takes less than the interface, and says so: packets cut already arrive, and later
// packets are as long as passes, also those of tasks that connect later.
func TestTold(t *testing.T) {
	way := gigabit()
	way.mtu, way.tells = 1372, true
	var told int
	r := narrowed(t, &told, way)
	r.moves(200, 1400, &told)
	if size := r.ms[0].connected(1).sender.mtus[0].size; size != 1372 ||
		told != (1372-packet.Overhead)&^7 {
		t.Errorf("packets have %d bytes, messages %d", size, told)
	}
	before := r.links[1][0].tooLong
	r.moves(2000, 1400, &told)
	if n := r.links[1][0].tooLong - before; n != 0 || before == 0 {
		t.Errorf("%d packets were too long, then %d", before, n)
	}
	if r.ms[1].connected(0).sender.mtus[0].size != 1472 {
		t.Error("the way back has got narrower, which nobody has said")
	}

	known := 0
	s := newSimNet(t, 2, func(c *Config) {
		c.Discover, c.CopyMax = true, 2048
		if c.Task == 0 {
			c.SendMaxChanged = func(_ transport.Endpoint, n int) { known = n }
		}
	}, way)
	s.links[1][0].told = 1372
	s.moves(1, 8, &known)
	s.moves(100, 1400, &known)
	if n := s.links[1][0].tooLong; n != 0 {
		t.Errorf("%d packets were longer than the kernel knew", n)
	}
}

// A black hole swallows what is too long: short packets show that the path works, so long ones are
// made shorter. Longer ones are tried again ever more rarely.
func TestSwallowed(t *testing.T) {
	for _, mtu := range []int{1452, 1372, 1232, 1100, 600} {
		way := gigabit()
		way.mtu = mtu
		var told int
		r := narrowed(t, &told, way)
		d := r.moves(100, 1424, &told)
		want := safeSize
		if mtu < safeSize {
			want = leastSize
		}
		if d > time.Second {
			t.Errorf("MTU %d: the first messages needed %v", mtu, d)
		}
		before, short := r.links[1][0].tooLong, 0
		for range 1000 {
			r.moves(10, 1424, &told)
			r.pass(5 * time.Millisecond)
			if r.ms[0].connected(1).sender.mtus[0].size == want {
				short++
			}
		}
		n := r.links[1][0].tooLong - before
		t.Logf("MTU %d: the first after %v; %d of 1000 looks at %d bytes; %d packets too long", mtu,
			d, short, want, n)
		if short < 900 || n > 300 || n == 0 {
			t.Errorf("MTU %d: %d of 1000 looks at %d bytes, %d packets too long", mtu, short, want,
				n)
		}
	}
}

// Where the path takes longer packets again, packets grow again, whether the kernel or losses had
// shortened them.
func TestWiderAgain(t *testing.T) {
	for _, tells := range []bool{false, true} {
		var told int
		r := narrowed(t, &told, gigabit())
		r.moves(100, 1400, &told)
		w := &r.links[1][0]
		w.mtu, w.tells = 1000, tells
		r.moves(1000, 1400, &told)
		if size := r.ms[0].connected(1).sender.mtus[0].size; size > 1000 {
			t.Fatalf("told %v: packets have %d bytes", tells, size)
		}
		w.mtu, w.told = 0, 0 // the kernel forgets in the end
		for end := r.now +
			int64(raiseMost+time.Second); r.now < end; r.pass(50 * time.Millisecond) {
			r.moves(1, 1000, &told)
		}
		if told != 1472-packet.Overhead {
			t.Errorf("told %v: messages hold %d bytes", tells, told)
		}
		w.loss = 0.05
		r.moves(3000, 1400, &told)
		w.loss = 0
		r.moves(300, 1400, &told)
		if told != 1472-packet.Overhead {
			t.Errorf("told %v: messages hold %d bytes after losses", tells, told)
		}
	}
}

// Losses by chance do not make packets shorter for long, however many there are.
func TestLossIsNotLength(t *testing.T) {
	for _, loss := range []float64{0.01, 0.1, 0.3} {
		way := gigabit()
		way.loss = loss
		var told int
		r := narrowed(t, &told, way)
		short := 0
		for range 400 {
			r.moves(10, 1400, &told)
			if r.ms[0].connected(1).sender.mtus[0].size < 1472 {
				short++
			}
		}
		r.links[1][0].loss, r.links[0][0].loss = 0, 0
		for range 10 {
			r.moves(20, 1400, &told)
			r.pass(20 * time.Millisecond)
		}
		t.Logf("loss %.2f: shorter in %d of 400 looks", loss, short)
		if size := r.ms[0].connected(1).sender.mtus[0].size; size != 1472 || short > 200 {
			t.Errorf("loss %.2f: shorter in %d of 400 looks, %d bytes in the end", loss, short,
				size)
		}
	}
}

// Two paths, one of them narrow: packets are as long as both take; packets made before go by the
// narrow one in parts.
func TestNarrowBesideWide(t *testing.T) {
	narrow := gigabit()
	narrow.mtu = 1232
	var told int
	r := narrowed(t, &told, narrow, gigabit())
	r.moves(5000, 1400, &told)
	if told != (1232-packet.Overhead)&^7 || r.ms[0].connected(1).sender.limits.size != 1232 ||
		r.ms[0].connected(1).sender.mtus[1].size != 1472 {
		t.Errorf("messages hold %d bytes", told)
	}
	if r.sentBy[0] < 1<<20 || r.sentBy[1] < 1<<20 {
		t.Errorf("the paths have carried %v bytes", r.sentBy)
	}
}

// A packet size that the user has set is not changed, whatever is lost.
func TestSizeSetByTheUser(t *testing.T) {
	way := gigabit()
	way.mtu, way.tells, way.told = 1372, true, 1372
	r := newSimNet(t, 2, func(c *Config) {
		c.CopyMax = 2048
		c.SendMaxChanged = func(transport.Endpoint, int) { t.Error("messages are to be shorter") }
	}, way)
	op := transport.Op{Local: memory.AddrOf(r.buffer), N: 1400}
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Second)
	if r.got[1] != 0 || r.links[1][0].tooLong < 5 {
		t.Errorf("%d messages have arrived, %d packets were too long", r.got[1],
			r.links[1][0].tooLong)
	}
}

// Every length is put together as it was, borrowed data and several messages in a packet too, whatever
// parts are lost, doubled or overtaken, or must be cut once more, at every level.
func TestRecut(t *testing.T) {
	for _, level := range levels {
		p := newPair(t, 2, func(_ int, c *Config) {
			c.Level, c.Discover, c.CopyMax = level, true,
				512
		})
		p.meet()
		peer := p.ms[0].connected(1)
		most := 1000
		peer.sender.resize(peer.paths.At(0), most, p.now)
		data := userMemory(t, 8192)
		for i := range data {
			data[i] = byte(i * 7)
		}
		var got [][]byte
		p.ms[1].Handle(1, func(m *transport.Msg) transport.Verdict {
			got = append(got, append(append([]byte(nil), m.Hdr...), m.Data...))
			return transport.Accept
		})
		var want []int
		parts, drop := 0, 0
		p.lose = func(from int, b []byte) bool {
			if len(b) > most {
				t.Fatalf("a packet of %d bytes", len(b))
			}
			if k, _ := wire.KindOf(b); from != 0 || k != wire.KindData ||
				b[wire.HeaderSize] != wire.PartID {
				return false
			}
			parts++
			if parts == 20 {
				most = 600
				peer.sender.resize(peer.paths.At(0), most, p.now)
			}
			if parts%5 == 0 { // twice, with another before the second
				p.wires[0] = append(p.wires[0], datagram{pairAddr(1), append([]byte(nil), b...)})
			}
			drop++
			return drop%7 == 0
		}
		for n := 0; n < 8000; n += 1 + n/3 {
			want = append(want, n)
			op := &transport.Op{N: uint64(n), Done: func(*transport.Op, error) {}}
			if n > 0 {
				op.Local = memory.AddrOf(data)
			}
			if _, err := p.ms[0].Send(p.now, 1, 1, []byte("a header"), op); err != nil {
				t.Fatal(err)
			}
		}
		for turns := 0; len(got) < len(want) && turns < 1000; turns++ {
			p.settle()
			p.pass(time.Millisecond)
		}
		seen := map[int]int{}
		for _, b := range got {
			seen[len(b)-8]++
			if string(b[:8]) != "a header" || string(b[8:]) != string(data[:len(b)-8]) {
				t.Errorf("%v: a message of %d bytes is damaged", level, len(b)-8)
			}
		}
		for _, n := range want {
			if seen[n] != 1 {
				t.Errorf("%v: the message of %d bytes has come %d times", level, n, seen[n])
			}
		}
		if u := p.ms[1].Usage(); u.Incomplete != 0 || parts < 30 {
			t.Errorf("%v: %d packets are incomplete, %d parts went", level, u.Incomplete, parts)
		}
	}
}

// Memory that is gone when some parts have left: the operation fails, its message is not delivered,
// and the next messages are.
func TestRecutFault(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.Discover, c.CopyMax = true, 512 })
	p.meet()
	peer := p.ms[0].connected(1)
	peer.sender.resize(peer.paths.At(0), 1000, p.now)
	gone, err := syscall.Mmap(-1, 0, 8192, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(gone)
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	parts := 0
	p.lose = func(from int, b []byte) bool {
		if from == 0 && len(b) > wire.HeaderSize && b[wire.HeaderSize] == wire.PartID {
			if parts++; parts == 3 {
				if err := syscall.Mprotect(gone, syscall.PROT_NONE); err != nil {
					t.Fatal(err)
				}
			}
		}
		return false
	}
	bad := &sent{}
	bad.op.Local = memory.AddrOf(gone)
	if err := p.begin(0, 1, 1, 8000, bad); err != nil || bad.status != transport.Queued {
		t.Fatalf("Send: %v, %v", bad.status, err)
	}
	after := p.send(0, 1, 1, 700)
	p.pass(50 * time.Millisecond)
	var fault *transport.FaultError
	if bad.done != 1 || !errors.As(bad.err, &fault) || parts < 4 {
		t.Errorf("done %d times after %d parts: %v", bad.done, parts, bad.err)
	}
	if !after.over() || after.err != nil || got != 1 {
		t.Errorf("%d messages have arrived; the second: %v", got, after.err)
	}
	if u := p.ms[1].Usage(); u.Incomplete != 0 {
		t.Errorf("%d packets are incomplete", u.Incomplete)
	}
}

// A single long packet has nothing behind it that would show that its paths work, and goes from one
// to the other. That they answer what went before it must do.
func TestLoneSwallowed(t *testing.T) {
	a, b := gigabit(), gigabit()
	a.mtu, b.mtu = 964, 1387
	var told int
	r := narrowed(t, &told, a, b)
	for i := range 3 {
		if d := r.moves(1, 1424, &told); d > 5*time.Second {
			t.Errorf("message %d needed %v", i, d)
		}
	}
}
