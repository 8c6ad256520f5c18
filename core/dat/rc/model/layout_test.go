package model

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"lapi/transport/arena"
)

const (
	slots    = 128 // places of own memory, and of receives, each of which is used again
	slotSize = 48 << 10
	places   = 6 // that the peer writes to, and reads
	words    = 8
	constant = slotSize // bytes that are only read
	canary   = 0xa5
)

// memory is an end's, of its process: all that the peer may name, and what only the end names.
type memory struct {
	all      []byte // what follows, behind one another
	own      []byte // of requests
	inboxes  []byte
	places   []byte
	constant []byte
	words    []byte
	// what the places hold when all that was posted is done
	expected [places][]byte
	writes   [places][]int // numbers of the requests that write there
	adds     uint64        // posted to the first word; swaps to the second
	swapped  uint64
	main     *context // of all of it
	spare    *context // likewise, when main has lost a right
	window   *context // nil: none is bound
	known    *context // the window's that the peer knows
	binds    int      // posted
	useless  map[uint32]bool
	revoked  rights // of main, that it has no more
}

func newMemory() (memory, error) {
	const n = 2*slots*slotSize + places*slotSize + constant + 8*words
	b, err := arena.Map(n)
	if err != nil {
		return memory{}, err
	}
	m := memory{all: b, useless: map[uint32]bool{}}
	m.own, b = b[:slots*slotSize], b[slots*slotSize:]
	m.inboxes, b = b[:slots*slotSize], b[slots*slotSize:]
	m.places, b = b[:places*slotSize], b[places*slotSize:]
	m.constant, m.words = b[:constant], b[constant:]
	for i := range m.expected {
		m.expected[i] = make([]byte, slotSize)
	}
	for i := range m.constant {
		m.constant[i] = byte(i*13 + i>>8)
	}
	return m, nil
}

func slot(b []byte, number uint64) []byte {
	at := number % slots * slotSize
	return b[at : at+slotSize]
}

func (m *memory) place(i int) []byte { return m.places[i*slotSize : (i+1)*slotSize] }

// dataOf is what a byte of a request's data is.
func dataOf(e *end, number uint64, i int) byte {
	return byte(uint64(e.index)*71 + uint64(e.side)*131 + number*29 + uint64(i)*7 + uint64(i)>>8)
}

// split makes pieces of n bytes of a slot, several and some of them empty, with gaps.
func split(random *rand.Rand, b []byte, n uint32, context uint32) (list []piece) {
	if random.IntN(3) > 0 {
		if n > 0 || random.IntN(2) == 0 {
			list = append(list, piece{b[:n], context})
		}
		return list
	}
	for parts := 2 + random.IntN(maxSegments-1); parts > 0; parts-- {
		k := n
		if parts > 1 {
			k = random.Uint32N(n + 1)
		}
		list = append(list, piece{b[:k], context})
		b = b[int(k)+random.IntN(70):]
		n -= k
	}
	return list
}

// maxSegments is how many pieces a list has.
const maxSegments = 6

// fill writes the data of a request to its own memory.
func (r *request) fill(e *end) {
	i := 0
	for _, p := range r.local {
		for k := range p.at {
			p.at[k] = dataOf(e, r.number, i)
			i++
		}
	}
}

// gathered is a list's memory.
func gathered(list []piece) (b []byte) {
	for _, p := range list {
		b = append(b, p.at...)
	}
	return b
}

// edge is how much of a slot a receive with those segments, and a little behind them, takes.
func (r *receive) edge(b []byte) (n int) {
	for _, p := range r.local {
		n = max(n, cap(b)-cap(p.at)+len(p.at))
	}
	return min(len(b), n+80)
}

// prepare makes a receive's memory such that one sees what is written to it.
func (r *receive) prepare(b []byte) {
	for i := range b[:r.edge(b)] {
		b[i] = canary
	}
}

// check says whether the receive's slot has n bytes of a request's data, and else is untouched.
func (r *receive) check(b []byte, from *end, number uint64, n uint32) error {
	want := bytes.Repeat([]byte{canary}, r.edge(b))
	i := uint32(0)
	for _, p := range r.local {
		at := cap(b) - cap(p.at)
		for k := range p.at {
			if i < n {
				want[at+k] = dataOf(from, number, int(i))
			}
			i++
		}
	}
	if got := b[:len(want)]; !bytes.Equal(got, want) {
		return fmt.Errorf("its memory differs from byte %d on: %#x", differ(got, want),
			got[differ(got, want)])
	}
	return nil
}
