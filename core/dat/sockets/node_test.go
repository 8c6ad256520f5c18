package sockets

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/core/job/wire"
	"lapi/transport/memory"
)

// byShm fails unless data between p and q goes, or does not go, through shared memory.
func byShm(t *testing.T, want int, ps ...*process) {
	t.Helper()
	for i, p := range ps {
		if n := p.l.Neighbours(); n != want {
			t.Errorf("process %d shares memory with %d others, want %d", i, n, want)
		}
	}
}

// exchange sends a message from a to b.
func exchange(t *testing.T, a, b *end) {
	t.Helper()
	must(t, "recv", b.ep.PostReceive([]dat.Triplet{b.p.triplet(0, 100)}, 1, 0))
	must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send,
		Triplets: []dat.Triplet{a.p.triplet(200, 100)}}))
	if ev := expect(t, b.recv, dat.EventDTO, a.p, b.p); status(&ev) != 0 {
		t.Errorf("received with status %d", status(&ev))
	}
	if ev := expect(t, a.req, dat.EventDTO, a.p, b.p); status(&ev) != 0 {
		t.Errorf("sent with status %d", status(&ev))
	}
}

// TestWay: data between processes of a node goes through shared memory unless one of them may not;
// connections of both directions share a link.
func TestWay(t *testing.T) {
	for _, k := range []struct {
		a, b Config
		want int
	}{{want: 1}, {a: Config{NoShm: true}}, {b: Config{NoShm: true}}} {
		p, q := newProcessWith(t, k.a), newProcessWith(t, k.b)
		byShm(t, 0, p, q)
		for range 2 {
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			exchange(t, a, b)
			exchange(t, b, a)
			connect(t, q.end(nil, 0), p.end(nil, 0))
		}
		byShm(t, k.want, p, q)
	}
}

// TestCrossing: two processes that connect to each other at the same time.
func TestCrossing(t *testing.T) {
	p, q := newProcess(t), newProcess(t)
	both := []*process{p, q}
	var ends [2][2]*end
	var crs [2]*dat.EVD
	var at [2]uint64
	for i, x := range both {
		at[i], crs[i] = qualifier(), x.evd(dat.EVDCR)
		_, r := x.ia.NewPSP(at[i], crs[i].Handle(), false)
		must(t, "psp", r)
		ends[i] = [2]*end{x.end(nil, 0), both[1-i].end(nil, 0)} // active, passive
	}
	for i := range both {
		must(t, "connect", ends[i][0].ep.Connect(loopback, at[1-i], int64(10*time.Second), nil))
	}
	for i := range both {
		ev := expect(t, crs[1-i], dat.EventConnectionRequest, both...)
		must(t, "accept", requestOf(t, both[1-i], &ev).Accept(ends[i][1].ep.Handle(), nil))
	}
	for i := range both {
		expect(t, ends[i][0].con, dat.EventEstablished, both...)
		expect(t, ends[i][1].con, dat.EventEstablished, both...)
	}
	for i := range both {
		exchange(t, ends[i][0], ends[i][1])
		exchange(t, ends[i][1], ends[i][0])
	}
}

// TestOrderOfEvents: connections established before others end are reported before those ends.
func TestOrderOfEvents(t *testing.T) {
	p, q := newProcess(t), newProcess(t)
	cr, told := q.evd(dat.EVDCR), q.evd(dat.EVDConnection)
	at := qualifier()
	_, r := q.ia.NewPSP(at, cr.Handle(), false)
	must(t, "psp", r)
	const n = 5
	var ends [2 * n]*end
	for i := range ends {
		ends[i] = p.end(nil, 0)
		must(t, "connect", ends[i].ep.Connect(loopback, at, int64(10*time.Second), nil))
		ev := expect(t, cr, dat.EventConnectionRequest, p, q)
		b := q.end(nil, 0)
		ep, r := q.ia.NewEP(dat.EPArgs{PZ: q.pz.Handle(), Recv: b.recv.Handle(),
			Request: b.req.Handle(), Connect: told.Handle()})
		must(t, "ep", r)
		must(t, "accept", requestOf(t, q, &ev).Accept(ep.Handle(), nil))
		if i < n {
			expect(t, ends[i].con, dat.EventEstablished, p, q)
			expect(t, told, dat.EventEstablished, p, q)
		} else {
			expect(t, ends[i].con, dat.EventEstablished, p)
		}
	}
	for _, e := range ends[:n] {
		must(t, "disconnect", e.ep.Disconnect(false))
	}
	p.l.Progress()
	for range n {
		expect(t, told, dat.EventEstablished, q)
	}
	for range n {
		expect(t, told, dat.EventDisconnected, q)
	}
}

