package rendezvous

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lapi/core/job/proved"
	"lapi/invariant"
)

// TestRefused: a process that does not belong to the job gets the reason, task 0 reports it, and
// the job meets as if nobody had come.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		keyless  bool
		task, of int
		change   func(*rendezvous)
		told     []string // to the process
		says     []string // task 0
	}{
		{"partition", false, 1, 2, func(r *rendezvous) {
			r.Partition, r.partition = "other", digest{}
		}, []string{`MP_PARTITION="other"`, `MP_PARTITION="4711"`},
			[]string{`MP_PARTITION="other"`, `MP_PARTITION="4711"`}},
		{"partition, no key", true, 1, 2, func(r *rendezvous) {
			r.Partition, r.partition = "other", digest{}
		}, []string{`another MP_PARTITION than "other"`},
			[]string{`MP_PARTITION="other"`, `MP_PARTITION="4711"`}},
		{"size", false, 2, 3, nil, []string{"MP_PROCS=3", "MP_PROCS=2"}, []string{"MP_PROCS=3"}},
		{"first", false, 1, 2, func(r *rendezvous) { r.Task = 0 },
			[]string{"MP_CHILD=0", "127."}, []string{"MP_CHILD=0"}},
		{"number", false, 1, 2, func(r *rendezvous) { r.Task = 2 },
			[]string{"MP_CHILD=2", "MP_PROCS=2"}, []string{"MP_CHILD=2"}},
		{"version", false, 1, 2, func(r *rendezvous) { r.version = 9 },
			[]string{"version 2 ", "version 9"}, []string{"version 9", "version 2"}},
		{"version, no key", true, 1, 2, func(r *rendezvous) { r.version = 9 },
			[]string{"version 2 ", "version 9"}, []string{"version 9", "version 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := freeAddress(t)
			var words said
			of := func(g *Config) {
				if g.Say = words.say; c.keyless {
					g.Key = nil
				}
			}
			zero := begin(mustOpen(t, config(address, 0, 2, of)), card(0))
			other := mustOpen(t, config(address, c.task, c.of, func(g *Config) {
				of(g)
				g.Say = nil
			}))
			if c.change != nil {
				c.change(other)
			}
			_, err := other.call(other.ctx, card(1)) // not Exchange, which knows the task's number
			if err == nil {
				t.Fatal("it is not refused")
			}
			for _, w := range c.told {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("it hears %q, without %q", err, w)
				}
			}
			if c.keyless && strings.Contains(err.Error(), "4711") {
				t.Errorf("it hears the partition's name: %q", err)
			}
			for _, w := range c.says {
				words.await(t, w)
			}
			one := begin(mustOpen(t, config(address, 1, 2, of)), card(1))
			met(t, zero, card(0), card(1))
			met(t, one, card(0), card(1))
		})
	}
}

func TestDuplicate(t *testing.T) {
	address := freeAddress(t)
	h := newHosted(t, address, 3, func(r *rendezvous) { r.pauses.duplicate = time.Millisecond })
	one := begin(mustOpen(t, config(address, 1, 3, nil)), card(1))
	awaitMissing(t, h.host, 1)
	refused(t, begin(mustOpen(t, config(address, 1, 3, nil)), card(1)), "the processes at 127.",
		" and 127.", "both have MP_CHILD=1")
	h.words.await(t, "both have MP_CHILD=1")
	two := begin(mustOpen(t, config(address, 2, 3, nil)), card(2))
	for _, end := range []<-chan outcome{h.end, one, two} {
		met(t, end, card(0), card(1), card(2))
	}
}

