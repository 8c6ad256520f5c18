package udp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// hang only guards against a hang.
const hang = 60 * time.Second

// until makes progress on all links until done.
func until(t testing.TB, ls []*Link, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !done(); {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
		for _, l := range ls {
			l.Progress(16)
		}
	}
}

// transfer sends count messages of the sizes that size gives from link 0 to link 1 and checks that
// each arrives once and whole.
func transfer(t testing.TB, ls []*Link, from, to, count int, size func(i int) int) {
	t.Helper()
	arrived := make([]int, count)
	got := 0
	ls[to].Handle(5, func(m *transport.Msg) transport.Verdict {
		i := int(binary.LittleEndian.Uint64(m.Hdr))
		if len(m.Data) != size(i) {
			t.Errorf("message %d arrives with %d bytes, not %d", i, len(m.Data), size(i))
		}
		for j, b := range m.Data {
			if b != byte(i+j) {
				t.Errorf("message %d is damaged at %d", i, j)
				break
			}
		}
		arrived[i]++
		got++
		return transport.Accept
	})
	buffer := userMemory(t, 1<<16)
	done := true
	op := transport.Op{Local: memory.AddrOf(buffer), Done: func(_ *transport.Op, err error) {
		if done = true; err != nil {
			t.Errorf("Send: %v", err)
		}
	}}
	for i := range count {
		until(t, ls, "a free buffer", func() bool { return done })
		for j := range size(i) {
			buffer[j] = byte(i + j)
		}
		op.N = uint64(size(i))
		var status transport.Status
		err := transport.ErrBusy
		until(t, ls, "room", func() bool {
			status, err = ls[from].Send(transport.Endpoint(to), 5,
				binary.LittleEndian.AppendUint64(nil, uint64(i)), &op)
			return err != transport.ErrBusy
		})
		if err != nil {
			t.Fatalf("Send: %v", err)
		}
		done = status == transport.Done
	}
	flushed := false
	flush := transport.Op{Done: func(_ *transport.Op, err error) { flushed = err == nil }}
	if status, err := ls[from].Flush(transport.Endpoint(to), &flush); err != nil {
		t.Fatalf("Flush: %v", err)
	} else if status == transport.Done {
		flushed = true
	}
	until(t, ls, "the flush", func() bool { return flushed })
	if got != count {
		t.Errorf("flushed with %d of %d messages", got, count)
	}
	for i, n := range arrived {
		if n != 1 {
			t.Errorf("message %d arrives %d times", i, n)
		}
	}
}

// Over real sockets that lose packets.
func TestLoss(t *testing.T) {
	for _, percent := range []int{0, 1, 10, 30} {
		t.Run(fmt.Sprintf("%d%%", percent), func(t *testing.T) {
			memory.Guard()
			ls := links(t, 2, losing(float64(percent)/100))
			transfer(t, ls, 0, 1, 1500, func(i int) int { return i % 300 })
			transfer(t, ls, 1, 0, 500, func(i int) int { return 65000 - i*100 })
			again := ls[0].Stats().RetransmittedPackets + ls[1].Stats().RetransmittedPackets
			if percent > 0 && again == 0 {
				t.Error("nothing was lost")
			}
			t.Logf("%d retransmissions", again)
			closeAll(t, ls)
		})
	}
}

// Eight origins, one target with the smallest buffer the kernel gives: packets are lost, but
// traffic goes on.
func TestManyToOneSmallBuffer(t *testing.T) {
	memory.Guard()
	ls := links(t, 9, func(_ int, c *Config) { c.ReceiveBuffer = 1 << 16 })
	got, sent := 0, 0
	ls[8].Handle(5, func(m *transport.Msg) transport.Verdict {
		got += len(m.Data)
		return transport.Accept
	})
	data := userMemory(t, 1<<16)
	var ops [8][20]transport.Op
	pending := 0
	for round := range 20 {
		for i := range 8 {
			op := &ops[i][round]
			*op = transport.Op{Local: memory.AddrOf(data), N: 60000,
				Done: func(*transport.Op, error) { pending-- }}
			until(t, ls, "room", func() bool {
				status, err := ls[i].Send(8, 5, nil, op)
				if err == nil && status == transport.Queued {
					pending++
				}
				return err == nil
			})
			sent += 60000
		}
	}
	until(t, ls, "all data", func() bool { return pending == 0 && got == sent })
	again := uint64(0)
	for _, l := range ls {
		again += l.Stats().RetransmittedPackets
	}
	t.Logf("%d of 160 packets were sent again", again)
	closeAll(t, ls)
}

// freePort is an address that nobody uses now.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := New(Config{NumTasks: 1, Locals: []Local{{Addr: loopback}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Locals()[0]
}

