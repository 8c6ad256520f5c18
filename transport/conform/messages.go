package conform

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

func testLimits(r *run) {
	l := r.Nodes[0].Link.Limits()
	if l.HeaderMax < 64 || l.HeaderMax%8 != 0 || l.SendMax < l.HeaderMax+256 {
		r.Errorf("SendMax %d, HeaderMax %d: too small for core's headers", l.SendMax, l.HeaderMax)
	}
	native := func(bit transport.Caps, limit uint64) bool { return l.Caps&bit == 0 || limit > 0 }
	if !native(transport.CapPut, l.PutMax) || !native(transport.CapGet, l.GetMax) {
		r.Error("put or get is native and has no length")
	}
	for _, align := range []uint64{l.PutAlign, l.GetAlign} {
		if align == 0 || align&(align-1) != 0 {
			r.Errorf("an alignment is %d, no power of two", align)
		}
	}
	atomic := l.Caps & (transport.CapAtomicCPU | transport.CapAtomicLink)
	if (atomic != 0) != (l.Atomics != 0) || l.Atomics&^transport.AllAtomics != 0 {
		r.Errorf("capabilities %#x and atomics %#x contradict each other", l.Caps, l.Atomics)
	}
	if l.KeySize < 0 {
		r.Errorf("KeySize %d", l.KeySize)
	}
}

// dataSizes are lengths of data to try beside a header, up to max.
func dataSizes(max int) []int {
	sizes := []int{0, 1, 7, 8, 9, 24, 55, 56, 57, 63, 64, 65, 127, 128, 129, 1000, max / 2, max - 1,
		max}
	var fitting []int
	for _, n := range sizes {
		if n >= 0 && n <= max {
			fitting = append(fitting, n)
		}
	}
	return fitting
}

func testSendSizes(r *run) {
	limits := r.Nodes[0].Link.Limits()
	buffer := r.memoryOf(limits.SendMax)
	for _, header := range []int{0, 8, 16, 64, limits.HeaderMax - 8, limits.HeaderMax} {
		for _, n := range dataSizes(limits.SendMax - header) {
			seed := uint64(header)<<32 | uint64(n)
			got := 0
			r.handle(r.target(), 2, func(m *transport.Msg) transport.Verdict {
				got++
				if m.From != 0 || len(m.Hdr) != header || len(m.Data) != n {
					r.Errorf("%d + %d bytes arrive as %d + %d from %d",
						header, n, len(m.Hdr), len(m.Data), m.From)
				}
				if !filled(m.Hdr, seed) || !filled(m.Data, seed+1) {
					r.Errorf("%d + %d bytes arrive damaged", header, n)
				}
				if n > 0 && memory.AddrOf(m.Data)%8 != 0 {
					r.Errorf("data of %d + %d bytes is not 8-aligned", header, n)
				}
				clear(m.Hdr) // both may be written
				clear(m.Data)
				return transport.Accept
			})
			// ends before a page without access
			hdr, data := make([]byte, header), buffer[len(buffer)-n:]
			fill(hdr, seed)
			fill(data, seed+1)
			o := r.send(0, r.target(), 2, hdr, data)
			r.until("arrival", func() bool { return got > 0 && o.done() })
			if o.err != nil {
				r.Errorf("%d + %d bytes: %v", header, n, o.err)
			}
			if !filled(data, seed+1) {
				r.Errorf("%d + %d bytes: the sender's buffer changed", header, n)
			}
		}
	}
}

