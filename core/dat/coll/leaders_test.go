package coll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// layouts are members on two and three nodes.
func layouts(size int) map[string][]int {
	return map[string][]int{"two nodes": nodesOf(size, (size+1)/2), "by three": nodesOf(size, 3),
		"alternating": alternating(size, 2), "uneven": uneven(size)}
}

// crossings is how many messages of data go between nodes in an operation.
func crossings(t *testing.T, kind Kind, places []int, led bool, size uint64) int {
	var nodes []int
	if led {
		nodes = places
	}
	n := newNet(t, 7, len(places), nodes, 1<<20)
	n.calm, n.places, n.between = true, places, 0
	n.random = rand.New(rand.NewPCG(7, 7)) // the same root with leaders and without
	c := newCall(n, kind, size)
	for i, e := range n.members {
		e.g.Post(&c.args[i])
	}
	n.run()
	n.allDone(1, fmt.Sprint("kind ", kind))
	c.check(n, fmt.Sprint("kind ", kind))
	return n.between
}

// TestLeadersPay: of little data fewer messages go between nodes by leaders than without them, for
// every operation; of much data not many more.
func TestLeadersPay(t *testing.T) {
	for name, places := range layouts(8) {
		for _, kind := range kinds {
			flat, led := crossings(t, kind, places, false, 64), crossings(t, kind, places, true, 64)
			t.Logf("%s, kind %d: %d messages between nodes, by leaders %d", name, kind, flat, led)
			if led >= flat {
				t.Errorf("%s, kind %d: %d messages between nodes, without leaders %d", name,
					kind, led, flat)
			}
			flat = crossings(t, kind, places, false, 6<<10)
			if led = crossings(t, kind, places, true, 6<<10); led > flat+flat/8 {
				t.Errorf("%s, kind %d, long: %d messages between nodes, without leaders %d",
					name, kind, led, flat)
			}
		}
	}
}

// TestSameBitsByLeaders: as TestSameBits, of the operations that give each member something else.
func TestSameBitsByLeaders(t *testing.T) {
	for _, kind := range []Kind{ReduceScatter, Scan, Reduce} {
		for name, places := range layouts(7) {
			for _, part := range []uint64{8, 4096, 20 << 10} {
				first := make([][]byte, len(places))
				for run := range uint64(3) {
					for i, b := range sums(t, kind, places, part, run) {
						if run == 0 {
							first[i] = b
						} else if !bytes.Equal(b, first[i]) {
							t.Fatalf("%s, kind %d, %d bytes: run %d has other bits at member %d",
								name, kind, part, run, i)
						}
					}
				}
			}
		}
	}
}

// sums is what members get of a sum whose order matters.
func sums(t *testing.T, kind Kind, places []int, part, seed uint64) (out [][]byte) {
	size := len(places)
	n := newNet(t, seed, size, places, 8192)
	list := make([]Span, size)
	for i := range list {
		list[i].N = part
	}
	total := part
	if kind == ReduceScatter {
		total *= uint64(size)
	}
	for i, e := range n.members {
		in := n.buffer(total)
		for k := 0; k < len(in); k += 8 {
			v := math.Sin(float64(k+1)) * math.Pow(10, float64((i*7+k)%15))
			binary.LittleEndian.PutUint64(in[k:], math.Float64bits(v))
		}
		b := n.buffer(part)
		clear(b)
		a := Args{Kind: kind, Op: 2, Type: 9, Root: 2, Send: Parts{One: spanOf(in)},
			Recv: Parts{One: spanOf(b)}}
		if kind == ReduceScatter {
			a.Recv.List = list
		}
		e.g.Post(a.judge())
		out = append(out, b)
	}
	n.run()
	n.allDone(1, "sums")
	for i, b := range out {
		out[i] = bytes.Clone(b)
	}
	return out
}

// TestBundleDamaged: malformed bundles are rejected.
func TestBundleDamaged(t *testing.T) {
	for name, in := range map[string][]byte{
		"short length":  {1, 0, 0},
		"too long":      {9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3},
		"nothing":       {},
		"huge, no part": {255, 255, 255, 255, 255, 255, 255, 127},
	} {
		b := &bundle{room: in, n: uint64(len(in)) + 50}
		if _, _, _, ok := b.part(); ok {
			t.Errorf("%s: a part is read", name)
		}
	}
}
