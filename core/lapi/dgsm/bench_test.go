package dgsm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
)

// BenchmarkPack packs layouts over 8 MiB of user memory, beside a loop of copies that knows the
// layout.
func BenchmarkPack(b *testing.B) {
	const span = 8 << 20
	user, packed := userMemory(b, span), userMemory(b, span)
	for _, c := range []struct {
		name  string
		block int
		every int
		p     program
	}{
		{"doubles8of64", 64, 512, simple(64, 0, 512)},
		{"doubles8of64gosub", 64, 512, strided(64, span/512, 512, span)},
		{"double1of8", 8, 64, simple(8, 0, 64)},
		{"block4of8", 4, 8, simple(4, 0, 8)},
		{"KiB1of2", 1024, 2048, simple(1024, 0, 2048)},
	} {
		c.p.Density = Sparse
		p := c.p.must(b)
		n := span / c.every * c.block
		b.Run(c.name+"/loop", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				for from, to := 0, 0; to < n; from, to = from+c.every, to+c.block {
					copy(packed[to:to+c.block], user[from:])
				}
			}
		})
		var m Machine
		t := Transfer{Program: p, Base: memory.AddrOf(user), Bytes: uint64(n)}
		b.Run(c.name+"/pack", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				out := Buffer{Addr: memory.AddrOf(packed), Size: span}
				if err := m.Pack(t, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/unpack", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				in := Buffer{Addr: memory.AddrOf(packed), Size: span}
				if err := m.Unpack(t, &in, span); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIrregular gathers through a list of unequal blocks, where every block is a step of its
// own.
func BenchmarkIrregular(b *testing.B) {
	user := userMemory(b, 1<<20)
	var a assembler
	var list []int64
	at := int64(0)
	for i := range int64(1000) {
		list = append(list, at, 8+8*(i%3))
		at += 40 + 8*(i%5)
	}
	a.mcopy(list...)
	a.iterate(0)
	g := program{Descriptor{Depth: 1, Extent: at}, a.code}
	p := g.describe(b)
	n := p.covers() * 8
	dst := make([]byte, n)
	var m Machine
	start(b, &m, p, memory.AddrOf(user), 0, n)
	for _, fragment := range []int{1400, int(n)} {
		b.Run(fmt.Sprint("fragment", fragment), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				for at := 0; at < int(n); at += fragment {
					if err := m.Gather(dst[at:min(at+fragment, int(n))], uint64(at)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkSeek goes to the other end of a transfer through routines within routines.
func BenchmarkSeek(b *testing.B) {
	g := nested(8)
	p := g.must(b)
	var m Machine
	start(b, &m, p, transport.Addr(1<<20), 0, p.covers()*1000)
	end := m.n - 1
	for b.Loop() {
		m.Seek(end)
		m.Seek(1)
	}
}

// BenchmarkRatio is the required figure: packing and unpacking 8 doubles in each 64 over 8 MiB as a
// part of the speed of a loop of copies, all three in turn, so that whatever else the machine does
// hits them alike. It reports ratios of medians.
func BenchmarkRatio(b *testing.B) {
	const span, block, every = 8 << 20, 64, 512
	const n = span / every * block
	user, packed := userMemory(b, span), userMemory(b, span)
	g := simple(block, 0, every)
	tr := Transfer{Program: g.must(b), Base: memory.AddrOf(user), Bytes: n}
	var m Machine
	whole := Buffer{Addr: memory.AddrOf(packed), Size: n}
	ways := [4]func(){
		func() {
			for from, to := 0, 0; to < n; from, to = from+every, to+block {
				copy(packed[to:to+block], user[from:from+block])
			}
		},
		func() {
			for from, to := 0, 0; to < n; from, to = from+every, to+block {
				copy(user[from:from+block], packed[to:to+block])
			}
		},
		func() {
			out := whole
			if err := m.Pack(tr, &out); err != nil {
				b.Fatal(err)
			}
		},
		func() {
			in := whole
			if err := m.Unpack(tr, &in, span); err != nil {
				b.Fatal(err)
			}
		},
	}
	var times [4][]time.Duration
	for b.Loop() {
		for i, way := range ways {
			begin := time.Now()
			way()
			times[i] = append(times[i], time.Since(begin))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(median(0)/median(2), "pack/loop")
	b.ReportMetric(median(1)/median(3), "unpack/loop")
}
