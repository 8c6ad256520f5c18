package shm

import (
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// BenchmarkAppendReceive is the Go code of one 8-byte message, sent and received by one thread: no line moves between caches.
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
