package lapi

import (
	"bytes"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// TestKeyOfRegion: puts and gets with the key of a region take as many packets as requests, and
// none comes from the target. With a key that has ended they take those of a key request.
func TestKeyOfRegion(t *testing.T) {
	const n = 100_000
	j := newJob(t, 2, with())
	k, src, dst := j.tasks[0], make([]byte, n), make([]byte, n)
	far := j.tasks[1]
	key := far.Register(at(&dst[0]), n, transport.AccessRead|transport.AccessWrite)
	if len(key) != transport.KeyMax {
		t.Fatalf("a key of %d bytes", len(key))
	}
	transfer := func(kind uint32) (sent, received uint64) {
		t.Helper()
		done := new(int32)
		x := &Transfer{Tgt: 1, N: n, TgtAddr: at(&dst[0]), OrgAddr: at(&src[0]),
			Key: memory.AddrOf(key)}
		if x.CmplCntr = at(done); kind == XferGet {
			x.CmplCntr, x.OrgCntr = 0, at(done)
		}
		from, to := src, dst
		if kind == XferGet {
			from, to = dst, src
		}
		for i := range from {
			from[i] = byte(i*3 + int(kind))
		}
		before := k.statistics(qStatistics)
		j.ok(k.Xfer(kind, x))
		j.until("a transfer", func() bool { return *done == 1 })
		if !bytes.Equal(from, to) {
			t.Errorf("kind %d: damaged", kind)
		}
		s := k.statistics(qStatistics)
		return s.PacketsSent - before.PacketsSent, s.PacketsReceived - before.PacketsReceived
	}
	transfer(XferPut) // the tasks meet
	for _, kind := range []uint32{XferPut, XferGet} {
		if sent, received := transfer(kind); sent != 1 || received != 0 {
			t.Errorf("kind %d: %d packets there, %d back", kind, sent, received)
		}
	}
	far.Deregister(at(&dst[0]), n, key)
	key[0]++ // as that of another process
	for _, kind := range []uint32{XferPut, XferGet} {
		if sent, received := transfer(kind); sent < 3 || received < 2 {
			t.Errorf("kind %d, stale: %d packets there, %d back", kind, sent, received)
		}
	}
}

// TestManyByKey: more puts than are under way at a time wait with their keys.
func TestManyByKey(t *testing.T) {
	const n, puts = 20_000, 200
	j := newJob(t, 2, with())
	src, dst := make([]byte, n), make([]byte, n)
	key := j.tasks[1].Register(at(&dst[0]), n, transport.AccessWrite)
	done, k := new(int32), j.tasks[0]
	before := j.tasks[1].statistics(qStatistics).PacketsSent
	src[n-1] = 7
	for range puts {
		j.ok(k.Xfer(XferPut, &Transfer{Tgt: 1, N: n, TgtAddr: at(&dst[0]), OrgAddr: at(&src[0]),
			Key: memory.AddrOf(key), CmplCntr: at(done)}))
	}
	j.until("all puts", func() bool { return *done == puts })
	if n := j.tasks[1].statistics(qStatistics).PacketsSent - before; n > puts/8 {
		t.Errorf("the target has sent %d packets", n)
	}
	if dst[n-1] != 7 {
		t.Error("damaged")
	}
}
