package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// conns returns two connected Conns.
func conns(t *testing.T) (a, b *Conn) {
	t.Helper()
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	a, err = NewConn(x)
	if err != nil {
		t.Fatal(err)
	}
	b, err = NewConn(y)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// pass sends m from a to b, both in this goroutine, and returns what arrives.
func pass(t *testing.T, a, b *Conn, m Message) Message {
	t.Helper()
	a.Queue(m)
	var s Scratch
	for range 1 << 20 {
		if _, err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		got, ok, err := b.Receive(&s)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return got
		}
	}
	t.Fatal("the message does not arrive")
	return Message{}
}

func TestSizes(t *testing.T) {
	a, b := conns(t)
	for _, n := range []int{0, 1, MaxRecord - 1, MaxRecord, MaxRecord + 1, 10*MaxRecord + 7} {
		data := bytes.Repeat([]byte{byte(n), 2, 3}, n/3+1)[:n]
		got := pass(t, a, b, Message{Kind: Part, Number: uint32(n), Data: data})
		if got.Kind != Part || got.Number != uint32(n) || !bytes.Equal(got.Data, data) ||
			len(got.Files) != 0 {
			t.Errorf("%d bytes arrive as %d", n, len(got.Data))
		}
	}
}

// Descriptors arrive in order, also when they need several records, and are close-on-exec.
func TestFiles(t *testing.T) {
	a, b := conns(t)
	for _, n := range []int{1, MaxRecordFiles, MaxRecordFiles + 1, 600} {
		var files []int
		for i := range n {
			fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Pwrite(fd, binary.LittleEndian.AppendUint32(nil, uint32(i)),
				0); err != nil {
				t.Fatal(err)
			}
			files = append(files, fd)
		}
		got := pass(t, a, b, Message{Kind: Part, Data: []byte("x"), Files: files})
		(&Message{Files: files}).CloseFiles()
		if len(got.Files) != n {
			t.Fatalf("%d files arrive as %d", n, len(got.Files))
		}
		for i, fd := range got.Files {
			var b [4]byte
			if _, err := unix.Pread(fd, b[:], 0); err != nil ||
				binary.LittleEndian.Uint32(b[:]) != uint32(i) {
				t.Fatalf("file %d holds % x, %v", i, b, err)
			}
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil ||
				flags&unix.FD_CLOEXEC == 0 {
				t.Fatalf("file %d: flags %#x, %v", i, flags, err)
			}
		}
		got.CloseFiles()
	}
}

// Messages sent before the other end closed are received, though the closing end left something
// unread.
func TestReadableAfterClose(t *testing.T) {
	a, b := conns(t)
	b.Queue(Message{Kind: Part, Data: []byte("never read")})
	a.Queue(Message{Kind: Leave})
	for _, c := range []*Conn{a, b} {
		if sent, err := c.Flush(); !sent || err != nil {
			t.Fatal(sent, err)
		}
	}
	a.Close()
	var s Scratch
	if m, ok, err := b.Receive(&s); m.Kind != Leave || !ok || err != nil {
		t.Fatalf("%+v %v %v", m, ok, err)
	}
	if _, _, err := b.Receive(&s); err != io.EOF {
		t.Fatalf("error %v, not EOF", err)
	}
	b.Queue(Message{Kind: Leave})
	if _, err := b.Flush(); err != io.EOF {
		t.Fatalf("error %v, not EOF", err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Records that break the protocol are errors, and their descriptors are closed.
func TestMalformedRecords(t *testing.T) {
	h := func(kind Kind, more byte, files byte, number byte) []byte {
		return []byte{Version, byte(kind), more, files, number, 0, 0, 0}
	}
	cases := map[string][][]byte{
		"short":                  {{Version, byte(Part)}},
		"version":                {{Version + 1, byte(Part), 0, 1, 0, 0, 0, 0}},
		"kind 0":                 {h(0, 0, 1, 0)},
		"kind unknown":           {h(lastKind, 0, 1, 0)},
		"more":                   {h(Part, 2, 1, 0)},
		"too many files":         {h(Part, 0, 255, 0)},
		"files announced":        {h(Part, 0, 2, 0)},
		"files not announced":    {h(Part, 0, 0, 0)},
		"message inside message": {h(Part, 1, 1, 0), h(Parts, 0, 1, 0)},
		"round inside round":     {h(Part, 1, 1, 0), h(Part, 0, 1, 1)},
		"too long a record":      {append(h(Part, 0, 1, 0), make([]byte, MaxRecord+1)...)},
	}
	for name, records := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := conns(t)
			before := openFiles(t)
			for _, r := range records {
				if err := sendRecord(a.fd, r, []int{0}, patience); err != nil {
					t.Fatal(err)
				}
			}
			var s Scratch
			m, ok, err := b.Receive(&s)
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%+v %v %v", m, ok, err)
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors open, %d before", after, before)
			}
		})
	}
}

