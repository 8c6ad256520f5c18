package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

func TestNewRefuses(t *testing.T) {
	many := make([]int, MaxTasks+1)
	for i := range many {
		many[i] = i
	}
	for name, c := range map[string]Config{
		"task not on the node": {Task: 2, NumTasks: 4, Tasks: []int{0, 1}},
		"no tasks":             {Task: 0, NumTasks: 4},
		"twice the same":       {Task: 0, NumTasks: 4, Tasks: []int{0, 1, 1}},
		"negative":             {Task: 0, NumTasks: 4, Tasks: []int{-1, 0}},
		"beyond the job":       {Task: 0, NumTasks: 4, Tasks: []int{0, 4}},
		"too many":             {Task: 0, NumTasks: 200, Tasks: many},
	} {
		if l, err := New(c); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				_ = l.Close()
			}
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestConnectRefuses gives Connect addresses of every kind of wrong, and checks that it closes the
// files all the same.
func TestConnectRefuses(t *testing.T) {
	newOne := func(task int) *Link {
		l, err := New(Config{Task: task, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	mine, theirs, attacker := newOne(0), newOne(1), newOne(1)
	other, err := New(Config{Task: 7, NumTasks: 8, Tasks: []int{7}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	memfd := func(size int64, seal bool) int {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err == nil {
			err = unix.Ftruncate(fd, size)
		}
		if err == nil && seal {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		}
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	patch := func(offset int, v uint32) func(*transport.Address) {
		return func(a *transport.Address) {
			binary.LittleEndian.PutUint32(a.Bytes[len(addressMagic)+offset:], v)
		}
	}
	replace := func(i int, fd func() int) func(*transport.Address) {
		return func(a *transport.Address) { _ = unix.Close(a.Files[i]); a.Files[i] = fd() }
	}
	right := int64(segmentSize(2))
	cases := map[string]func(*transport.Address){
		"no bytes":      func(a *transport.Address) { a.Bytes = nil },
		"short":         func(a *transport.Address) { a.Bytes = a.Bytes[:20] },
		"other magic":   func(a *transport.Address) { a.Bytes[0] = 'X' },
		"other version": patch(0, 99),
		"other slots":   patch(4, 128),
		"other rings":   patch(8, 64),
		"other node":    patch(12, 3),
		"unknown task":  patch(16, 5),
		"other segment": func(a *transport.Address) { a.Bytes = attacker.Address().Bytes },
		"another node's link": func(a *transport.Address) {
			for _, fd := range a.Files {
				_ = unix.Close(fd)
			}
			*a = pass(t, other.Address())
		},
		"truncated segment": replace(0, func() int { return memfd(4096, true) }),
		"empty segment":     replace(0, func() int { return memfd(0, true) }),
		"unsealed segment":  replace(0, func() int { return memfd(right, false) }),
		"segment of zeros":  replace(0, func() int { return memfd(right, true) }),
		"no memory file": replace(0, func() int {
			return pass(t, transport.Address{Files: []int{mine.bell}}).Files[0]
		}),
		"one file": func(a *transport.Address) {
			_ = unix.Close(a.Files[1])
			a.Files = a.Files[:1]
		},
	}
	before := openFiles(t)
	for name, spoil := range cases {
		a := pass(t, theirs.Address())
		spoil(&a)
		if err := mine.Connect(1, a); err == nil {
			t.Errorf("%s: connected", name)
		}
		if n := openFiles(t); n != before {
			t.Fatalf("%s: %d files are open, were %d", name, n, before)
		}
	}
	for _, ep := range []transport.Endpoint{-1, 2} {
		if err := mine.Connect(ep,
			pass(t, theirs.Address())); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("endpoint %d: %v", ep, err)
		}
	}
	if err := mine.Connect(1, pass(t, theirs.Address())); err != nil {
		t.Fatalf("the right address after all the wrong ones: %v", err)
	}
	if err := mine.Connect(0, pass(t, theirs.Address())); !errors.Is(err, transport.ErrBadParam) {
		t.Errorf("one task at two endpoints: %v", err)
	}
	mine.Disconnect(1, transport.ErrUnreachable)
	if err := mine.Connect(1, pass(t, theirs.Address())); !errors.Is(err, transport.ErrBadParam) {
		t.Errorf("a second time: %v", err)
	}
}

// TestNothingLeft: after Close no file and no mapping is left.
func TestNothingLeft(t *testing.T) {
	mappings := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(maps, []byte("lapi-shm"))
	}
	files, maps := openFiles(t), mappings()
	t.Run("links", func(t *testing.T) {
		links := newLinks(t, 5)
		links[3].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Refuse })
		mustSend(t, links[0], 3, 1, word(1), nil)
		links[3].Progress(10)
		if mappings() == maps || openFiles(t) == files {
			t.Error("nothing is open: nothing tested")
		}
	})
	if n := openFiles(t); n != files {
		t.Errorf("%d files are open, were %d", n, files)
	}
	if n := mappings(); n != maps {
		t.Errorf("%d segments are mapped, were %d", n, maps)
	}
}

// TestClosedPeer: a Send to a link that has closed fails; a flush ends.
func TestClosedPeer(t *testing.T) {
	links := newLinks(t, 2)
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	mustSend(t, links[0], 1, 1, nil, nil)
	var flushErr error
	flush := transport.Op{Done: func(_ *transport.Op, err error) { flushErr = err }}
	if status, err := links[0].Flush(1, &flush); status != transport.Queued || err != nil {
		t.Fatalf("Flush: %d, %v", status, err)
	}
	if err := links[1].Close(); err != nil {
		t.Fatal(err)
	}
	links[0].Progress(1)
	if flushErr != transport.ErrUnreachable {
		t.Errorf("a flush to a closed peer: %v", flushErr)
	}
	if _, err := links[0].Send(1, 1, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send to a closed peer: %v", err)
	}
	for range ringSlots + 1 { // also when its ring is full
		if _, err := links[0].Send(1, 1, nil, &transport.Op{}); err != transport.ErrUnreachable {
			t.Fatalf("Send to a closed peer: %v", err)
		}
	}
}

// TestHeldIsBounded refuses everything: some of it is held, then the ring is full, and Send reports
// that.
func TestHeldIsBounded(t *testing.T) {
	links := newLinks(t, 2)
	accept := false
	next := uint64(0)
	seen := map[uint64]bool{}
	links[1].Handle(1, func(m *transport.Msg) transport.Verdict {
		if !accept {
			return transport.Refuse
		}
		seen[binary.LittleEndian.Uint64(m.Hdr)] = true
		return transport.Accept
	})
	data := userMemory(t, 4096)
	op := transport.Op{Local: memory.AddrOf(data), N: 4096}
	for busy := 0; busy < 100; {
		_, err := links[0].Send(1, 1, word(next), &op)
		switch err {
		case nil:
			next++
			busy = 0
		case transport.ErrBusy:
			busy++
			links[1].Progress(16)
		default:
			t.Fatal(err)
		}
		if next > 100_000 {
			t.Fatal("refused messages are held without bound")
		}
	}
	if held := links[1].rings[0].held.Bytes(); held < heldMax || held > heldMax+16384 {
		t.Errorf("%d bytes are held, the bound is %d", held, heldMax)
	}
	accept = true
	until(t, "all messages", func() bool { return len(seen) == int(next) },
		func() { links[1].Progress(64) })
}

// TestColdRing lets rings go cold and checks that they wake up, with and without the receiver
// asleep.
func TestColdRing(t *testing.T) {
	links := newLinks(t, hotTasks+2)
	got := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	for round := range 3 {
		until(t, "cold rings", func() bool { return links[1].node.NumActive == 0 },
			func() { links[1].Progress(1) })
		if round == 2 && links[1].Arm() {
			t.Fatal("a silent link would not sleep")
		}
		for _, from := range []int{0, 3, 1} {
			got = 0
			mustSend(t, links[from], 1, 1, nil, nil)
			if round == 2 && !links[1].Arm() {
				t.Errorf("round %d: a message in a cold ring is not seen before sleep", round)
			}
			links[1].Progress(1)
			links[1].Progress(1)
			if got != 1 {
				t.Errorf("round %d: a message in the cold ring of %d did not come", round, from)
			}
		}
		if links[1].node.NumActive != 3 {
			t.Errorf("round %d: %d rings are active, want 3", round, links[1].node.NumActive)
		}
	}
}

// TestWakeOnRoomAndFlush: one who sleeps until there is room, or until a flush is done, is woken by
// the receiver.
func TestWakeOnRoomAndFlush(t *testing.T) {
	links := newLinks(t, 2)
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	bell := []unix.PollFd{{Fd: int32(links[0].bell), Events: unix.POLLIN}}
	woken := func() bool {
		n, err := unix.Poll(bell, 0)
		return err == nil && n == 1
	}
	for round := range 20 {
		var flushed bool
		op := transport.Op{}
		if round%2 == 0 {
			for {
				if _, err := links[0].Send(1, 1, nil, &op); err == transport.ErrBusy {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		} else {
			mustSend(t, links[0], 1, 1, nil, nil)
			op.Done = func(*transport.Op, error) { flushed = true }
			if status, err := links[0].Flush(1, &op); status != transport.Queued || err != nil {
				t.Fatalf("Flush: %d, %v", status, err)
			}
		}
		if links[0].Arm() {
			t.Fatal("nothing has happened, and the link would not sleep")
		}
		if woken() {
			t.Fatal("the bell rings although nothing has happened")
		}
		links[1].Progress(1000)
		if !woken() {
			t.Fatalf("round %d: not woken", round)
		}
		links[0].Disarm()
		if woken() {
			t.Fatal("Disarm has not read the bell")
		}
		links[0].Progress(1)
		if round%2 == 0 {
			if _, err := links[0].Send(1, 1, nil, &op); err != nil {
				t.Errorf("woken, and no room: %v", err)
			}
			links[1].Progress(1)
		} else if !flushed {
			t.Error("woken, and the flush is not done")
		}
	}
}

// TestDirectPieces moves more than one system call is asked for, into and out of ranges of which a
// part is bad.
func TestDirectPieces(t *testing.T) {
	links := newLinks(t, 2)
	if !links[0].CanDirect(1) {
		t.Skip("cross-memory attach is not permitted here")
	}
	page := uint64(os.Getpagesize())
	source, sink := userMemory(t, 30*int(page)), userMemory(t, 30*int(page))
	for i := range source {
		source[i] = byte(i * 7 / 3)
	}
	op := transport.Op{Local: memory.AddrOf(source), Remote: memory.AddrOf(sink),
		N: uint64(len(source))}
	if _, err := links[0].Put(1, &op); err != nil || string(source) != string(sink) {
		t.Fatalf("Put in pieces: %v", err)
	}
	clear(source)
	if _, err := links[0].Get(1, &op); err != nil || string(source) != string(sink) {
		t.Fatalf("Get in pieces: %v", err)
	}
	const hole = 17
	for _, local := range []bool{true, false} {
		bad := sink
		if local {
			bad = source
		}
		if err := unix.Mprotect(bad[hole*page:(hole+1)*page], unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func(transport.Endpoint,
			*transport.Op) (transport.Status, error){"Put": links[0].Put, "Get": links[0].Get} {
			_, err := f(1, &op)
			var fault *transport.FaultError
			if !errors.As(err, &fault) || fault.Remote == local ||
				fault.Addr != memory.AddrOf(bad)+transport.Addr(hole*page) {
				t.Errorf("%s with a hole, local %v: %v", name, local, err)
			}
		}
		if err := unix.Mprotect(bad[hole*page:(hole+1)*page],
			unix.PROT_READ|unix.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
	}
	// A local page that can be read but not written: the fault of a get is here, a put goes
	// through.
	if err := unix.Mprotect(source[:page], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	var fault *transport.FaultError
	if _, err := links[0].Get(1, &op); !errors.As(err, &fault) || fault.Remote ||
		fault.Addr != op.Local {
		t.Errorf("Get into a read-only page: %v", err)
	}
	if _, err := links[0].Put(1, &op); err != nil {
		t.Errorf("Put from a read-only page: %v", err)
	}
}

// TestNoAllocation: none for sends, receipts, refusals, direct copies, sleeps and wake-ups.
func TestNoAllocation(t *testing.T) {
	links := newLinks(t, 2)
	refuse := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict {
		if refuse++; refuse%3 == 0 {
			return transport.Refuse
		}
		return transport.Accept
	})
	data := userMemory(t, 8192)
	op := transport.Op{Local: memory.AddrOf(data), Remote: memory.AddrOf(data[4096:]), N: 4000}
	long := transport.Op{Local: memory.AddrOf(data), N: 8000}
	flush := transport.Op{Done: func(*transport.Op, error) {}}
	hdr := make([]byte, 40)
	round := func() {
		_ = links[1].Arm()
		if _, err := links[0].Send(1, 1, hdr, &op); err != nil {
			t.Fatal(err)
		}
		if _, err := links[0].Send(1, 1, hdr, &long); err != nil {
			t.Fatal(err)
		}
		if links[0].CanDirect(1) {
			if _, err := links[0].Put(1, &op); err != nil {
				t.Fatal(err)
			}
		}
		status, err := links[0].Flush(1, &flush)
		if err != nil {
			t.Fatal(err)
		}
		_ = links[0].Arm()
		links[1].Disarm()
		for done := status == transport.Done; !done; done = len(links[0].waiting) == 0 {
			links[1].Progress(16)
			links[0].Progress(16)
		}
		links[0].Disarm()
	}
	for range 50 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations for each round", n)
	}
}

// TestHeadWord: C writes what pack says, and a sequence is never 0 nor that of the round before.
func TestHeadWord(t *testing.T) {
	for _, index := range []uint64{0, 1, ringSlots, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32,
		1<<40 + 5} {
		links := newLinks(t, 2)
		sender := &links[0].peers[1].node.Sender
		sender.Tail, sender.Consumed = index, index
		mustSend(t, links[0], 1, 31, make([]byte, 24), make([]byte, 5))
		head := atomic.LoadUint64(ringTo(links[0].peers[1]).head(index & ringMask))
		if head != pack(index, 31, 24, 5) {
			t.Errorf("index %d: %#x, want %#x", index, head, pack(index, 31, 24, 5))
		}
		if uint32(head) == 0 || uint32(head) == uint32(pack(index+ringSlots, 31, 24, 5)) {
			t.Errorf("index %d has no sequence of its own", index)
		}
	}
}

// TestDataLikeHeads fills long messages with what would be head words of the next round, where the
// slots begin, and sends short ones over them in that round: the receiver must not take the remains
// for messages.
func TestDataLikeHeads(t *testing.T) {
	links := newLinks(t, 2)
	var got, next uint64
	links[1].Handle(1, func(m *transport.Msg) transport.Verdict {
		if len(m.Hdr) != 8 || binary.LittleEndian.Uint64(m.Hdr) != next {
			t.Fatalf("what comes as message %d has header % x", next, m.Hdr)
		}
		next++
		got++
		return transport.Accept
	})
	data := userMemory(t, 4096)
	sender := &links[0].peers[1].node.Sender
	sent := uint64(0)
	send := func(n int) {
		position := sender.Tail & ringMask
		if slots := (8 + 8 + uint64(n) + slotSize - 1) / slotSize; position+slots > ringSlots {
			position = 0
		}
		round := sender.Tail - sender.Tail&ringMask + ringSlots
		// the data begins 16 bytes after the first slot
		for i := slotSize - 16; i+8 <= n; i += slotSize {
			slot := position + uint64(i+16)/slotSize
			binary.LittleEndian.PutUint64(data[i:], pack(round+slot, 1, 0, 0))
		}
		mustSend(t, links[0], 1, 1, word(sent), data[:n])
		sent++
		links[1].Progress(100)
		if got != sent {
			t.Fatalf("%d messages sent, %d came", sent, got)
		}
	}
	for round := range 40 {
		for range 20 {
			send(layout.InlineMax - 16*(round%7))
		}
		for sender.Tail&ringMask < ringSlots-1-uint64(round%3) {
			send(round % 50)
		}
		for range 100 + round {
			send(8)
		}
	}
}
