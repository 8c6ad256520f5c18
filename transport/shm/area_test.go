package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// TestChunkArea sends chunks of all lengths in random order until there is no room, lets some of
// them be read, and so on. Each must arrive as it was sent, although the sender's memory changes at
// once and the area is used again and again.
func TestChunkArea(t *testing.T) {
	links := newLinks(t, 2)
	random := rand.New(rand.NewPCG(3, 4))
	data := userMemory(t, sendMax)
	var sent, got, bytesSent uint64
	var lengths []int
	links[1].Handle(1, func(m *transport.Msg) transport.Verdict {
		if binary.LittleEndian.Uint64(m.Hdr) != got || len(m.Data) != lengths[got] {
			t.Fatalf("message %d of %d bytes came as number %d with %d",
				binary.LittleEndian.Uint64(m.Hdr), len(m.Data), got, lengths[got])
		}
		if !bytes.Equal(m.Data, bytes.Repeat([]byte{byte(got)}, len(m.Data))) {
			t.Fatalf("message %d of %d bytes was damaged", got, len(m.Data))
		}
		got++
		return transport.Accept
	})
	for sent < 3000 {
		n := layout.InlineMax + 1 + random.IntN(sendMax-8-layout.InlineMax)
		if random.IntN(3) == 0 {
			n = random.IntN(2 * layout.ChunkUnit)
		}
		for i := range data[:n] {
			data[i] = byte(sent)
		}
		lengths = append(lengths[:sent], n)
		op := transport.Op{Local: memory.AddrOf(data), N: uint64(n)}
		switch _, err := links[0].Send(1, 1, word(sent), &op); err {
		case nil:
			sent++
			bytesSent += uint64(n)
		case transport.ErrBusy:
			links[1].Progress(1 + random.IntN(20))
		default:
			t.Fatal(err)
		}
	}
	until(t, "the last message", func() bool { return got == sent },
		func() { links[1].Progress(100) })
	if s := links[0].Stats(); s.PacketsSent != sent || s.DataSent != bytesSent {
		t.Errorf("%d messages with %d bytes were sent, the statistics say %d and %d",
			sent, bytesSent, s.PacketsSent, s.DataSent)
	}
	if s := links[1].Stats(); s.PacketsReceived != sent || s.DataReceived != bytesSent {
		t.Errorf("%d messages with %d bytes came, the statistics say %d and %d",
			sent, bytesSent, s.PacketsReceived, s.DataReceived)
	}
}