func TestPartsAgain(t *testing.T) {
	all := []Contribution{{2, []byte("two"), []int{20, 21}}, {0, nil, nil},
		{1, []byte{}, []int{10}}}
	data, files := EncodeParts(all)
	got, err := DecodeParts(data, files, 3)
	if err != nil || len(got) != 3 || got[0].Task != 2 || string(got[0].Data) != "two" ||
		len(got[0].Files) != 2 || got[2].Files[0] != 10 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, broken := range map[string]func() ([]Contribution, error){
		"task too high": func() ([]Contribution, error) { return DecodeParts(data, files, 2) },
		"cut": func() ([]Contribution, error) {
			return DecodeParts(data[:len(data)-1],
				files, 3)
		},
		"files missing": func() ([]Contribution, error) { return DecodeParts(data, files[:2], 3) },
		"files too many": func() ([]Contribution, error) {
			return DecodeParts(data,
				append(files, 1), 3)
		},
		"twice": func() ([]Contribution, error) {
			return DecodeParts(append(data, data...),
				files, 3)
		},
	} {
		if got, err := broken(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzParts(f *testing.F) {
	data, _ := EncodeParts([]Contribution{{1, []byte("one"), nil}, {0, nil, []int{3}}})
	f.Add(data, 1, 2)
	f.Fuzz(func(t *testing.T, data []byte, files, numTasks int) {
		if files < 0 || files > 100 || numTasks < 0 || numTasks > 1000 {
			return
		}
		all, err := DecodeParts(data, make([]int, files), numTasks)
		if err != nil {
			return
		}
		again, f := EncodeParts(all)
		if !bytes.Equal(again, data) || len(f) != files {
			t.Fatalf("% x becomes % x", data, again)
		}
	})
}

// FuzzControl gives the reader of control messages what no kernel would: it finds descriptors or an
// error, and reads nothing beside.
func FuzzControl(f *testing.F) {
	f.Add(unix.UnixRights(3, 4))
	f.Add(append(unix.UnixRights(1), unix.UnixRights(2)...))
	f.Add(make([]byte, 24))
	f.Fuzz(func(t *testing.T, control []byte) {
		if files, err := parseFiles(control); err == nil && len(files)*4 > len(control) {
			t.Errorf("%d descriptors in %d bytes", len(files), len(control))
		}
	})
}

// FuzzRecords feeds an assembler with records of any content.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{Version, byte(Part), 1, 0, 0, 0, 0, 0, 1, 2},
		[]byte{Version, byte(Part), 0, 0, 0, 0, 0, 0, 3})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var a assembler
		for _, r := range [][]byte{one, two} {
			m, done, err := a.add(r, nil)
			if done && (m.Kind == 0 || m.Kind >= lastKind) || done && err != nil {
				t.Fatalf("%+v %v", m, err)
			}
		}
	})
}

// TestWhole: a message in several records is refused where nothing may be kept of it.
func TestWhole(t *testing.T) {
	a, b, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	from, _ := NewConn(a)
	to, _ := NewConn(b)
	defer from.Close()
	defer to.Close()
	to.Whole = true
	for _, n := range []int{MaxRecord, MaxRecord + 1} {
		from.Queue(Message{Kind: Hello, Data: make([]byte, n)})
		if _, err := from.Flush(); err != nil {
			t.Fatal(err)
		}
		_, ok, err := to.Receive(new(Scratch))
		if whole := n <= MaxRecord; ok != whole || (err == nil) != whole {
			t.Errorf("%d bytes: %v, %v", n, ok, err)
		}
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add(Greeting{Join, 1, 2, 3, 4}.Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGreeting(b)
		if err == nil && (g.Task >= g.NumTasks || g.Task < 0 || g.Instance < 0 ||
			g.Instance >= MaxInstances) {
			t.Fatalf("%+v", g)
		}
	})
}

// TestOtherRelease: a task with another protocol version learns of it at the socket that it sent.
func TestOtherRelease(t *testing.T) {
	a, b, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	to, _ := NewConn(b)
	defer to.Close()
	waits, _ := NewConn(mine)
	defer waits.Close()
	c := cutter{m: Message{Kind: Hello, Files: []int{theirs}}}
	record, files, _ := c.peek()
	record[0] = Version + 1
	if err := sendRecord(a, record, files, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(theirs)
	unix.Close(a)
	var s Scratch
	if _, _, err := to.Receive(&s); !errors.Is(err, ErrMalformed) ||
		!strings.Contains(err.Error(), "different releases") {
		t.Errorf("another version: %v", err)
	}
	m, ok, err := waits.Receive(&s)
	if err != nil || !ok || m.Kind != Refuse {
		t.Errorf("%+v %v %v, not a refusal", m, ok, err)
	}
}