// TestStrangers: a client of the door that is no peer, or does not have a peer's secret, gets
// nothing and harms nobody.
func TestStrangers(t *testing.T) {
	p, q := newProcess(t), newProcess(t)
	connect(t, p.end(nil, 0), q.end(nil, 0))
	name, peer := p.l.Process(), q.l.Process()
	var fds []int
	for i := range 3 * silentMax { // more than silentMax: the oldest are closed
		fd, _, err := wire.Dial(doorName(name))
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
		conn, _ := wire.NewConn(fd)
		b := make([]byte, 300)
		rand.Read(b)
		switch copy(b, append(peer[:], name[:]...)); i % 5 {
		case 0: // it says nothing
		case 1:
			unix.Write(fd, b)
		case 2:
			conn.Queue(wire.Message{Kind: wire.Hello, Number: 1, Data: b, Files: []int{0, 1}})
		case 3:
			conn.Queue(wire.Message{Kind: wire.Welcome, Number: 1, Data: b[:20]})
		case 4:
			conn.Queue(wire.Message{Kind: wire.Hello, Data: make([]byte, 100<<10)})
		}
		conn.Flush()
		p.l.Progress()
	}
	a, b := q.end(nil, 0), p.end(nil, 0)
	connect(t, a, b)
	exchange(t, a, b)
	byShm(t, 1, p, q)
	closed := 0
	for _, fd := range fds {
		var c [1]byte
		if n, err := unix.Read(fd, c[:]); n == 0 && err == nil || err == unix.ECONNRESET {
			closed++
		}
		unix.Close(fd)
	}
	if closed < 2*silentMax {
		t.Errorf("%d of %d strangers were shown the door", closed, len(fds))
	}
}

// TestNoAnswer: a process that lets nobody in, or dies on the threshold, is reached over UDP.
func TestNoAnswer(t *testing.T) {
	for _, silent := range []bool{true, false} {
		p, q := newProcess(t), newProcess(t)
		a, b := p.end(nil, 0), q.end(nil, 0)
		q.network.shutDoor() // and somebody else takes its name
		impostor, err := wire.Listen(doorName(q.l.Process()))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(impostor)
		done := make(chan struct{})
		if !silent {
			go func() {
				defer close(done)
				set := []unix.PollFd{{Fd: int32(impostor), Events: unix.POLLIN}}
				unix.Poll(set, 10000)
				if fd, _, err := unix.Accept(impostor); err == nil {
					unix.Close(fd)
				}
			}()
		} else {
			close(done)
		}
		connect(t, a, b)
		exchange(t, a, b)
		byShm(t, 0, p, q)
		<-done
	}
}

// openFiles is how many descriptors this process has, and how much memory of segments is mapped.
func openFiles(t *testing.T) (files, mapped int) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return len(list), strings.Count(string(maps), "lapi-shm")
}

// TestNothingLeft: processes that come and go, and connections of one, leave neither descriptors
// nor memory behind.
func TestNothingLeft(t *testing.T) {
	q := newProcess(t)
	for range 3 { // what is made once
		visit(t, q)
	}
	files, mapped := openFiles(t)
	for range 20 {
		visit(t, q)
	}
	if f, m := openFiles(t); f > files || m > mapped || q.l.Neighbours() != 0 {
		t.Errorf("%d descriptors and %d mappings before, %d and %d after; %d neighbours", files,
			mapped, f, m, q.l.Neighbours())
	}
}

// visit is a process that connects to q fifty times and goes.
func visit(t *testing.T, q *process) {
	t.Run("", func(t *testing.T) {
		p := newProcess(t)
		for i := range 50 {
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			must(t, "disconnect", a.ep.Disconnect(i%2 == 0))
			expect(t, a.con, dat.EventDisconnected, p, q)
			expect(t, b.con, dat.EventDisconnected, p, q)
			for _, e := range []*end{a, b} {
				must(t, "ep_free", e.ep.Free())
				for _, evd := range []*dat.EVD{e.recv, e.req, e.con} {
					must(t, "evd_free", evd.Free())
				}
			}
		}
		byShm(t, 1, p, q)
		done := make(chan struct{})
		go func() {
			defer close(done)
			memory.Guard()
			p.ia.Close(false)
			p.l.Shut()
			p.ia = nil
		}()
		for open := true; open; {
			q.l.Progress()
			select {
			case <-done:
				open = false
			default:
			}
		}
	})
	for end := time.Now().Add(10 * time.Second); q.l.Neighbours() > 0 && time.Now().Before(end); {
		q.l.Progress()
	}
}

// TestKilled: a killed process breaks its connections at once, and everything posted is flushed.
func TestKilled(t *testing.T) {
	if at := os.Getenv("DAT_VICTIM"); at != "" {
		victim(t, at)
		return
	}
	p := newProcess(t)
	b, child := victimOf(t, p)
	byShm(t, 1, p)
	must(t, "send", b.ep.Post(dat.PostArgs{Op: rc.Send, Cookie: 6})) // no receive there
	child.Process.Kill()
	expect(t, b.con, dat.EventBroken, p)
	for i := 1; i < 10; i++ {
		if ev := expect(t, b.recv, dat.EventDTO, p); status(&ev) != 1 || cookie(&ev) != uint64(i) {
			t.Errorf("receive %d: status %d", cookie(&ev), status(&ev))
		}
	}
	if ev := expect(t, b.req, dat.EventDTO, p); status(&ev) != 1 {
		t.Errorf("the send has status %d", status(&ev))
	}
	byShm(t, 0, p)
}

