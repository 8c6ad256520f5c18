package conform

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// allCalls tries every operation on ep from node 0 and checks the error.
func (r *run) allCalls(ep transport.Endpoint, want error) {
	r.Helper()
	link, b := r.Nodes[0].Link, r.memoryOf(64)
	start := func(f func(op *transport.Op) (transport.Status, error)) error {
		o := r.operation(memory.AddrOf(b), memory.AddrOf(b), 8)
		o.Width = 8
		return o.begin(f)
	}
	r.wantError("Send", start(func(op *transport.Op) (transport.Status, error) {
		return link.Send(ep, 2, nil, op)
	}), want)
	r.wantError("Flush", start(func(op *transport.Op) (transport.Status, error) {
		return link.Flush(ep, op)
	}), want)
	limits := link.Limits()
	if limits.Caps&transport.CapPut != 0 {
		r.wantError("Put", start(func(op *transport.Op) (transport.Status, error) {
			return link.Put(ep, op)
		}), want)
	}
	if limits.Caps&transport.CapGet != 0 {
		r.wantError("Get", start(func(op *transport.Op) (transport.Status, error) {
			return link.Get(ep, op)
		}), want)
	}
	if limits.Atomics != 0 {
		r.wantError("Atomic", start(func(op *transport.Op) (transport.Status, error) {
			return link.Atomic(ep, transport.AtomicAdd, op)
		}), want)
	}
	if e := r.Nodes[0].Emul; e != nil {
		r.wantError("emulated Atomic", start(func(op *transport.Op) (transport.Status, error) {
			return e.Atomic(ep, transport.AtomicAdd, op)
		}), want)
		r.wantError("emulated Put", start(func(op *transport.Op) (transport.Status, error) {
			return e.Put(ep, op)
		}), want)
		r.wantError("emulated Get", start(func(op *transport.Op) (transport.Status, error) {
			return e.Get(ep, op)
		}), want)
		if n := e.Pending(); n != 0 {
			r.Errorf("%d emulated operations are pending that failed at once", n)
		}
	}
}

func testUnknownEndpoint(r *run) {
	for _, ep := range []transport.Endpoint{-1, 1000, 1 << 30} {
		r.allCalls(ep, transport.ErrUnreachable)
		r.Nodes[0].Link.Disconnect(ep, transport.ErrTimeout) // nothing to do
	}
}

// stuck makes operations on a path that cannot end: the handler refuses, nobody answers.
func (r *run) stuck(ep transport.Endpoint) (all []*operation) {
	all = append(all, r.send(0, ep, 2, word(0), r.memoryOf(64)))
	r.turns(10)
	all = append(all, r.flush(0, ep))
	if e := r.Nodes[0].Emul; e != nil && int(ep) != 0 {
		o := r.operation(0, memory.AddrOf(r.memoryOf(8)), 0)
		o.Width = 8
		if err := o.begin(func(op *transport.Op) (transport.Status, error) {
			// not served: no progress between here and the end
			return e.Atomic(ep, transport.AtomicAdd, op)
		}); err != nil {
			r.Errorf("Atomic: %v", err)
		}
		all = append(all, o)
	}
	return all
}

// ended checks that every operation that was queued is over with that error.
func (r *run) ended(all []*operation, want error) {
	r.Helper()
	queued := 0
	for i, o := range all {
		if o.status == transport.Done {
			continue
		}
		queued++
		// a message's buffer may be free earlier
		if !o.done() || !errors.Is(o.err, want) && !(i == 0 && o.err == nil) {
			r.Errorf("operation %d: finished %d times with %v, want once with %v",
				i, o.finished, o.err, want)
		}
	}
	if queued == 0 {
		r.Error("no operation was queued: nothing tested")
	}
}

func testDisconnect(r *run) {
	ep := r.target()
	refuse := true
	got := 0
	for i := range r.Nodes {
		r.handle(transport.Endpoint(i), 2, func(m *transport.Msg) transport.Verdict {
			if refuse {
				return transport.Refuse
			}
			got++
			return transport.Accept
		})
	}
	all := r.stuck(ep)
	cause := errors.New("because the test says so")
	if e := r.Nodes[0].Emul; e != nil {
		e.Disconnect(ep, cause)
	}
	r.Nodes[0].Link.Disconnect(ep, cause)
	r.ended(all, cause)
	r.allCalls(ep, transport.ErrUnreachable)
	r.Nodes[0].Link.Disconnect(ep, cause) // again: nothing to do
	refuse = false
	if len(r.Nodes) == 1 {
		r.turns(100)
		if got != 0 {
			r.Error("a message arrives over a path that is disconnected")
		}
		return
	}
	r.lateMessages(ep, &got)
}

