package udp

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/sock"
)

// userMemory is n bytes outside the Go heap, as users' buffers are.
func userMemory(t testing.TB, n int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(b) })
	return b
}

// endless is the body of a thread that works until stop is set, and tells when it has ended.
func endless(stop *atomic.Bool, turn func()) (ended chan struct{}) {
	ended = make(chan struct{})
	go func() {
		runtime.LockOSThread()
		memory.Guard()
		for !stop.Load() {
			turn()
		}
		close(ended)
	}()
	return ended
}

// BenchmarkPingPong is half a round trip of 8 bytes between two threads that poll: bare sockets,
// then links.
func BenchmarkPingPong(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		x, y := bareSockets(b, false, 8)
		var stop atomic.Bool
		ended := endless(&stop, func() {
			if d, from, ok := y.Receive(); ok {
				y.Send(from, d, 0, 0)
			}
		})
		word := userMemory(b, 8)
		for b.Loop() {
			x.Send(y.Local(), word, 0, 0)
			for {
				if _, _, ok := x.Receive(); ok {
					break
				}
			}
		}
		stop.Store(true)
		<-ended
		oneWay(b)
	})
	b.Run("link", func(b *testing.B) {
		ls := links(b, 2, nil)
		var stop atomic.Bool
		memory.Guard()
		var hdr [40]byte
		got := 0
		ls[0].Handle(2, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		data := userMemory(b, 16)
		back := transport.Op{Local: memory.AddrOf(data), N: 8}
		fresh := false
		ls[1].Handle(2, func(*transport.Msg) transport.Verdict {
			fresh = true
			return transport.Accept
		})
		ended := endless(&stop, func() {
			// the answer goes after Progress, as from a user's thread
			if ls[1].Progress(16); fresh {
				fresh = false
				_, _ = ls[1].Send(0, 2, hdr[:], &back)
			}
		})
		there := transport.Op{Local: memory.AddrOf(data[8:]), N: 8}
		for b.Loop() {
			want := got + 1
			if _, err := ls[0].Send(1, 2, hdr[:], &there); err != nil {
				b.Fatal(err)
			}
			for got < want {
				ls[0].Progress(16)
			}
		}
		stop.Store(true)
		<-ended
		closeAll(b, ls)
		oneWay(b)
	})
}

// BenchmarkCost is what one 8-byte message costs the processor, both ends on one thread: sending,
// taking it in, and one look at an empty socket each way. Unlike the times between two threads it
// says something on a machine that has other work.
func BenchmarkCost(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		x, y := bareSockets(b, false, 8)
		word := userMemory(b, 8)
		for b.Loop() {
			x.Send(y.Local(), word, 0, 0)
			y.Receive()
			y.Receive()
			y.Send(x.Local(), word, 0, 0)
			x.Receive()
			x.Receive()
		}
		oneWay(b)
	})
	b.Run("link", func(b *testing.B) {
		ls := links(b, 2, nil)
		memory.Guard()
		var hdr [40]byte
		got := 0
		for _, l := range ls {
			l.Handle(2, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		}
		op := transport.Op{Local: memory.AddrOf(userMemory(b, 8)), N: 8}
		for b.Loop() {
			for i, l := range ls {
				want := got + 1
				if _, err := l.Send(transport.Endpoint(1-i), 2, hdr[:], &op); err != nil {
					b.Fatal(err)
				}
				// only while the session begins
				for ls[1-i].Progress(16); got < want; ls[1-i].Progress(16) {
					l.Progress(16)
				}
				ls[1-i].Progress(16)
			}
		}
		oneWay(b)
		closeAll(b, ls)
	})
}

func oneWay(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/one-way")
}

// bareSockets are two sockets; of several datagrams in one piece each has size bytes.
func bareSockets(b testing.TB, plain bool, size int) (x, y *sock.Socket) {
	b.Helper()
	var s [2]*sock.Socket
	for i := range s {
		var err error
		if s[i], err = sock.Open(loopback, sock.Options{Receive: socketBuffer, Send: socketBuffer,
			Plain: plain, Length: func([]byte) int { return size }}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s[i].Close() })
	}
	return s[0], s[1]
}