// TestWrongKey: a process without the key gets nothing from task 0, and a task 0 without it is not
// trusted.
func TestWrongKey(t *testing.T) {
	other := bytes.Repeat([]byte{1}, len(key))
	for _, c := range []struct {
		name  string
		key   []byte
		words string
	}{
		{"other", other, "does not prove that it has this job's key"},
		{"none", nil, "task 0 has a job key, task 1 has none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := freeAddress(t)
			h := newHosted(t, address, 2, nil)
			var words said
			wrong := mustOpen(t, config(address, 1, 2, func(g *Config) {
				g.Key, g.Timeout, g.Say = c.key, 200*time.Millisecond, words.say
			}))
			refused(t, begin(wrong, card(1)), c.words, "LAPI_JOB_KEY_FILE")
			if c.key != nil {
				words.await(t, "does not prove")
			}
			one := begin(mustOpen(t, config(address, 1, 2, nil)), card(1))
			met(t, h.end, card(0), card(1))
			met(t, one, card(0), card(1))
		})
	}
	t.Run("task 0 has none", func(t *testing.T) {
		address := freeAddress(t)
		var words said
		zero := mustOpen(t, config(address, 0, 2, func(g *Config) {
			g.Key, g.Say = nil, words.say
		}))
		end := begin(zero, card(0))
		refused(t, begin(mustOpen(t, config(address, 1, 2, func(g *Config) {
			g.Timeout = 200 * time.Millisecond
		})), card(1)), "does not prove", "it has none")
		words.await(t, "has a job key, task 0 has none")
		zero.Abort(0)
		refused(t, end, "aborted")
	})
	// A program that goes on whatever task 0 says.
	for _, wrong := range [][]byte{other, nil} {
		address := freeAddress(t)
		h := newHosted(t, address, 2, nil)
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := proved.New(c, wrong, proved.ToHost)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Greet(proved.NewOpening(version, true)); err != proved.ErrUnproved {
			t.Fatalf("task 0 proves a key that it does not have: %v", err)
		}
		said := hello{task: 1, numTasks: 2, partition: h.partition, card: card(1)}
		if err := s.Send(kindHello, proved.NewContent(said.encode())); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(s); err != nil || len(rest) > 0 {
			t.Fatalf("it hears %q, %v", rest, err)
		}
		h.words.await(t, "is dropped")
		awaitMissing(t, h.host, 1)
	}
}

// proxy stands between the tasks and task 0, and keeps or changes what they say.
type proxy struct {
	net.Listener
	mu     sync.Mutex
	bytes  [2][]byte // of the first connection: to task 0, and from it
	change func(dir int, at int, b []byte)
	work   invariant.Group
}

