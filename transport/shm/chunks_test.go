package shm

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"

	"lapi/transport"
	"lapi/transport/layout"
)

// bytesOf is a Gatherer that writes one byte everywhere.
type bytesOf byte

func (b bytesOf) Gather(dst []byte) error {
	for i := range dst {
		dst[i] = byte(b)
	}
	return nil
}

// lend sends messages of a whole chunk, numbered from first on, until there is no room; it returns how many.
func lend(t *testing.T, l *Link, ep transport.Endpoint, first byte) (n int) {
	t.Helper()
	for ; n < 100; n++ {
		b := first + byte(n)
		switch err := l.SendGathered(ep, 1, word(uint64(b)), chunkSize, bytesOf(b)); err {
		case nil:
		case transport.ErrBusy:
			return n
		default:
			t.Fatal(err)
		}
	}
	t.Fatal("there is no end of chunks")
	return n
}

// intact makes l keep the number of each message of a whole chunk, and fails the test if its bytes are not those it was sent with.
func intact(t *testing.T, l *Link) *[]uint64 {
	got := new([]uint64)
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		i := binary.LittleEndian.Uint64(m.Hdr)
		if len(m.Data) != chunkSize || !bytes.Equal(m.Data, bytes.Repeat([]byte{byte(i)}, chunkSize)) {
			t.Errorf("message %d arrives overwritten", i)
		}
		*got = append(*got, i)
		return transport.Accept
	})
	return got
}

// TestChunksAreShared: a peer that does not look gets a part of the chunks only; when others have all, a further one is told to use slots,
// and one that has some to wait. What was lent is not written again before it was read.
func TestChunksAreShared(t *testing.T) {
	links := newLinks(t, 4)
	l := links[0]
	for round := range 3 {
		if n := lend(t, l, 1, 10); n != chunksMax {
			t.Fatalf("round %d: one peer got %d chunks of %d", round, n, numChunks)
		}
		if n := lend(t, l, 2, 30); n != numChunks-chunksMax || n == 0 {
			t.Fatalf("round %d: the second peer got %d chunks", round, n)
		}
		if n := l.GatherMax(3); n >= sendMax {
			t.Errorf("round %d: GatherMax is %d without a chunk", round, n)
		}
		if n := l.GatherMax(1); n != chunkSize {
			t.Errorf("round %d: GatherMax is %d for a peer whose chunks come back", round, n)
		}
		first, second, third := intact(t, links[1]), intact(t, links[2]), listen(links[3])
		if err := l.SendGathered(3, 1, word(7), uint64(l.GatherMax(3)), bytesOf(7)); err != nil {
			t.Fatal(err)
		}
		drain(links...)
		if len(*first) != chunksMax || len(*second) != numChunks-chunksMax || len(*third) != 1 {
			t.Fatalf("round %d: %d, %d and %d messages arrived", round, len(*first), len(*second), len(*third))
		}
	}
}

// TestChunksOfADisconnectedPeer: it may still read them, so they stay, also over a new beginning; of one that has left they come back.
func TestChunksOfADisconnectedPeer(t *testing.T) {
	links := newLinks(t, 3)
	l := links[0]
	lend(t, l, 1, 10)
	l.Disconnect(1, transport.ErrUnreachable)
	if n := lend(t, l, 2, 30); n != numChunks-chunksMax {
		t.Fatalf("another peer got %d chunks", n)
	}
	got := intact(t, links[1])
	drain(links[1])
	if len(*got) != chunksMax {
		t.Fatalf("%d messages arrived", len(*got))
	}
	intact(t, links[2])
	drain(links[2])
	reconnect(t, l, 1)
	if n := lend(t, l, 1, 50); n != chunksMax {
		t.Fatalf("the peer got %d chunks after a new beginning", n)
	}
	if err := links[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.SendGathered(1, 1, word(0), chunkSize, bytesOf(0)); err != transport.ErrUnreachable {
		t.Errorf("a long message to a peer that has left: %v", err)
	}
	if n := lend(t, l, 2, 70); n != chunksMax {
		t.Fatalf("another peer got %d chunks after one has left", n)
	}
}

// TestSleepUntilChunksReturn: who waits for a chunk is woken by the receiver, or told not to sleep.
func TestSleepUntilChunksReturn(t *testing.T) {
	links := newLinks(t, 2)
	l := links[0]
	for round := range 50 {
		lend(t, l, 1, 10)
		if l.Arm() {
			t.Fatalf("round %d: there is nothing to do and it does not sleep", round)
		}
		intact(t, links[1])
		drain(links[1])
		if atomic.LoadUint32(&l.own.head().Armed) == layout.Armed {
			t.Fatalf("round %d: all was consumed and nobody rang", round)
		}
		l.Disarm()
	}
}

// TestImpossibleChunks: a peer that names a chunk that cannot be has failed.
func TestImpossibleChunks(t *testing.T) {
	for name, m := range map[string]struct{ head, prefix uint64 }{
		"no header":         {pack(0, kindChunk, 0, 8), 1},
		"data over a chunk": {pack(0, kindChunk, 8, chunkSize+1), 1},
		"chunk":             {pack(0, kindChunk, 8, 8), 1 | numChunks<<32},
		"chunk far":         {pack(0, kindChunk, 8, 8), 1 | 0xffffffff<<32},
		"kind 0":            {pack(0, kindChunk, 8, 8), 0},
		"kind":              {pack(0, kindChunk, 8, 8), uint64(transport.MaxMsgID) + 1},
		"kind of 32 bits":   {pack(0, kindChunk, 8, 8), 1 | 1<<31},
		"long header":       {pack(0, kindChunk, 255*8, chunkSize), 1},
	} {
		v := newVictim(t)
		out := v.writer.peers[1].outSlots
		binary.LittleEndian.PutUint64(out.body(0, 0, 8), m.prefix)
		atomic.StoreUint64(out.head(0), m.head)
		v.Progress(10)
		if v.messages != 0 || v.failed == nil {
			t.Errorf("%s: %d messages, peer failed: %v", name, v.messages, v.failed)
		}
	}
}
