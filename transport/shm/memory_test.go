package shm

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// resident is how much memory the kernel has given to the links' segments, bytes.
func resident(t *testing.T, links ...*Link) (n uint64) {
	t.Helper()
	for _, l := range links {
		var stat unix.Stat_t
		if err := unix.Fstat(l.own.file, &stat); err != nil {
			t.Fatal(err)
		}
		n += uint64(stat.Blocks) * 512
	}
	return n
}

// putAll has every link put n bytes into every other one's memory, and all of it arrive.
func putAll(t *testing.T, links []*Link, n uint64, data []byte) {
	t.Helper()
	for i, l := range links {
		for j := range links {
			op := transport.Op{Local: memory.AddrOf(data), Remote: memory.AddrOf(data[n:]), N: n,
				Route: transport.RouteMessages}
			if i == j {
				continue
			}
			if _, err := l.PutNotice(transport.Endpoint(j), &op); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, l := range links {
		for l.Progress(1024) > 0 {
		}
	}
}

// TestMemoryOfChunks: in an all-to-all of 1 KiB each pair of tasks takes the memory of the data in
// flight, one page of chunks and its ring, however long that goes on. SHM_TASKS: with how many
// tasks (128 take a minute).
func TestMemoryOfChunks(t *testing.T) {
	tasks := 16
	if s, ok := os.LookupEnv("SHM_TASKS"); ok {
		tasks, _ = strconv.Atoi(s)
	}
	links := newLinks(t, tasks)
	data := userMemory(t, 1<<20)
	before := resident(t, links...)
	for range 300 {
		putAll(t, links, 1024, data)
	}
	pairs := uint64(tasks * (tasks - 1))
	got := resident(t, links...) - before
	if most := pairs*(ringSize+layout.PageSize()) + uint64(tasks)*2*layout.PageSize(); got > most {
		t.Errorf("%d tasks take %d KiB, %d KiB for each pair; want %d KiB at most", tasks, got>>10,
			got>>10/pairs, most>>10)
	}
	t.Logf("%d tasks: %d MiB", tasks, got>>20)
}

// TestMemoryIsGivenBack: the memory of a burst is given back once the burst is consumed and nothing
// follows, by a task that polls and by a task that sleeps; and then everything works as before. Of
// a pair of tasks that do not talk no memory is touched.
func TestMemoryIsGivenBack(t *testing.T) {
	for _, sleeps := range []bool{false, true} {
		now := time.Hour
		links := newLinks(t, 3, func(c *Config) { c.Clock = func() int64 { return int64(now) } })
		a, b := links[0], links[1]
		data := userMemory(t, 1<<20)
		silent := resident(t, links[2])
		before := resident(t, b)
		for range 3 {
			burst(t, a, b, data)
			if grown := resident(t, b) - before; grown < 500<<10 {
				t.Fatalf("a burst of 512 KiB takes %d bytes", grown)
			}
			for range 30 {
				now += 100 * time.Millisecond
				if sleeps {
					if !a.Arm() && a.NextTimeout() != 0 {
						now = time.Duration(a.NextTimeout())
					}
					a.Disarm()
				}
				for range lookTurns {
					a.Progress(64)
				}
			}
			if left := resident(t, b) - before; left > ringSize+2*layout.PageSize() {
				t.Errorf("sleeps %v: %d KiB are kept", sleeps, left>>10)
			}
		}
		if got := resident(t, links[2]); got != silent {
			t.Errorf("the segment of a task that nobody talks to went from %d to %d bytes", silent,
				got)
		}
	}
}

// burst has a send b messages of 32 KiB, 512 KiB in flight, and b check them.
func burst(t *testing.T, a, b *Link, data []byte) {
	t.Helper()
	got := 0
	b.Handle(1, func(m *transport.Msg) transport.Verdict {
		if len(m.Data) != 32<<10 || m.Data[0] != byte(got) || m.Data[len(m.Data)-1] != byte(got) {
			t.Errorf("message %d: %d bytes, of %d and %d", got, len(m.Data), m.Data[0],
				m.Data[len(m.Data)-1])
		}
		got++
		return transport.Accept
	})
	for i := range 16 {
		part := data[:32<<10]
		for k := range part {
			part[k] = byte(i)
		}
		mustSend(t, a, 1, 1, nil, part)
	}
	for b.Progress(64) > 0 {
	}
	if got != 16 {
		t.Fatalf("%d messages came", got)
	}
}

// TestDeadPeersMemory: the memory that a dead task has left in a segment is released when its slot
// is made ready for another.
func TestDeadPeersMemory(t *testing.T) {
	links := newLinks(t, 2)
	a, b := links[0], links[1]
	before := resident(t, b)
	burst(t, a, b, userMemory(t, 1<<20))
	b.Disconnect(0, transport.ErrUnreachable)
	if err := b.Reset(0); err != nil {
		t.Fatal(err)
	}
	if left := resident(t, b) - before; left > ringSize+layout.PageSize() {
		t.Errorf("%d KiB are left", left>>10)
	}
}