// TestForkedLine: a process that is killed breaks its connections although a child of its own still
// has the line, and nothing is under way.
func TestForkedLine(t *testing.T) {
	p := newProcess(t)
	b, child := victimOf(t, p, "DAT_VICTIM_FORKS=1")
	if p.l.Neighbours() != 1 {
		t.Skip("no shared memory between processes here")
	}
	for _, l := range p.network.door.lines {
		if !l.Watched() {
			t.Skip("the kernel has no pidfds")
		}
	}
	rests(t, p) // nothing is due
	p.l.Disarm()
	child.Process.Kill()
	expect(t, b.con, dat.EventBroken, p)
}

// TestNoTicks: when nothing is under way, and has not been for some time, a thread may sleep until
// a peer does something. A send ends that sleep, and the next sleep has a timeout.
func TestNoTicks(t *testing.T) {
	p, q := newLaneProcess(t), newProcess(t)
	a, b := p.end(nil, 0), q.end(nil, 0)
	connect(t, a, b)
	if p.l.Neighbours() != 1 {
		t.Skip("no shared memory between processes here")
	}
	exchange(t, a, b)
	rests(t, p, q)
	if p.lane.Untimed != 1 {
		t.Error("the lane does not know that a thread sleeps without end")
	}
	must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send}))
	p.l.Push()
	if p.l.NextTimeout() == 0 || p.lane.Untimed != 0 {
		t.Error("the thread that sleeps does not hear of what was sent")
	}
	// q takes it, and has no receive for it: it still owes that
	for begun := time.Now(); time.Since(begun) < silence; {
		p.l.Disarm()
		p.l.Progress()
		q.l.Progress()
		if until, ok := p.l.Arm(); ok && until == 0 || p.lane.Untimed != 0 {
			t.Fatal("a peer that owes something is not looked after")
		}
	}
	p.l.Disarm()
}

// rests waits until a thread of p's may sleep without end, and leaves it armed for that.
func rests(t *testing.T, p *process, others ...*process) {
	t.Helper()
	until, ok := int64(1), false
	for ends := time.Now().Add(20 * time.Second); until != 0 || !ok; {
		if time.Now().After(ends) {
			t.Fatalf("a thread may sleep: %v, until %d, %d", ok, until, clock())
		}
		p.l.Disarm()
		p.l.Progress()
		for _, o := range others {
			o.l.Progress()
		}
		until, ok = p.l.Arm()
	}
}

// victimOf is a process that has connected to an endpoint of p's and sent a message; the endpoint
// has nine more receives.
func victimOf(t *testing.T, p *process, more ...string) (*end, *exec.Cmd) {
	cr := p.evd(dat.EVDCR)
	at := qualifier()
	_, r := p.ia.NewPSP(at, cr.Handle(), false)
	must(t, "psp", r)
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(append(os.Environ(), more...), "DAT_VICTIM="+strconv.FormatUint(at, 10))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	b := p.end(nil, 0)
	for i := range 10 {
		must(t, "recv", b.ep.PostReceive([]dat.Triplet{p.triplet(100*i, 100)}, uint64(i), 0))
	}
	ev := expect(t, cr, dat.EventConnectionRequest, p)
	must(t, "accept", requestOf(t, p, &ev).Accept(b.ep.Handle(), nil))
	expect(t, b.con, dat.EventEstablished, p)
	if ev := expect(t, b.recv, dat.EventDTO, p); status(&ev) != 0 {
		t.Fatalf("status %d", status(&ev))
	}
	return b, child
}

// victim connects, sends a message and waits to be killed. It may leave a child behind that has its
// lines.
func victim(t *testing.T, at string) {
	q, err := strconv.ParseUint(at, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t)
	a := p.end(nil, 0)
	must(t, "connect", a.ep.Connect(loopback, q, int64(10*time.Second), nil))
	expect(t, a.con, dat.EventEstablished, p)
	if os.Getenv("DAT_VICTIM_FORKS") != "" {
		leaveChild(t, p)
	}
	must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send,
		Triplets: []dat.Triplet{p.triplet(0, 100)}}))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		memory.Guard()
		p.l.Progress()
	}
}

// leaveChild starts a process that has the lines of p's, for some time.
func leaveChild(t *testing.T, p *process) {
	child := exec.Command("sleep", "30")
	for fd := range p.network.door.lines {
		dup, err := unix.Dup(int(fd))
		if err != nil {
			t.Fatal(err)
		}
		child.ExtraFiles = append(child.ExtraFiles, os.NewFile(uintptr(dup), "line"))
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for fd := range p.network.door.lines { // Start makes what both share wait
		if err := unix.SetNonblock(int(fd), true); err != nil {
			t.Fatal(err)
		}
	}
}

// requestOf is the request of an event.
func requestOf(t *testing.T, p *process, ev *dat.Event) *dat.CR {
	t.Helper()
	request, r := dat.Find[*dat.CR](p.l, dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:])),
		codes.InvalidHandleCR)
	must(t, "cr", r)
	return request
}