// TestWholeArea: the area holds as much as it has, not less, or what it is to hold of that.
func TestWholeArea(t *testing.T) {
	for _, c := range []struct {
		tasks int
		area  uint64
		want  int // KiB
	}{{2, 0, 1024}, {layout.ChunkAreaRings, 1 << 30, 1024}, {layout.ChunkAreaRings + 1, 0, 256},
		{2, 256 << 10, 256}, {2, 300 << 10, 256}, {2, 1, 128}} {
		links := newLinks(t, c.tasks, func(config *Config) { config.Area = c.area })
		links[1].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
		data := userMemory(t, 64<<10)
		op := transport.Op{Local: memory.AddrOf(data), N: uint64(len(data))}
		for round := range 5 {
			n := 0
			for ; n < 100; n++ {
				if _, err := links[0].Send(1, 1, nil, &op); err == transport.ErrBusy {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if n != c.want/64 {
				t.Fatalf("%d tasks, %d bytes: round %d: %d messages of 64 KiB fit",
					c.tasks, c.area, round, n)
			}
			links[1].Progress(100)
		}
	}
}

// TestWakeOnChunkRoom: a task that sleeps because the area is full is woken by the receiver.
func TestWakeOnChunkRoom(t *testing.T) {
	links := newLinks(t, 2)
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	data := userMemory(t, 64<<10)
	op := transport.Op{Local: memory.AddrOf(data), N: uint64(len(data))}
	for {
		if _, err := links[0].Send(1, 1, nil, &op); err == transport.ErrBusy {
			break
		}
	}
	if links[0].Arm() {
		t.Fatal("nothing has happened, and the link would not sleep")
	}
	links[1].Progress(1)
	bell := []unix.PollFd{{Fd: int32(links[0].bell), Events: unix.POLLIN}}
	if n, err := unix.Poll(bell, 0); n != 1 {
		t.Fatalf("a chunk was read, and its sender not woken: %v", err)
	}
	links[0].Disarm()
	if _, err := links[0].Send(1, 1, nil, &op); err != nil {
		t.Errorf("woken, and no room: %v", err)
	}
}

// TestImpossiblePlaces: a chunk outside the area, or longer than a message, does no harm but to its
// sender.
func TestImpossiblePlaces(t *testing.T) {
	head := pack(0, 1|layout.KindChunk, 8, 0)
	const many = layout.ChunkAreaRings + 1
	for name, bad := range map[string]struct {
		tasks       int
		head, place uint64
	}{
		"past the end":          {2, head, layout.ChunkArea - 8 | 9<<32},
		"many tasks":            {many, head, layout.ChunkAreaLeast - 8 | 9<<32},
		"far away":              {2, head, 1<<32 - 1 | 1<<32},
		"too long":              {2, head, (layout.ChunkMax - 7) << 32},
		"as long as it can say": {2, head, (1<<32 - 1) << 32},
		"data in slots too":     {2, pack(0, 1|layout.KindChunk, 8, 16), 16 << 32},
		"no kind":               {2, pack(0, layout.KindChunk, 8, 0), 16 << 32},
	} {
		v := newVictimOf(t, bad.tasks)
		slots := ringTo(v.writer.peers[1])
		binary.LittleEndian.PutUint64(slots.body(0, 0, 8), bad.place)
		atomic.StoreUint64(slots.head(0), bad.head)
		v.Progress(10)
		if v.messages != 0 || v.failed == nil {
			t.Errorf("%s: %d messages, peer failed: %v", name, v.messages, v.failed)
		}
	}
	for tasks, area := range map[int]uint64{2: layout.ChunkArea, many: layout.ChunkAreaLeast} {
		v := newVictimOf(t, tasks)
		slots := ringTo(v.writer.peers[1])
		binary.LittleEndian.PutUint64(slots.body(0, 0, 8), area-8|8<<32)
		atomic.StoreUint64(slots.head(0), head)
		if v.Progress(10); v.messages != 1 || v.failed != nil {
			t.Errorf("a chunk at the end, %d tasks: %d messages, peer failed: %v",
				tasks, v.messages, v.failed)
		}
	}
}

func TestPolls(t *testing.T) {
	links := newLinks(t, 2)
	if !links[0].Polls(1) {
		t.Error("a task that polls does not seem to poll")
	}
	links[1].SetAway(true)
	if links[0].Polls(1) {
		t.Error("a task that is away seems to poll")
	}
	links[1].SetAway(false)
	links[1].Arm()
	if links[0].Polls(1) {
		t.Error("a task that sleeps seems to poll")
	}
	links[1].Disarm()
	if !links[0].Polls(1) {
		t.Error("a task that is back does not seem to poll")
	}
	_ = links[1].Close()
	if links[0].Polls(1) {
		t.Error("a task that has left seems to poll")
	}
}

// TestPartSizes: parts fit messages, and their sizes lie in the table that the lane reads.
func TestPartSizes(t *testing.T) {
	l := newLinks(t, 1)[0]
	for _, c := range chunkSizes {
		for _, n := range []uint64{c.from, c.from + 1} {
			if got := l.PartSize(n); uint64(got) != c.bytes {
				t.Errorf("%d bytes go in parts of %d, want %d", n, got, c.bytes)
			}
		}
	}
	partsFit(t, l)
}

func partsFit(t *testing.T, l *Link) {
	t.Helper()
	for _, n := range []uint64{0, 1, 1 << 40, 1<<64 - 1} {
		if got := l.PartSize(n); got < layout.ChunkUnit || got > sendMax-headerMax {
			t.Errorf("%d bytes go in parts of %d", n, got)
		}
	}
}

// TestArea: how much of an area is used follows from the caches' sizes.
func TestArea(t *testing.T) {
	const least, most = 256 << 10, 1 << 20
	for _, c := range []struct {
		caches  string // nearest first
		tasks   int
		crowded bool
		want    uint64
	}{
		{"32K 512K 32768K", 2, false, most},
		{"32K 512K 32768K", 4, false, most},
		{"32K 512K 32768K", 2, true, least},
		{"32K 512K 2048K", 2, false, most},
		{"32K 512K 2047K", 2, false, least}, // the other direction's does not fit
		{"32K 512K 8192K", 4, false, least},
		{"48K 1024K 32768K", 2, false, least}, // the own cache holds it
		{"32K 513K 32768K", 2, false, least},
		{"32K 512K", 2, false, least},
		{"32K 0K 32768K", 2, false, least},
		{"32K large 32768K", 2, false, least},
		{"32K 512K 32M", 2, false, least},
		{"", 2, false, least},
	} {
		root := t.TempDir()
		for i, size := range strings.Fields(c.caches) {
			folder := filepath.Join(root, "sys/devices/system/cpu/cpu0/cache/index"+
				string(rune('0'+i)))
			if err := errors.Join(os.MkdirAll(folder, 0o700),
				os.WriteFile(filepath.Join(folder, "type"), []byte("Unified\n"), 0o600),
				os.WriteFile(filepath.Join(folder, "size"), []byte(size+"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got := areaOf(root, c.tasks, c.crowded); got != c.want {
			t.Errorf("caches of %s, %d tasks, crowded %v: %d", c.caches, c.tasks, c.crowded, got)
		}
	}
}