func closeAll(t testing.TB, ls []*Link) {
	t.Helper()
	for _, l := range ls {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkStream sends 1 MiB at a time and waits until it has arrived: bare sockets with credits,
// so that nothing is lost, then links, each in packets of several sizes, gathered and each by
// itself.
func BenchmarkStream(b *testing.B) {
	const message = 1 << 20
	for _, size := range []int{1400, 8192, 16384, 21832, 32744, 65507} {
		for _, plain := range []bool{true, false} {
			set := func(_ int, c *Config) { c.PacketSize, c.Plain = size, plain }
			ls := links(b, 2, set)
			piece := ls[0].Limits().SendMax - 64
			closeAll(b, ls)
			b.Run(fmt.Sprintf("bare/size=%d/plain=%v", size, plain),
				func(b *testing.B) { benchBareStream(b, message, piece, plain) })
			b.Run(fmt.Sprintf("link/size=%d/plain=%v", size, plain),
				func(b *testing.B) { benchLinkStream(b, message, piece, set) })
		}
	}
}

// benchBareStream has at most 1 MiB on its way, and a credit for each eighth of that.
func benchBareStream(b *testing.B, message, piece int, plain bool) {
	x, y := bareSockets(b, plain, 64+piece)
	window := min(max(16, 1<<20/piece), 256)
	var stop atomic.Bool
	into := userMemory(b, message)
	n := 0
	credit := userMemory(b, 8)
	ended := endless(&stop, func() {
		d, from, ok := y.Receive()
		if !ok {
			return
		}
		at := int(binary.LittleEndian.Uint64(d))
		copy(into[at:], d[64:])
		if n++; n%(window/8) == 0 {
			y.Send(from, credit, 0, 0)
		}
	})
	from := userMemory(b, message)
	heads := userMemory(b, 64*64)
	sent, allowed := 0, window
	b.SetBytes(int64(message))
	for b.Loop() {
		for at := 0; at < message; at += piece {
			for sent == allowed {
				x.Push(nil)
				if _, _, ok := x.Receive(); ok {
					allowed += window / 8
				}
			}
			head := heads[sent%64*64:][:64]
			binary.LittleEndian.PutUint64(head, uint64(at))
			size := min(piece, message-at)
			x.Gather(0, y.Local(), head, uint64(memory.AddrOf(from[at:at+size])), size)
			sent++
		}
		x.Push(nil)
	}
	stop.Store(true)
	<-ended
}

func benchLinkStream(b *testing.B, message, piece int, set func(int, *Config)) {
	ls := links(b, 2, set)
	var stop atomic.Bool
	memory.Guard()
	into := userMemory(b, message)
	ls[1].Handle(2, func(m *transport.Msg) transport.Verdict {
		copy(into[binary.LittleEndian.Uint64(m.Hdr):], m.Data)
		return transport.Accept
	})
	ended := endless(&stop, func() { ls[1].Progress(16) })
	from := userMemory(b, message)
	hdr := make([]byte, 40)
	// as with the bare sockets, only the flow control waits, not each message
	var ops [64]transport.Op
	var borrowed [len(ops)]bool
	for i := range ops {
		ops[i].Done = func(*transport.Op, error) { borrowed[i] = false }
	}
	next := 0
	b.SetBytes(int64(message))
	for b.Loop() {
		for at := 0; at < message; at += piece {
			op := &ops[next%len(ops)]
			for borrowed[next%len(ops)] {
				ls[0].Progress(16)
			}
			binary.LittleEndian.PutUint64(hdr, uint64(at))
			size := min(piece, message-at)
			op.Local, op.N = memory.AddrOf(from[at:at+size]), uint64(size)
			status, err := ls[0].Send(1, 2, hdr, op)
			for ; err == transport.ErrBusy; status, err = ls[0].Send(1, 2, hdr, op) {
				ls[0].Progress(16)
			}
			if err != nil {
				b.Fatal(err)
			}
			borrowed[next%len(ops)] = status == transport.Queued
			next++
		}
		ls[0].Progress(16)
	}
	stop.Store(true)
	<-ended
	b.ReportMetric(float64(ls[0].Stats().RetransmittedPackets)/float64(b.N), "retransmitted/op")
	closeAll(b, ls)
}

// BenchmarkLoss is BenchmarkStream with datagrams lost at random, both ways: the remaining
// bandwidth.
func BenchmarkLoss(b *testing.B) {
	const message = 1 << 20
	for _, size := range []int{1400, 16384, 65507} {
		for _, percent := range []float64{0, 1, 10} {
			set := func(task int, c *Config) {
				c.PacketSize = size
				if percent > 0 {
					c.Drop = Losing(percent, 42, task)
				}
			}
			b.Run(fmt.Sprintf("size=%d/lost=%v%%", size, percent),
				func(b *testing.B) {
					benchLinkStream(b, message, (size-packet.Overhead)&^7-40,
						set)
				})
		}
	}
}