func fixed(t *testing.T, task int, addrs []netip.AddrPort) *Link {
	t.Helper()
	l, err := New(Config{Task: task, NumTasks: len(addrs), Locals: []Local{{Addr: addrs[task]}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range addrs {
		if i != task {
			if err := l.Connect(transport.Endpoint(i),
				transport.Address{Bytes: EncodeAddress(a)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// count sets a handler that counts.
func count(l *Link) *int {
	n := new(int)
	l.Handle(5, func(*transport.Msg) transport.Verdict { *n++; return transport.Accept })
	return n
}

// A job started by hand: fixed ports, no key, one task late, and the same ports used again for a
// second session while a task is still in the first.
func TestFixedPorts(t *testing.T) {
	memory.Guard()
	addrs := []netip.AddrPort{freePort(t), freePort(t)}
	op := transport.Op{Done: func(*transport.Op, error) {}}
	send := func(l *Link, to transport.Endpoint) {
		t.Helper()
		if _, err := l.Send(to, 5, nil, &op); err != nil {
			t.Fatalf("Send: %v", err)
		}
	}
	a := fixed(t, 0, addrs)
	send(a, 1)
	for range 50 { // nobody receives it yet
		a.Progress(16)
		time.Sleep(time.Millisecond / 5)
	}
	b := fixed(t, 1, addrs)
	got := count(b)
	until(t, []*Link{a, b}, "a message to a late task", func() bool { return *got == 1 })

	// task 1 goes on to its second session; task 0 does not know yet
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = fixed(t, 1, addrs)
	stale := count(a)
	send(b, 0)
	for range 200 {
		a.Progress(16)
		b.Progress(16)
		time.Sleep(time.Millisecond / 10)
	}
	if *stale != 0 {
		t.Error("a message of the second session arrives in the first")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = fixed(t, 0, addrs)
	got = count(a)
	until(t, []*Link{a, b}, "the message in the second session", func() bool { return *got == 1 })
	closeAll(t, []*Link{a, b})
}

// Borrowed data costs no allocation either, once the link is warm.
func TestNoAllocations(t *testing.T) {
	memory.Guard()
	ls := links(t, 2, nil)
	got, pending := 0, 0
	ls[1].Handle(5, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	data := userMemory(t, 1<<16)
	large := transport.Op{Local: memory.AddrOf(data), N: 60000,
		Done: func(*transport.Op, error) { pending-- }}
	small := transport.Op{Local: memory.AddrOf(data), N: 8}
	hdr := make([]byte, 40)
	round := func() {
		want := got + 2
		if _, err := ls[0].Send(1, 5, hdr, &small); err != nil {
			t.Fatal(err)
		}
		if _, err := ls[0].Send(1, 5, hdr, &large); err != nil {
			t.Fatal(err)
		}
		for pending++; got < want || pending > 0; {
			ls[0].Progress(16)
			ls[1].Progress(16)
		}
	}
	ls[0].cfg.CopyMax = 128
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	closeAll(t, ls)
}

// A datagram that comes to a link's socket from a wrong address, or is no packet at all, is counted
// and dropped; where there is but one peer, the kernel drops it uncounted.
func TestNoise(t *testing.T) {
	for n, ghosts := range map[int]uint64{2: 0, 3: 50} {
		t.Run(fmt.Sprint(n, " tasks"), func(t *testing.T) { testNoise(t, n, ghosts) })
	}
}

func testNoise(t *testing.T, n int, ghosts uint64) {
	memory.Guard()
	ls := links(t, n, nil)
	x, _ := bareSockets(t, false, 0)
	got := count(ls[1])
	noise := userMemory(t, 2000)
	for i := range 50 {
		x.Send(ls[1].Locals()[0], noise[:i*37], 0, 0)
	}
	op := transport.Op{}
	if _, err := ls[0].Send(1, 5, nil, &op); err != nil {
		t.Fatal(err)
	}
	until(t, ls, "the message", func() bool {
		return *got == 1 &&
			ls[1].Stats().GhostPackets == ghosts
	})
	closeAll(t, ls)
}

// A forged packet says where those behind it begin, which came with it in one piece: they are
// dropped and counted, and nothing else is.
func TestForgedLength(t *testing.T) {
	memory.Guard()
	ls := links(t, 2, nil)
	got := count(ls[1])
	send := func() {
		op := transport.Op{}
		if _, err := ls[0].Send(1, 5, nil, &op); err != nil {
			t.Fatal(err)
		}
	}
	send()
	until(t, ls, "the first message", func() bool { return *got == 1 })
	before := ls[1].Stats().GhostPackets
	lie := userMemory(t, 10*wire.HeaderSize)
	(&wire.Header{Kind: wire.KindData}).Put(lie)
	binary.LittleEndian.PutUint16(lie[32:], wire.HeaderSize)
	ls[0].socks.At(0).Send(ls[1].Locals()[0], lie, 0, 0) // from the peer's own address
	send()
	until(t, ls, "the second message", func() bool { return *got == 2 })
	want := uint64(1) // a whole datagram, where the kernel gives one at a time
	if ls[1].socks.At(0).Merges() {
		want = 10
	}
	if n := ls[1].Stats().GhostPackets - before; n != want {
		t.Errorf("%d ghosts, not %d", n, want)
	}
	closeAll(t, ls)
}

// The protocol is notified when an interface goes down, and when it comes up.
func TestInterfaceDown(t *testing.T) {
	const name, other = "lapi-link0", "lapi-link1"
	ip := func(words ...string) error { return exec.Command("ip", words...).Run() }
	if os.Geteuid() != 0 || ip("link", "add", name, "type", "veth", "peer", "name", other) != nil {
		t.Skip("skipped: not root, no ip command or no veth interfaces")
	}
	defer ip("link", "del", name)
	for _, words := range [][]string{{"addr", "add", "192.0.2.78/32", "dev", name},
		{"link", "set", other, "up"}, {"link", "set", name, "up"}} {
		if err := ip(words...); err != nil {
			t.Fatalf("ip %v: %v", words, err)
		}
	}
	memory.Guard()
	second := netip.MustParseAddrPort("192.0.2.78:0")
	ls := links(t, 2, func(_ int, c *Config) { c.Locals = append(c.Locals, Local{Addr: second}) })
	defer closeAll(t, ls)
	for i, state := range []string{"down", "up"} {
		if err := ip("link", "set", other, state); err != nil { // the cable
			t.Fatal(err)
		}
		want := [2]uint8{1 << 1, 0}[i]
		until(t, ls, "a link "+state, func() bool {
			return ls[0].offline == want &&
				ls[1].offline == want
		})
	}
}

// Only link.go knows the kernel: the protocol stays drivable by a simulator.
func TestProtocolIsPure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	inner, err2 := filepath.Glob("internal/*/*.go")
	if files = append(files, inner...); err != nil || err2 != nil || len(inner) < 10 {
		t.Fatalf("%d files of the protocol, %v, %v", len(files), err, err2)
	}
	for _, name := range files {
		if name == "link.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			switch path := strings.Trim(i.Path.Value, `"`); path {
			case "lapi/transport/udp/sock", "net", "os", "syscall",
				"golang.org/x/sys/unix":
				t.Errorf("%s imports %s", name, path)
			case "time": // durations are constants; the caller passes the time
				if b, err := os.ReadFile(name); err != nil ||
					bytes.Contains(b, []byte("time.Now")) ||
					bytes.Contains(b, []byte("time.Since")) {
					t.Errorf("%s asks for the time, %v", name, err)
				}
			}
		}
	}
}

// Over two addresses of this host a long transfer uses both sockets, and when one address is down,
// the other.
func TestTwoAddresses(t *testing.T) {
	memory.Guard()
	ls := links(t, 2, func(_ int, c *Config) {
		c.Locals = []Local{{Addr: loopback}, {Addr: netip.MustParseAddrPort("127.0.0.2:0")}}
	})
	transfer(t, ls, 0, 1, 2000, func(i int) int { return 50000 + i })
	for path := range 2 { // how they share depends on the machine, see route_test.go
		if r := ls[0].connected(1).paths.At(path); r.Health() != "live" || r.Transmissions() == 0 {
			t.Errorf("path %d is %s, %d transmissions", path, r.Health(), r.Transmissions())
		}
	}
	for _, l := range ls {
		l.PathDown(l.clock(), 0)
	}
	before := ls[0].connected(1).paths.At(0).Transmissions()
	transfer(t, ls, 0, 1, 200, func(i int) int { return 50000 + i })
	if after := ls[0].connected(1).paths.At(0).Transmissions(); after != before {
		t.Errorf("%d transmissions from an address that is down", after-before)
	}
	closeAll(t, ls)
}

// A task that was away takes in the packets at all its sockets at once, whichever was used before.
func TestLateTaskReadsAllSockets(t *testing.T) {
	memory.Guard()
	ls := links(t, 2, func(_ int, c *Config) {
		c.Locals = []Local{{Addr: loopback}, {Addr: netip.MustParseAddrPort("127.0.0.2:0")}}
	})
	transfer(t, ls, 0, 1, 200, func(i int) int { return 1000 })
	for path := range 2 {
		p := ls[0].connected(1)
		for range 3 {
			if !p.sender.Ask(p.paths.At(path), ls[0].clock()) {
				t.Fatal("the socket is full")
			}
		}
	}
	before := ls[1].Stats().PacketsReceived
	time.Sleep(2 * time.Millisecond)
	ls[1].Progress(64)
	if got := ls[1].Stats().PacketsReceived - before; got < 6 {
		t.Errorf("%d packets of 6 were taken in", got)
	}
	closeAll(t, ls)
}