func testSendOverLimits(r *run) {
	link, ep := r.Nodes[0].Link, r.target()
	limits := link.Limits()
	buffer := r.memoryOf(limits.SendMax + 1)
	arrived := 0
	for id := transport.MsgID(1); id < EmulRequest; id++ {
		r.handle(ep, id, func(*transport.Msg) transport.Verdict {
			arrived++
			return transport.Accept
		})
	}
	for _, c := range []struct {
		what      string
		id        transport.MsgID
		header, n int
	}{
		{"data over SendMax", 2, 0, limits.SendMax + 1},
		{"header and data over SendMax", 2, 8, limits.SendMax - 7},
		{"header over HeaderMax", 2, limits.HeaderMax + 8, 0},
		{"header not in eights", 2, 12, 0},
		{"the link's own kind", 0, 0, 0},
		{"kind over MaxMsgID", transport.MaxMsgID + 1, 0, 0},
	} {
		op := r.operation(addrOf(buffer), 0, c.n)
		r.wantError(c.what, op.begin(func(op *transport.Op) (transport.Status, error) {
			return link.Send(ep, c.id, make([]byte, c.header), op)
		}), transport.ErrBadParam)
	}
	op := r.operation(addrOf(buffer), 0, 0)
	op.N = 1 << 63
	r.wantError("a length beyond int", op.begin(func(op *transport.Op) (transport.Status, error) {
		return link.Send(ep, 2, make([]byte, 16), op)
	}), transport.ErrBadParam)
	r.turns(100)
	if arrived > 0 {
		r.Errorf("%d messages arrived that were over a limit", arrived)
	}
}

// testSendCopies overwrites the header after Send, and the data as soon as the operation is done.
func testSendCopies(r *run) {
	ep, limits := r.target(), r.Nodes[0].Link.Limits()
	got := 0
	r.handle(ep, 3, func(m *transport.Msg) transport.Verdict {
		got++
		if !filled(m.Hdr[8:], unword(m.Hdr)) || !filled(m.Data, unword(m.Hdr)) {
			r.Errorf("message %d arrives as overwritten later", unword(m.Hdr))
		}
		return transport.Accept
	})
	hdr, buffer := make([]byte, 64), r.memoryOf(limits.SendMax-64)
	for i := range uint64(50) {
		copy(hdr, word(i))
		fill(hdr[8:], i)
		n := int(i) * len(buffer) / 49
		fill(buffer[:n], i)
		o := r.send(0, ep, 3, hdr, buffer[:n])
		clear(hdr)
		r.until("a buffer free again", o.done)
		clear(buffer)
	}
	r.until("all messages", func() bool { return got == 50 })
}

func testSendFault(r *run) {
	ep := r.target()
	got := 0
	r.handle(ep, 3, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	for _, bad := range r.badAddresses() {
		o := r.operation(bad, 0, 100)
		err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return r.Nodes[0].Link.Send(ep, 3, make([]byte, 8), op)
		})
		r.wantFault("Send", err, false, bad, 100)
	}
	r.turns(100)
	if got > 0 {
		r.Errorf("%d messages arrived whose data could not be read", got)
	}
	r.send(0, ep, 3, nil, nil)
	r.until("a message after faults", func() bool { return got == 1 })
}

func testSendOrder(r *run) {
	if r.Nodes[0].Link.Limits().Caps&transport.CapOrdered == 0 {
		r.Skip("the link lacks CapOrdered")
	}
	ep := r.target()
	var next uint64
	r.handle(ep, 4, func(m *transport.Msg) transport.Verdict {
		if v := unword(m.Hdr); v != next {
			r.Fatalf("message %d comes where %d should", v, next)
		}
		next++
		return transport.Accept
	})
	buffer := r.memoryOf(1000)
	for i := range uint64(3000) {
		r.send(0, ep, 4, word(i), buffer[:i*7%1000])
		if i%5 == 0 {
			r.step()
		}
	}
	r.until("all messages", func() bool { return next == 3000 })
}