func newProxy(t *testing.T, target string, change func(dir, at int, b []byte)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, change: change}
	p.work.Go(func() {
		for first := true; ; first = false {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			p.work.Go(func() { p.pass(0, out, in, first) })
			p.work.Go(func() { p.pass(1, in, out, first) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.work.Wait()
	})
	return p
}

func (p *proxy) pass(dir int, to, from net.Conn, first bool) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 4096)
	for at := 0; ; {
		n, err := from.Read(b)
		if first {
			p.mu.Lock()
			p.bytes[dir] = append(p.bytes[dir], b[:n]...)
			p.mu.Unlock()
			if p.change != nil {
				p.change(dir, at, b[:n])
			}
		}
		at += n
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// record is what two tasks said to each other.
func record(t *testing.T) [2][]byte {
	t.Helper()
	address := freeAddress(t)
	p := newProxy(t, address, nil)
	zero := begin(mustOpen(t, config(address, 0, 2, nil)), card(0))
	one := begin(mustOpen(t, config(p.Addr().String(), 1, 2, nil)), card(1))
	met(t, zero, card(0), card(1))
	met(t, one, card(0), card(1))
	p.Close()
	p.work.Wait()
	return p.bytes
}

// TestReplay: what was said once is worth nothing in another conversation.
func TestReplay(t *testing.T) {
	said := record(t)
	if len(said[0]) < proved.OpeningSize+proved.HeadSize || len(said[1]) < proved.ChallengeSize {
		t.Fatalf("recorded %d and %d bytes", len(said[0]), len(said[1]))
	}
	address := freeAddress(t)
	h := newHosted(t, address, 2, nil)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// All but the bye, so that task 0 closes in order.
	c.Write(said[0][:len(said[0])-proved.HeadSize])
	answer, err := io.ReadAll(c)
	if err != nil || len(answer) != proved.ChallengeSize {
		t.Fatalf("task 0 answers %d bytes, %v", len(answer), err)
	}
	h.words.await(t, "is dropped")
	awaitMissing(t, h.host, 1)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write(said[1])
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	refused(t, begin(mustOpen(t, config(l.Addr().String(), 1, 2, func(c *Config) {
		c.Timeout = 200 * time.Millisecond
	})), card(1)), "does not prove")
}

// TestAltered: whatever bit is turned on the way, what the tasks get is what the others gave.
func TestAltered(t *testing.T) {
	lengths := record(t)
	for dir, name := range []string{"to task 0", "from task 0"} {
		for range 40 {
			bit := rand.IntN(8 * len(lengths[dir]))
			address := freeAddress(t)
			p := newProxy(t, address, func(d, at int, b []byte) {
				if i := bit/8 - at; d == dir && i >= 0 && i < len(b) {
					b[i] ^= 1 << (bit % 8)
				}
			})
			h := newHosted(t, address, 2, func(r *rendezvous) {
				r.pauses.stranger, r.pauses.again = 50*time.Millisecond, guard
			})
			r := mustOpen(t, config(p.Addr().String(), 1, 2, nil))
			r.pauses.stranger = 50 * time.Millisecond // where a length was changed
			if dir == 0 && bit/8 >= len(lengths[0])-proved.HeadSize {
				// A bye that does not prove: the task has all, and task 0 cannot know.
				met(t, begin(r, card(1)), card(0), card(1))
				h.Abort(0)
				if o := await(t, h.end); o.err == nil {
					t.Fatalf("bit %d %s: a changed bye is taken", bit, name)
				}
				continue
			}
			one := begin(r, card(1))
			if dir == 1 && isLength(bit/8) {
				// More is announced than comes: the task waits, as for a slow network.
				r.Abort(0)
				if o := await(t, one); o.err == nil &&
					!slices.EqualFunc(o.cards, [][]byte{card(0), card(1)}, bytes.Equal) {
					t.Fatalf("bit %d %s: cards %q", bit, name, o.cards)
				}
				h.Abort(0)
				await(t, h.end)
				continue
			}
			met(t, one, card(0), card(1))
			met(t, h.end, card(0), card(1))
		}
	}
}

// isLength: the byte is of the length of the message with the cards.
func isLength(at int) bool {
	const from = proved.ChallengeSize + 4
	return at >= from && at < from+4
}

// garbage is what programs send that are no tasks.
func garbage() [][]byte {
	long := proved.NewOpening(version, true)
	first := long.Encode()
	head := append(slices.Clone(first), byte(kindHello), 0, 0, 0)
	all := [][]byte{nil, {0}, []byte("GET / HTTP/1.1\r\n\r\n"), first, first[:20],
		binary.LittleEndian.AppendUint32(head, 1<<32-1),
		append(binary.LittleEndian.AppendUint32(head, maxHello), make([]byte, 40+maxHello)...),
		append(slices.Clone(head), make([]byte, 100)...)}
	for range 20 {
		b := make([]byte, rand.IntN(300))
		for i := range b {
			b[i] = byte(rand.Int())
		}
		if rand.IntN(2) == 0 {
			b = append(slices.Clone(first), b...)
		}
		all = append(all, b)
	}
	return all
}

// TestStrangers: more of them than there are places, some of which say nothing, delay no task, and
// get nothing but the challenge.
func TestStrangers(t *testing.T) {
	address := freeAddress(t)
	h := newHosted(t, address, 3, func(r *rendezvous) { r.pauses.stranger = guard })
	one := begin(mustOpen(t, config(address, 1, 3, nil)), card(1))
	awaitMissing(t, h.host, 1)
	var all []net.Conn
	dial := func(b []byte) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.Write(b)
		all = append(all, c)
	}
	for range spare + 20 {
		dial(nil)
	}
	for _, b := range garbage() {
		dial(b)
	}
	for range 2 * spare {
		dial(nil)
	}
	h.mu.Lock()
	most := len(h.visitors)
	h.mu.Unlock()
	if most > 3+spare {
		t.Errorf("%d connections at once", most)
	}
	two := begin(mustOpen(t, config(address, 2, 3, nil)), card(2))
	for _, end := range []<-chan outcome{h.end, one, two} {
		met(t, end, card(0), card(1), card(2))
	}
	for _, c := range all {
		if b, _ := io.ReadAll(c); len(b) > proved.ChallengeSize {
			t.Errorf("a stranger gets %d bytes", len(b))
		}
	}
	if n := strings.Count(h.words.String(), "\n"); n > maxTold+1 {
		t.Errorf("%d sentences", n)
	}
}

// TestSilent: a connection that says nothing is closed.
func TestSilent(t *testing.T) {
	address := freeAddress(t)
	h := newHosted(t, address, 2, func(r *rendezvous) { r.pauses.stranger = 20 * time.Millisecond })
	for _, b := range [][]byte{nil, []byte("LAPI"), (&proved.Opening{Version: version}).Encode()} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write(b)
		c.SetReadDeadline(time.Now().Add(guard))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("not closed: %v", err)
		}
	}
	eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.visitors) == 0
	}, func() string { return "they are kept" })
	one := begin(mustOpen(t, config(address, 1, 2, nil)), card(1))
	met(t, h.end, card(0), card(1))
	met(t, one, card(0), card(1))
}