// lateMessages: messages that ep sends to node 0 after node 0 disconnected are dropped; the other
// paths work.
func (r *run) lateMessages(ep transport.Endpoint, got *int) {
	r.turns(50)
	*got = 0
	o := r.operation(0, 0, 0)
	_, err := r.Nodes[ep].Link.Send(0, 2, nil, &o.Op)
	if err != nil && err != transport.ErrUnreachable {
		r.Errorf("Send to one that has disconnected: %v", err)
	}
	r.turns(100)
	if *got != 0 {
		r.Error("a message arrives from a peer that is disconnected")
	}
	if len(r.Nodes) > 2 {
		r.send(0, 1, 2, nil, nil)
		r.send(ep, 1, 2, nil, nil)
		r.until("messages to another peer", func() bool { return *got == 2 })
		return
	}
	r.Log("two nodes: no other path to look at")
}

// testDisconnectInHandler disconnects the sender of the message under way.
func testDisconnectInHandler(r *run) {
	ep := r.target()
	got := 0
	r.handle(ep, 2, func(m *transport.Msg) transport.Verdict {
		got++
		r.Nodes[ep].Link.Disconnect(m.From, transport.ErrUnreachable)
		if !filled(m.Data, 5) {
			r.Error("the message is gone under its handler")
		}
		return transport.Verdict(got % 2) // whatever it says
	})
	data := r.memoryOf(300)
	fill(data, 5)
	for range 5 {
		r.send(0, ep, 2, nil, data)
	}
	r.until("the first message", func() bool { return got > 0 })
	r.turns(100)
	if got != 1 {
		r.Errorf("%d messages came from a peer disconnected by the first", got)
	}
}

func testClose(r *run) {
	r.handle(r.target(), 2, func(*transport.Msg) transport.Verdict { return transport.Refuse })
	all := r.stuck(r.target())
	if e := r.Nodes[0].Emul; e != nil {
		e.Close()
	}
	if err := r.Nodes[0].Link.Close(); err != nil {
		r.Errorf("Close: %v", err)
	}
	r.ended(all, transport.ErrClosed)
	r.allCalls(r.target(), transport.ErrClosed)
	if err := r.Nodes[0].Link.Close(); err != nil {
		r.Errorf("Close again: %v", err)
	}
	if n := r.Nodes[0].Link.Progress(10); n != 0 {
		r.Errorf("Progress of a closed link: %d", n)
	}
	r.turns(100) // the peers notice or not, but nothing breaks
}

// testSleep: a thread that has armed finds work at once or is woken, for each message.
func testSleep(r *run) {
	w, ok := r.Nodes[r.target()].Link.(transport.Waiter)
	if !ok {
		r.Skip("the link is no Waiter")
	}
	got := 0
	r.handle(r.target(), 2, func(*transport.Msg) transport.Verdict {
		got++
		return transport.Accept
	})
	for i := 1; i <= 50; i++ {
		r.until("a quiet link", func() bool { return !r.arm(w) })
		if len(r.Nodes) == 1 {
			w.Disarm()
		}
		r.send(0, r.target(), 2, word(uint64(i)), nil)
		if len(r.Nodes) == 1 && !r.arm(w) {
			r.Fatal("a message waits, and the link would sleep")
		}
		for asleep := len(r.Nodes) > 1; got < i; asleep = !r.arm(w) {
			if asleep {
				r.sleep(w)
				w.Disarm()
			}
			r.step()
		}
		w.Disarm()
	}
}

// arm arms; true: there is work now, and the link is disarmed again.
func (r *run) arm(w transport.Waiter) bool {
	if !w.Arm() {
		return false
	}
	w.Disarm()
	return true
}

// sleep lets all nodes but the target run until the target's descriptors say that there is
// something. If the link wants to run at some time anyway, a short sleep is enough.
func (r *run) sleep(w transport.Waiter) {
	r.Helper()
	var files []unix.PollFd
	for _, fd := range w.Descriptors() {
		files = append(files, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	for end := time.Now().Add(hang); time.Now().Before(end); {
		for i, n := range r.Nodes {
			if transport.Endpoint(i) != r.target() {
				n.Link.Progress(16)
			}
		}
		if r.Net.Step != nil {
			r.Net.Step()
		}
		if n, err := unix.Poll(files, 5); n > 0 || err == nil && w.NextTimeout() != 0 {
			return
		}
	}
	r.Fatal("a message was sent to one asleep, and nothing woke it")
}