// testSendUntilBusy sends without any progress until there is no room, then checks that all arrives
// once.
func testSendUntilBusy(r *run) {
	const most = 100_000
	ep, link := r.target(), r.Nodes[0].Link
	seen := make([]int, most)
	got := 0
	r.handle(ep, 5, func(m *transport.Msg) transport.Verdict {
		seen[unword(m.Hdr)]++
		got++
		return transport.Accept
	})
	var sent uint64
	var ops []*operation
	var err error
	data := r.memoryOf(200)
	for ; sent < most && err == nil; sent++ {
		o := r.operation(addrOf(data), 0, len(data))
		o.status = transport.Queued
		var status transport.Status
		if status, err = link.Send(ep, 5, word(sent), &o.Op); err != nil {
			break
		}
		o.status = status
		ops = append(ops, o)
	}
	if err != nil {
		r.wantError("a full link", err, transport.ErrBusy)
	}
	r.Logf("%d messages fit (ErrBusy: %v)", sent, err != nil)
	r.until("all messages", func() bool { return got >= int(sent) })
	r.until("the end of all operations", func() bool {
		return ops[0].done() && ops[len(ops)-1].done()
	})
	r.turns(100)
	for i, n := range seen {
		if want := i < int(sent); (n == 1) != want {
			r.Fatalf("message %d of %d arrived %d times", i, sent, n)
		}
	}
	r.send(0, ep, 5, word(most-1), nil)
	r.until("a message when there is room again", func() bool { return got == int(sent)+1 })
}

// testRefuse refuses some messages several times: they come again with the same content, others
// pass, each is accepted once.
func testRefuse(r *run) {
	const messages, times = 60, 4
	ep := r.target()
	offers := map[uint64]int{}
	accepted := map[uint64]int{}
	release := false
	r.handle(ep, 6, func(m *transport.Msg) transport.Verdict {
		i := unword(m.Hdr)
		offers[i]++
		if !filled(m.Data, i) {
			r.Errorf("offer %d of message %d is damaged", offers[i], i)
		}
		if i%3 == 0 && (offers[i] <= times || !release) {
			return transport.Refuse
		}
		accepted[i]++
		return transport.Accept
	})
	data := r.memoryOf(500)
	for i := range uint64(messages) {
		n := data[:i*8]
		fill(n, i)
		o := r.send(0, ep, 6, word(i), n)
		r.until("a buffer free again", func() bool { return o.done() || offers[i] > 0 })
		if !o.done() { // the link may hold the buffer until the message is accepted
			data = r.memoryOf(500)
		}
	}
	flush := r.flush(0, ep)
	r.until("those not refused", func() bool { return len(accepted) == messages*2/3 })
	r.until("repeated offers", func() bool { return offers[0] > times })
	if flush.done() {
		r.Error("a flush is done although messages are refused")
	}
	release = true
	r.until("those refused", func() bool { return len(accepted) == messages })
	r.until("the flush", flush.done)
	r.turns(100)
	for i := range uint64(messages) {
		if accepted[i] != 1 {
			r.Errorf("message %d was accepted %d times", i, accepted[i])
		}
		if i%3 != 0 && offers[i] != 1 {
			r.Errorf("message %d was offered %d times and never refused", i, offers[i])
		}
	}
	var again uint64
	for _, n := range r.Nodes {
		again += n.Link.Stats().RetransmittedPackets
	}
	if again < times { // of packets: refused messages may have shared them
		r.Errorf("%d retransmissions are counted, at least %d happened", again, times)
	}
}

