package lapi

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/core/trace"
	"lapi/transport"
	"lapi/transport/layout"
)

// tracer records what this context does (MP_LAPI_TRACE_LEVEL; docs/tracing.md). A nil *tracer is
// tracing that is off: every method does nothing then, at the cost of one comparison. As much as
// possible is recorded by wrappers that exist only while tracing is on: around the links
// (tracedLink) and around the Host (host.Watched).
type tracer struct {
	file   *trace.File
	level  int
	shared *layout.Context
	links  []transport.Link
	seen   []transport.Stats // of links when packets were last recorded
	by     []uint8           // of each task: the link that reaches it (layout.TraceBySelf …)
}

// startTrace is the step of LAPI_Init that begins the trace: once the tasks have met, before
// anything uses the links. A trace that cannot be written is no reason to fail.
func (s *setup) startTrace() codes.Code {
	if s.cfg.TraceLevel == 0 {
		return codes.Success
	}
	id := trace.Identity{Partition: s.cfg.Partition, Task: s.me, NumTasks: len(s.peers),
		Instance: s.instance, Level: s.cfg.TraceLevel}
	file, err := trace.Create(s.cfg.TraceDir, &id, int64(s.cfg.TraceSize)<<20)
	if err != nil {
		s.faults.Message(0,
			"LAPI_Init: no trace is written: %v; see LAPI_TRACE_DIR and LAPI_TRACE_SIZE", err)
		return codes.Success
	}
	t := &tracer{file: file, level: s.cfg.TraceLevel, shared: s.shared, links: s.links.All(),
		seen: make([]transport.Stats, len(s.links.All()))}
	s.trace = t
	t.by = s.linksOfPeers()
	if t.level >= layout.TraceHandlers {
		s.counters.Trace(t.counted)
	}
	s.shared.TraceFile = file.Address()
	// Release: C threads look only after state has become ACTIVE.
	atomic.StoreUint32(&s.shared.TraceLevel, uint32(t.level))
	thread := int32(unix.Gettid())
	t.file.Add(layout.TraceRecord{Ns: s.began, Id: trace.Now() - s.began, Thread: thread, Peer: -1,
		Kind: layout.TraceComplete | layout.TraceCall}, "LAPI_Init")
	if t.level >= layout.TraceHandlers {
		s.host = t.host(s.host)
	}
	if t.level >= layout.TraceMessages {
		seen := map[*peer.Reach]bool{}
		for i := range s.peers {
			if r := s.peers[i].Reach; !seen[r] {
				seen[r] = true
				s.traceReach(r)
			}
		}
	}
	return codes.Success
}

// linksOfPeers is the link that reaches each task.
func (s *setup) linksOfPeers() []uint8 {
	by := make([]uint8, len(s.peers))
	for i := range s.peers {
		switch p := &s.peers[i]; {
		case p.IsSelf:
			by[i] = layout.TraceBySelf
		case p.Shared:
			by[i] = layout.TraceByShm
		case s.byRDMA(p):
			by[i] = layout.TraceByRDMA
		default:
			by[i] = layout.TraceByUDP
		}
	}
	return by
}

// byLink is what the kind of a message's record has of the link to its peer.
func (t *tracer) byLink(peer int) uint32 {
	if peer < 0 || peer >= len(t.by) {
		return 0
	}
	return uint32(t.by[peer]) << layout.TraceLinkShift
}

// traceReach makes messages by r be recorded.
func (s *setup) traceReach(r *peer.Reach) {
	r.Link = s.traced(r.Link)
	if r.Noticing != nil {
		r.Noticing = &tracedNoticing{r.Noticing, s.trace}
	}
}

// traced is l with its messages recorded, if the trace has them.
func (c *Context) traced(l transport.Link) transport.Link {
	if c.trace == nil || c.trace.level < layout.TraceMessages {
		return l
	}
	traced := &tracedLink{Link: l, t: c.trace}
	if node, ok := l.(nodeLink); ok {
		return &tracedVectored{traced, node}
	}
	return traced
}

// untraced is the link inside a tracedLink, or l.
func untraced(l transport.Link) transport.Link {
	switch traced := l.(type) {
	case *tracedLink:
		return traced.Link
	case *tracedVectored:
		return traced.Link
	}
	return l
}

// close ends the trace: no thread of the context is left, and C looks at it no more.
func (t *tracer) close() {
	if t == nil {
		return
	}
	atomic.StoreUint32(&t.shared.TraceLevel, 0)
	t.file.Close()
}

// thread is the caller's kernel id: it holds the context lock, which says whose it is.
func (t *tracer) thread() int32 {
	return int32(atomic.LoadUint32(&t.shared.Progress.LockWord))
}

func (t *tracer) add(kind uint32, name string, peer int, size, id uint64, code int32) {
	t.file.Add(layout.TraceRecord{Ns: trace.Now(), Id: id, Size: size, Thread: t.thread(),
		Peer: int32(peer), Code: code, Kind: kind}, name)
}

// copied records a copy of n bytes by the caller that began at ns, unless it has failed: err, which
// is returned.
func (t *tracer) copied(ns uint64, name string, ep transport.Endpoint, n uint64, err error) error {
	if err == nil {
		t.file.Add(layout.TraceRecord{Ns: ns, Id: trace.Now() - ns, Size: n, Thread: t.thread(),
			Peer: int32(ep),
			Kind: layout.TraceComplete | layout.TraceMessage | t.byLink(int(ep))}, name)
	}
	return err
}

