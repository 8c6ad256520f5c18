package udp

import (
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/recovery"
)

// simNet is a network with several paths between machines, in virtual time. Packets that come to a
// task by a path go through one bottleneck with a queue; so a path has a rate, a delay and losses,
// and many origins share the way to one target.
type simNet struct {
	t       testing.TB
	now     int64
	ms      []*Machine
	links   [][]simLink // by task and path: the way there
	queue   arrivals
	serial  int
	random  *rand.Rand
	failed  []error
	changes int
	buffer  []byte
	asleep  []int64 // by task: it does not run before; nil: all run
	got     []int   // messages by task
	sentBy  [MaxPaths]int
	pings   func(to int) // a message of kind 2 has come
}

// simLink is the way to a task by one path.
type simLink struct {
	delay time.Duration
	rate  int64   // bytes a second; 0: no limit
	queue int     // bytes that may wait
	loss  float64 // of packets, 0 to 1
	// that packets take longer than delay, at most: so they overtake each other
	spread  time.Duration
	cut     func(from int) bool
	mtu     int   // longer packets vanish; 0: none do
	tells   bool  // and the kernel learns of it
	free    int64 // when the last packet is through
	told    int   // the MTU that the kernel has learned
	tooLong int
	lost    int
	sent    int
}

type arrival struct {
	at       int64
	serial   int
	to       int
	path     Path
	fromAddr netip.AddrPort
	b        []byte
	call     func() // in place of a packet: something else of the network's
}

type arrivals []arrival

func (e arrivals) Len() int { return len(e) }
func (e arrivals) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e arrivals) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *arrivals) Push(x any)   { *e = append(*e, x.(arrival)) }
func (e *arrivals) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type linkOutlet struct {
	r *simNet
	i int
}

func linkAddr(task, path int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(path), 0, byte(task)}), 99)
}

func (o linkOutlet) Transmit(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	r := o.r
	b := make([]byte, len(head)+n)
	copy(b, head)
	if memory.CopyOut(b[len(head):], data) != nil {
		return Fault
	}
	ip := to.Addr().As4()
	task := int(ip[3])
	w := &r.links[task][path]
	r.sentBy[path] += len(b)
	w.sent++
	if int(ip[1]) != int(path) || w.cut != nil && w.cut(o.i) || r.random.Float64() < w.loss {
		w.lost++
		return Sent
	}
	if w.mtu > 0 && len(b) > w.mtu {
		w.tooLong++
		if w.tells {
			w.told = w.mtu
		}
		return Sent
	}
	if at, ok := r.carry(w, len(b)); ok {
		r.push(arrival{at: at, to: task, path: path, fromAddr: linkAddr(o.i, int(path)), b: b})
	}
	return Sent
}

// carry takes bytes into w now. It says when they are there; false: the queue is full.
func (r *simNet) carry(w *simLink, bytes int) (at int64, ok bool) {
	at = r.now + int64(w.delay)
	if w.rate > 0 {
		wait := max(w.free-at, 0)
		if int(wait*w.rate/1e9) > w.queue {
			w.lost++
			return 0, false
		}
		w.free = max(w.free, at) + int64(bytes)*1e9/w.rate
		at = w.free
	}
	if w.spread > 0 {
		at += r.random.Int64N(int64(w.spread))
	}
	return at, true
}

func (r *simNet) push(a arrival) {
	r.serial++
	a.serial = r.serial
	heap.Push(&r.queue, a)
}