func testFlush(r *run) {
	ep := r.target()
	got := 0
	r.handle(ep, 7, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	r.until("a flush of nothing", r.flush(0, ep).done)
	data := r.memoryOf(min(3000, r.Nodes[0].Link.Limits().SendMax))
	sent := 0
	for round := range 30 {
		for i := range round * 3 {
			r.send(0, ep, 7, nil, data[:i*29%(len(data)+1)])
			sent++
		}
		flush := r.flush(0, ep)
		for !flush.done() {
			if got == sent { // all accepted: now it must come
				r.until("the flush", flush.done)
				break
			}
			r.step()
		}
		if got < sent {
			r.Fatalf("a flush is done with %d of %d messages accepted", got, sent)
		}
		if flush.err != nil {
			r.Fatalf("Flush: %v", flush.err)
		}
	}
}

// testFlushIsBounded: a flush does not wait for operations issued later.
func testFlushIsBounded(r *run) {
	ep := r.target()
	stop := false
	r.handle(ep, 7, func(m *transport.Msg) transport.Verdict {
		if len(m.Hdr) > 0 && !stop {
			return transport.Refuse
		}
		return transport.Accept
	})
	r.send(0, ep, 7, nil, nil)
	first := r.flush(0, ep)
	r.send(0, ep, 7, word(0), nil)
	second := r.flush(0, ep)
	r.until("the flush of the first message", first.done)
	r.turns(50)
	if second.done() {
		r.Error("a flush is done although its message is refused")
	}
	stop = true
	r.until("the flush of the second message", second.done)
}

// testHandlersSend bounces a message between handlers.
func testHandlersSend(r *run) {
	const bounces = 2000
	count := 0
	bounce := func(me transport.Endpoint) {
		link := r.Nodes[me].Link
		op := r.operation(0, 0, 0)
		op.Done = func(*transport.Op, error) {}
		r.handle(me, 8, func(m *transport.Msg) transport.Verdict {
			if count++; count < bounces {
				if _, err := link.Send(m.From, 8, m.Hdr, &op.Op); err != nil {
					r.Errorf("Send from a handler: %v", err)
				}
			}
			return transport.Accept
		})
	}
	for i := range r.Nodes {
		bounce(transport.Endpoint(i))
	}
	r.send(0, r.target(), 8, word(1), nil)
	r.until("all bounces", func() bool { return count == bounces })
}

// testTraffic sends random messages between all nodes, refuses some, and compares what arrives with
// what was sent.
func testTraffic(r *run) {
	const messages = 3000
	seed := rand.Uint64()
	r.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	limits := r.Nodes[0].Link.Limits()
	accepted := make([]int, messages)
	got := 0
	for i := range r.Nodes {
		r.handle(transport.Endpoint(i), 9, func(m *transport.Msg) transport.Verdict {
			if random.IntN(10) == 0 {
				return transport.Refuse
			}
			number := unword(m.Hdr)
			if number >= messages || !filled(m.Hdr[8:], number) || !filled(m.Data, number) {
				r.Errorf("message %d is damaged", number)
				return transport.Accept
			}
			accepted[number]++
			got++
			return transport.Accept
		})
	}
	for number := range uint64(messages) {
		a, b := random.IntN(len(r.Nodes)), random.IntN(len(r.Nodes))
		for !r.connected(a, b) {
			b = random.IntN(len(r.Nodes))
		}
		hdr := make([]byte, 8+8*random.IntN(limits.HeaderMax/8))
		copy(hdr, word(number))
		fill(hdr[8:], number)
		room := limits.SendMax - len(hdr)
		if random.IntN(4) > 0 {
			room = min(room, 300)
		}
		data := r.memoryOf(random.IntN(room + 1))
		fill(data, number)
		r.send(transport.Endpoint(a), transport.Endpoint(b), 9, hdr, data)
		if random.IntN(3) == 0 {
			r.step()
		}
	}
	r.until("all messages", func() bool { return got >= messages })
	r.turns(50)
	for number, n := range accepted {
		if n != 1 {
			r.Errorf("message %d was accepted %d times", number, n)
		}
	}
}

// testSteadyState: no allocation for a message once the link is warm.
func testSteadyState(r *run) {
	ep, link := r.target(), r.Nodes[0].Link
	got := 0
	r.handle(ep, 10, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	data, hdr := r.memoryOf(8), make([]byte, 32)
	op := r.operation(addrOf(data), 0, 8)
	finished := true
	op.Done = func(*transport.Op, error) { finished = true }
	flush := *op
	nodes := r.Nodes
	sent := 0
	round := func() {
		sent++
		if status, err := link.Send(ep, 10, hdr, &op.Op); err != nil || status == transport.Queued {
			finished = err != nil
		}
		for got < sent || !finished {
			r.Net.progress(nodes)
		}
		finished = false
		if status, err := link.Flush(ep, &flush.Op); err != nil || status == transport.Done {
			finished = true
		}
		for !finished {
			r.Net.progress(nodes)
		}
	}
	for range 200 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		r.Errorf("%v allocations for each message and flush", n)
	}
	if !bytes.Equal(hdr, make([]byte, 32)) {
		r.Error("the header changed")
	}
}

// progress is step without what only the suite does.
func (n *Net) progress(nodes []Node) {
	if n.Step != nil {
		n.Step()
	}
	for i := range nodes {
		nodes[i].Link.Progress(16)
	}
}