// failure records an error that is reported to the error handler.
func (t *tracer) failure(code codes.Code, kind codes.ErrType, of int) {
	if t != nil {
		t.add(layout.TraceInstant|layout.TraceError, codes.Name(code), of, 0, uint64(kind),
			int32(code))
	}
}

// counted records that the counter at a grew by 1.
func (t *tracer) counted(a transport.Addr, src int) {
	t.add(layout.TraceInstant|layout.TraceCounter, "counter", src, 1, uint64(a), 0)
}

// turned records a progress call that received, sent or completed n.
func (t *tracer) turned(n int) {
	if t != nil {
		t.turn(n)
	}
}

func (t *tracer) turn(n int) {
	if t.level < layout.TracePackets {
		return
	}
	t.packets()
	if n > 0 && t.level >= layout.TraceDispatcher {
		t.add(layout.TraceInstant|layout.TraceTurn, "turn", -1, uint64(n), 0, 0)
	}
}

// packets records what changed in the links' statistics since the last turn.
func (t *tracer) packets() {
	for i, l := range t.links {
		now, before := l.Stats(), &t.seen[i]
		if *now == *before {
			continue
		}
		t.grown("retransmitted", now.RetransmittedPackets, before.RetransmittedPackets)
		t.grown("duplicate received", now.DuplicatePackets, before.DuplicatePackets)
		t.grown("ghost received", now.GhostPackets, before.GhostPackets)
		t.grown("packets sent", now.PacketsSent, before.PacketsSent)
		t.grown("packets received", now.PacketsReceived, before.PacketsReceived)
		t.grown("acks sent", now.AcksSent, before.AcksSent)
		t.grown("acks received", now.AcksReceived, before.AcksReceived)
		*before = *now
	}
}

func (t *tracer) grown(name string, now, before uint64) {
	if now > before {
		t.add(layout.TraceInstant|layout.TracePacket, name, -1, now-before, 0, 0)
	}
}

// tracedLink records messages and direct copies of a link. Both ends of a message name it by what
// they both see, its header: so nothing is added to the message, and a task that does not trace is
// not disturbed.
type tracedLink struct {
	transport.Link
	t *tracer
}

// Send is the link's, recorded if the link took the message.
func (l *tracedLink) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	n, key, began := op.N, messageKey(id, hdr), trace.Now()
	status, err := l.Link.Send(ep, id, hdr, op)
	if err == nil {
		l.t.sent(ep, id, key, n, began)
	}
	return status, err
}

// sent records a message that the link took.
func (t *tracer) sent(ep transport.Endpoint, id transport.MsgID, key, n, began uint64) {
	t.file.Add(layout.TraceRecord{Ns: began, Id: key, Size: n, Thread: t.thread(), Peer: int32(ep),
		Code: int32(min(trace.Now()-began, 1<<31-1)),
		Kind: layout.TraceSent | layout.TraceMessage | t.byLink(int(ep))}, wire.Name(id))
}

// Handle is the link's, with each call of h recorded.
func (l *tracedLink) Handle(id transport.MsgID, h transport.MsgHandler) {
	name, t := wire.Name(id), l.t
	l.Link.Handle(id, func(m *transport.Msg) transport.Verdict {
		t.add(layout.TraceReceived|layout.TraceMessage|t.byLink(int(m.From)), name, int(m.From),
			uint64(len(m.Data)), messageKey(id, m.Hdr), 0)
		v := h(m)
		t.add(layout.TraceEnd|layout.TraceMessage, "", int(m.From), 0, 0, int32(v))
		return v
	})
}

// Put is the link's, recorded: a copy of this task into a peer's memory.
func (l *tracedLink) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	began, n := trace.Now(), op.N
	status, err := l.Link.Put(ep, op)
	return status, l.t.copied(began, "copy to task", ep, n, err)
}

// Get is the link's, recorded: a copy of this task from a peer's memory.
func (l *tracedLink) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	began, n := trace.Now(), op.N
	status, err := l.Link.Get(ep, op)
	return status, l.t.copied(began, "copy from task", ep, n, err)
}

// Atomic is the link's, recorded.
func (l *tracedLink) Atomic(ep transport.Endpoint, kind transport.AtomicKind,
	op *transport.Op) (transport.Status, error) {
	began, width := trace.Now(), uint64(op.Width)
	status, err := l.Link.Atomic(ep, kind, op)
	return status, l.t.copied(began, "atomic", ep, width, err)
}

// messageKey is a hash of a message's kind and header (FNV-1a, by words). Headers' lengths are
// multiples of 8.
func messageKey(id transport.MsgID, hdr []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	key := (offset ^ uint64(id)) * prime
	for ; len(hdr) >= 8; hdr = hdr[8:] {
		key = (key ^ wire.Order.Uint64(hdr)) * prime
		key ^= key >> 29
	}
	return key
}

// host is h, whose handlers that run inside the dispatcher are recorded. C records those
// that have threads of their own.
func (t *tracer) host(h Host) Host {
	const handler = layout.TraceHandler
	return &host.Watched{Host: h,
		Began: func(name string, task int32, n uint64, at transport.Addr) {
			t.add(layout.TraceBegin|handler, name, int(task), n, uint64(at), 0)
		},
		Ended: func(task, code int32) {
			t.add(layout.TraceEnd|handler, "", int(task), 0, 0, code)
		}}
}
