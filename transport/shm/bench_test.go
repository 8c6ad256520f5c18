package shm

import (
	"encoding/binary"
	"strconv"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// BenchmarkAppendReceive is the Go code of one 8-byte message, sent and received by one thread: no
// line moves between caches.
func BenchmarkAppendReceive(b *testing.B) {
	links := newLinks(b, 2)
	got := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	data := userMemory(b, 8)
	op := transport.Op{Local: memory.AddrOf(data), N: 8}
	hdr := make([]byte, 32)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := links[0].Send(1, 1, hdr, &op); err != nil {
			b.Fatal(err)
		}
		if links[1].Progress(16) != 1 {
			b.Fatal("no message")
		}
	}
}

// BenchmarkPingPong is half of a round trip of 8 bytes between two processes that poll.
func BenchmarkPingPong(b *testing.B) {
	l, _ := startChild(b, "echo")
	got := 0
	l.Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	data := userMemory(b, 8)
	op := transport.Op{Local: memory.AddrOf(data), N: 8}
	hdr := make([]byte, 16)
	rounds := 0
	for b.Loop() {
		if _, err := l.Send(1, 1, hdr, &op); err != nil {
			b.Fatal(err)
		}
		for rounds++; got < rounds; {
			l.Progress(16)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds)/2, "ns/way")
}

// BenchmarkStream sends messages of several sizes one way, to a process that polls and answers only
// at the end.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{8, 512, 4096, sendMax - 40} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l, _ := startChild(b, "sink")
			data := userMemory(b, n)
			op := transport.Op{Local: memory.AddrOf(data), N: uint64(n)}
			hdr := make([]byte, 40)
			b.SetBytes(int64(n))
			for b.Loop() {
				for {
					_, err := l.Send(1, 1, hdr, &op)
					if err == nil {
						break
					}
					if err != transport.ErrBusy {
						b.Fatal(err)
					}
				}
			}
			finished := false
			flush := transport.Op{Done: func(*transport.Op, error) { finished = true }}
			if status, err := l.Flush(1, &flush); err != nil {
				b.Fatal(err)
			} else if status == transport.Done {
				finished = true
			}
			for !finished {
				l.Progress(1)
			}
		})
	}
}

// BenchmarkPut is a direct copy into another process.
func BenchmarkPut(b *testing.B) {
	l, _ := startChild(b, "echo")
	if !l.CanDirect(1) {
		b.Skip("cross-memory attach is not permitted here")
	}
	var target transport.Addr
	l.Handle(2, func(m *transport.Msg) transport.Verdict {
		target = transport.Addr(binary.LittleEndian.Uint64(m.Hdr))
		return transport.Accept
	})
	mustSend(b, l, 1, 2, nil, nil)
	until(b, "an address", func() bool { return target != 0 }, func() { l.Progress(16) })
	for _, n := range []int{8, 4096, 65536, 1 << 20, 4 << 20} {
		data := userMemory(b, n)
		op := transport.Op{Local: memory.AddrOf(data), Remote: target, N: uint64(n)}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := l.Put(1, &op); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
