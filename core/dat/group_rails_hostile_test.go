package dat

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"lapi/core/dat/coll"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
)

// TestRailsGarbage: a peer writes anything to a member's staging memory, stamps and numbers that are
// due among it. Each operation completes or fails, none hangs, nothing else is written to, and the
// group's objects are given back.
func TestRailsGarbage(t *testing.T) {
	for seed := range uint64(40) {
		w, list := railed(t, fake.New(), seed, 2, seed%2 == 0)
		left := list[0].p.device().Left()
		w.group(list, 5)
		rng := rand.New(rand.NewPCG(seed, 1))
		memory := list[0].g.rails.list[1].memory
		const at, count = 1 << 12, 9000
		guard := list[0].p.memory[at+2*8*count : at+2*8*count+64]
		copy(guard, "guard")
		for i, m := range list {
			w.must("allreduce", m.post(m.sum(i, 1, 0)))
			w.must("allreduce", m.post(m.sum(i, count, at)))
			w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
		}
		for range 30 {
			for range 1 << rng.UintN(12) {
				word := memory[rng.IntN(len(memory)/8)*8:]
				v := [...]uint64{rng.Uint64(), rng.Uint64N(8), 1 << rng.UintN(64), ^uint64(0)}
				binary.LittleEndian.PutUint64(word, v[rng.IntN(len(v))])
			}
			w.run(time.Duration(rng.IntN(int(time.Millisecond))))
		}
		w.must("free_group", list[1].g.Free())
		for range 3 {
			w.expect(list[0].evd, EventCollective)
		}
		if string(guard[:5]) != "guard" || !allZero(guard[5:]) {
			t.Errorf("seed %d: memory behind the result was written to", seed)
		}
		w.must("free_group", list[0].g.Free())
		w.nothingLeft(list, left)
	}
}

// TestRailLengthIsBounded: a message in a member's staging memory claims to have more bytes than a slot
// has. The bytes in front of the slot are never taken for its data.
func TestRailLengthIsBounded(t *testing.T) {
	const tail, lengthAt = layout.DatRailSlot - layout.DatRailData, 20 // of dat_rail_tail
	for _, claimed := range []uint16{layout.DatRailData + 1, 4 * layout.DatRailData, 65528} {
		w, list := railed(t, fake.New(), 6, 2, false)
		w.group(list, 5)
		const bytes, at, parts = 4 * layout.DatRailData, 1 << 12, 4
		root, sent := list[0], list[0].p.memory[at:at+bytes]
		call := root.broadcast(0, 0, bytes, at, 1)
		for i := range sent {
			sent[i] = byte(i*7 + 1)
		}
		w.must("broadcast", root.post(call))
		w.run(time.Millisecond)
		slots := list[1].g.rails.list[0].memory
		changed := 0
		for end := layout.DatRailSlot; end <= layout.DatRailSlots*layout.DatRailSlot; end += layout.DatRailSlot {
			length := slots[end-tail+lengthAt:]
			if binary.LittleEndian.Uint16(length) == layout.DatRailData {
				binary.LittleEndian.PutUint16(length, claimed)
				changed++
			}
		}
		if changed != parts {
			t.Fatalf("%d of %d messages are there", changed, parts)
		}
		w.must("broadcast", list[1].post(list[1].broadcast(1, 0, bytes, at, 0)))
		for _, m := range list {
			w.collective(m, uint32(coll.Broadcast), 0)
		}
		if got := list[1].p.memory[at : at+bytes]; string(got) != string(sent) {
			t.Errorf("%d bytes of %d claimed: what came is not what was sent", layout.DatRailData, claimed)
		}
	}
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// FuzzRailOffer: an offer comes from another process. Its values are taken as they are, within
// what this adapter can do.
func FuzzRailOffer(f *testing.F) {
	own := &ibv.Info{MTU: 4096, GID: ibv.GID{1}, LID: 5}
	good := appendOffer(nil, own, &rail{number: 17, psn: 3, region: ibv.Region{Keys: ibv.Keys{Remote: 9}}}, 1<<40)
	if len(good) != coll.OfferSize {
		f.Fatalf("an offer has %d bytes", len(good))
	}
	f.Add(good)
	f.Add(make([]byte, coll.OfferSize))
	f.Add(good[:coll.OfferSize-1])
	f.Fuzz(func(t *testing.T, offer []byte) {
		o, ok := readOffer(offer, own)
		switch {
		case !ok:
			if len(offer) == coll.OfferSize && binary.LittleEndian.Uint32(offer) == railVersion {
				t.Error("an offer of this version is refused")
			}
		case o.to.MTU > own.MTU || o.to.MTU < 0 || o.to.PSN >= 1<<24 || o.to.Reads != 1:
			t.Errorf("%+v", o)
		}
	})
}