// newSimNet makes tasks with an address for each of ways, which describe the way to every task.
func newSimNet(t testing.TB, tasks int, set func(c *Config), ways ...simLink) *simNet {
	t.Helper()
	memory.Guard()
	r := &simNet{t: t, now: 1000, random: rand.New(rand.NewPCG(1, 2)), buffer: userMemory(t, 1<<17),
		got: make([]int, tasks)}
	for i := range tasks {
		r.links = append(r.links, append([]simLink(nil), ways...))
		c := Config{Task: i, NumTasks: tasks, Key: []byte("key"), Partition: "test",
			PacketSize: 1472, ReceiveBuffer: 1 << 20, CopyMax: 128,
			Timeout: time.Minute, Random: r.random.Uint64, Locals: make([]Local, len(ways))}
		c.PeerFailed = func(_ transport.Endpoint, err error) { r.failed = append(r.failed, err) }
		c.PathChanged = func(transport.Endpoint, Path, bool) { r.changes++ }
		if set != nil {
			set(&c)
		}
		m, err := NewMachine(c, linkOutlet{r, i})
		if err != nil {
			t.Fatal(err)
		}
		m.Handle(1, func(*transport.Msg) transport.Verdict { r.got[i]++; return transport.Accept })
		m.Handle(2, func(*transport.Msg) transport.Verdict { r.pings(i); return transport.Accept })
		r.ms = append(r.ms, m)
		t.Cleanup(m.Close)
	}
	for i, m := range r.ms {
		for j := range r.ms {
			if i == j {
				continue
			}
			var addrs []netip.AddrPort
			for path := range ways {
				addrs = append(addrs, linkAddr(j, path))
			}
			if err := m.Connect(transport.Endpoint(j),
				transport.Address{Bytes: EncodeAddress(addrs...)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// step moves to the next arrival or timer, at most to end.
func (r *simNet) step(end int64) {
	next := end
	if len(r.queue) > 0 {
		next = min(next, r.queue[0].at)
	}
	for i, m := range r.ms {
		if t := m.NextTimeout(); t != 0 {
			next = min(next, max(t, r.wakes(i)))
		}
	}
	r.now = max(r.now, next)
	if len(r.queue) > 0 && r.queue[0].at <= r.now {
		a := heap.Pop(&r.queue).(arrival)
		if a.call != nil {
			a.call()
			return
		}
		if wakes := r.wakes(a.to); wakes > r.now { // it waits at the socket
			a.at = wakes
			heap.Push(&r.queue, a)
			return
		}
		m := r.ms[a.to]
		m.OnPacket(r.now, a.path, a.fromAddr, r.buffer[:copy(r.buffer, a.b)])
		if len(r.queue) == 0 || r.queue[0].at > r.now || r.queue[0].to != a.to {
			m.OnIdle()
		}
	}
	for i, m := range r.ms {
		if r.wakes(i) <= r.now {
			if due := m.NextTimeout(); due != 0 && due <= r.now {
				m.OnTimeout(r.now, r.heard(i))
			}
			m.Complete()
		}
	}
}

// heard reports that nothing waits at i's sockets.
func (r *simNet) heard(i int) bool {
	for _, a := range r.queue {
		if a.to == i && a.at <= r.now {
			return false
		}
	}
	return true
}

// wakes is when task i runs again.
func (r *simNet) wakes(i int) int64 {
	if r.asleep == nil {
		return 0
	}
	return r.asleep[i]
}

// pass lets d go by.
func (r *simNet) pass(d time.Duration) { r.until(d, func() bool { return false }) }

// until lets time pass until done, but at most d, and says how long it took.
func (r *simNet) until(d time.Duration, done func() bool) time.Duration {
	r.t.Helper()
	start := r.now
	for end := r.now + int64(d); r.now < end && !done(); {
		r.step(end)
	}
	return time.Duration(r.now - start)
}

// stream is a long transfer in full packets.
type stream struct {
	r        *simNet
	from, to int
	ops      []transport.Op
	free     []*transport.Op
	left     int // packets not yet sent
	pending  int
	single   bool
}

func (r *simNet) stream(from, to, packets int) *stream {
	s := &stream{r: r, from: from, to: to, left: packets,
		ops: make([]transport.Op, recovery.Numbers)}
	size := r.ms[from].Limits().SendMax
	data := userMemory(r.t, size)
	for i := range s.ops {
		op := &s.ops[i]
		op.Local, op.N = memory.AddrOf(data), uint64(size)
		op.Done = func(op *transport.Op, err error) {
			s.pending--
			s.free = append(s.free, op)
			if err != nil && err != transport.ErrClosed {
				r.t.Errorf("a packet of the stream: %v", err)
			}
		}
		s.free = append(s.free, op)
	}
	return s
}

// feed sends what there is room for. True: everything has been sent and acknowledged.
func (s *stream) feed() bool {
	for s.left > 0 && len(s.free) > 0 {
		op := s.free[len(s.free)-1]
		op.Single = s.single
		if status, err := s.r.ms[s.from].Send(s.r.now, transport.Endpoint(s.to), 1, nil,
			op); err == transport.ErrBusy {
			break
		} else if err != nil || status != transport.Queued {
			s.r.t.Fatalf("Send: %v, %v", status, err)
		}
		s.free = s.free[:len(s.free)-1]
		s.left--
		s.pending++
	}
	return s.left == 0 && s.pending == 0
}

// rate is the bytes a second at which this number of packets goes from 0 to 1.
func (r *simNet) rate(packets int, single bool) float64 {
	r.t.Helper()
	s := r.stream(0, 1, packets)
	s.single = single
	before := r.got[1]
	d := r.until(time.Minute, s.feed)
	if got := r.got[1] - before; got != packets {
		r.t.Fatalf("%d of %d packets arrived in %v", got, packets, d)
	}
	return float64(packets*r.ms[0].Limits().SendMax) / d.Seconds()
}

// pingPong sends a message there and back for d and returns the longest pause between two messages,
// and how many came to task 1.
func (r *simNet) pingPong(d time.Duration, each func()) (longest time.Duration, count int) {
	r.t.Helper()
	var op [2]transport.Op
	last := r.now
	due := [2]bool{true, false}
	r.pings = func(to int) {
		if to == 1 {
			longest = max(longest, time.Duration(r.now-last))
			last = r.now
			count++
		}
		due[to] = true
	}
	defer func() { // the last message ends its way
		r.pings = func(int) {}
		r.pass(20 * time.Millisecond)
	}()
	r.until(d, func() bool {
		for i := range due {
			if due[i] {
				_, err := r.ms[i].Send(r.now, transport.Endpoint(1-i), 2, nil, &op[i])
				if due[i] = err == transport.ErrBusy; err != nil && !due[i] {
					r.t.Fatalf("Send: %v", err)
				}
			}
		}
		if each != nil {
			each()
		}
		return false
	})
	return max(longest, time.Duration(r.now-last)), count
}
