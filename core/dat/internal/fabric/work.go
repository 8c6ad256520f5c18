package fabric

import (
	"encoding/binary"
	"net/netip"

	"lapi/core/dat/adapter"
	"lapi/transport/memory"
)

// Statuses, as uDAPL numbers them.
const (
	success         = 0
	flushed         = 1
	localLength     = 2
	localEP         = 3
	localProtection = 4
	remoteAccess    = 6
	remoteResponder = 7
	untold          = 255 // no completion is made
)

type qp struct {
	adapter.QPAttr
	d        *Device
	number   uint32
	ready    bool // connected, or of datagrams
	failed   bool
	peer     *qp
	receives []receive
	waiting  []todo // the first of them has found no receive
}

// todo is a request that was posted.
type todo struct {
	adapter.Work
	bind     adapter.Window // 0: it is none
	to       adapter.Bind
	was, key uint32 // of its window: the one that it must have, and the one that it gets
}

// NewQP implements adapter.Device.
func (d *Device) NewQP(a adapter.QPAttr) (adapter.QP, uint32, error) {
	if err := d.refused("NewQP"); err != nil {
		return 0, 0, err
	}
	h := adapter.QP(d.f.number())
	d.qps[h] = &qp{QPAttr: a, d: d, number: uint32(h), ready: a.Datagrams}
	return h, uint32(h), nil
}

// FailQP implements adapter.Device.
func (d *Device) FailQP(h adapter.QP) { d.qps[h].fail() }

func (q *qp) fail() {
	if q.failed {
		return
	}
	q.failed = true
	for _, w := range q.waiting {
		q.complete(w.ID, flushed)
	}
	for _, r := range q.receives {
		q.received(adapter.Completion{ID: r.id, Status: flushed}, false)
	}
	q.waiting, q.receives = nil, nil
}

// FreeQP implements adapter.Device.
func (d *Device) FreeQP(h adapter.QP) {
	for _, w := range d.windows {
		if w.qp != nil && w.qp == d.qps[h] {
			d.wrong("a queue pair is freed that has windows")
		}
	}
	d.qps[h].failed = true
	delete(d.qps, h)
}

func (q *qp) complete(id uint64, status uint8) {
	q.d.add(q.Requests, adapter.Completion{ID: id, QPN: q.number, Status: status}, false)
}

func (q *qp) received(e adapter.Completion, solicited bool) {
	e.QPN = q.number
	q.d.add(q.QPAttr.Receives, e, solicited)
}

func (d *Device) add(to adapter.Completions, e adapter.Completion, solicited bool) {
	c := d.cqs[to]
	if c.list = append(c.list, e); len(c.list) > c.size {
		d.wrong("a completion queue is full")
	}
	if c.armed == forAny || c.armed == forSolicited && (solicited || e.Status != success) {
		c.armed = forNothing
		d.told = append(d.told, to)
	}
}

// Receive implements adapter.Device.
func (d *Device) Receive(h adapter.QP, q adapter.Queue, id uint64,
	segments []adapter.Segment) error {
	if err := d.refused("Receive"); err != nil {
		return err
	}
	r := receive{id, append([]adapter.Segment(nil), segments...)}
	if q != 0 {
		to := d.queues[q]
		if len(to.receives) >= to.max {
			return errRefused
		}
		to.receives = append(to.receives, r)
	} else {
		to := d.qps[h]
		if len(to.receives) >= to.MaxReceives {
			return errRefused
		}
		to.receives = append(to.receives, r)
	}
	for _, o := range d.f.devices { // who has waited for it goes on
		for _, p := range o.qps {
			p.goOn()
		}
	}
	return nil
}

func (q *qp) posted() *[]receive {
	if q.Queue != 0 {
		return &q.d.queues[q.Queue].receives
	}
	return &q.receives
}

// has says whether there is a receive.
func (q *qp) has() bool { return len(*q.posted()) > 0 }

// take takes the oldest receive; nil: there is none.
func (q *qp) take() *receive {
	from := q.posted()
	if !q.has() {
		return nil
	}
	r := (*from)[0]
	*from = (*from)[1:]
	if o := q.d.queues[q.Queue]; o != nil && len(o.receives) < o.limit {
		o.limit = 0
		q.d.Tell(adapter.Async{Kind: adapter.QueueLow, Queue: q.Queue})
	}
	return &r
}

// Invent completes the oldest receive of a queue pair with what c says of a message.
func (d *Device) Invent(number uint32, c adapter.Completion) {
	for _, q := range d.qps {
		if q.number == number {
			c.ID = q.take().id
			q.received(c, false)
		}
	}
}

// Post implements adapter.Device.
func (d *Device) Post(h adapter.QP, w *adapter.Work) error {
	if err := d.refused("Post"); err != nil {
		return err
	}
	q := d.qps[h]
	one := todo{Work: *w}
	one.Segments = append([]adapter.Segment(nil), w.Segments...)
	q.waiting = append(q.waiting, one)
	q.goOn()
	return nil
}

// goOn does what waits, in order.
func (q *qp) goOn() {
	for len(q.waiting) > 0 && !q.failed {
		w := q.waiting[0]
		status, done := q.do(&w)
		if !done {
			return
		}
		q.waiting = q.waiting[1:]
		if status != untold {
			q.complete(w.ID, status)
		}
		if status != success {
			q.fail()
		}
	}
	if q.failed && len(q.waiting) > 0 {
		for _, w := range q.waiting {
			q.complete(w.ID, flushed)
		}
		q.waiting = nil
	}
}

// gather is the local data of a request; false: its memory is not to be read.
func (q *qp) gather(segments []adapter.Segment) (b []byte, ok bool) {
	for _, s := range segments {
		at, ok := q.d.at(q.Zone, s.Key, s.Addr, uint64(s.N), 0)
		part := make([]byte, s.N)
		if !ok || memory.CopyOut(part, at) != nil {
			return nil, false
		}
		b = append(b, part...)
	}
	return b, true
}

// scatter is the opposite.
func (q *qp) scatter(segments []adapter.Segment, b []byte) uint8 {
	for _, s := range segments {
		n := min(len(b), int(s.N))
		at, ok := q.d.at(q.Zone, s.Key, s.Addr, uint64(s.N), adapter.LocalWrite)
		if !ok || n > 0 && memory.CopyIn(at, b[:n]) != nil {
			return localProtection
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return localLength
	}
	return success
}

// do does a request; false: it waits for a receive.
func (q *qp) do(t *todo) (status uint8, done bool) {
	w := &t.Work
	if q.d.Fail != nil {
		if status := q.d.Fail(w); status != success {
			return status, true
		}
	}
	if t.bind != 0 {
		return q.doBind(t), true
	}
	p := q.peer
	if w.Op == adapter.OpDatagram {
		return q.datagram(w), true
	}
	if p == nil || p.failed || q.d.f.Silent[p.d.addr] {
		return 8, true // nobody answers
	}
	if w.Op == adapter.OpSend || w.Op == adapter.OpSendInvalidate {
		return q.send(w)
	}
	n := uint64(0)
	for _, s := range w.Segments {
		n += uint64(s.N)
	}
	need := map[adapter.Op]adapter.Access{adapter.OpWrite: adapter.Write,
		adapter.OpWriteWithData: adapter.Write, adapter.OpRead: adapter.Read,
		adapter.OpCompareSwap: adapter.Atomic, adapter.OpFetchAdd: adapter.Atomic}[w.Op]
	at, ok := p.remote(w.RemoteKey, w.RemoteAddr, n, need)
	if !ok {
		p.fail()
		return remoteAccess, true
	}
	switch w.Op {
	case adapter.OpWrite, adapter.OpWriteWithData:
		b, ok := q.gather(w.Segments)
		if !ok {
			return localProtection, true
		}
		if w.Op == adapter.OpWriteWithData {
			status, done = p.deliver(adapter.Completion{N: uint32(n), HasData: true, ByWrite: true,
				Immediate: w.Immediate}, nil, w.Solicited)
			if status != success || !done {
				return status, done
			}
		}
		_ = memory.CopyIn(at, b)
		return success, true
	case adapter.OpRead:
		b := make([]byte, n)
		_ = memory.CopyOut(b, at)
		return q.scatter(w.Segments, b), true
	}
	b := make([]byte, 8)
	_ = memory.CopyOut(b, at)
	v := binary.NativeEndian.Uint64(b)
	next := v + w.Operand
	if w.Op == adapter.OpCompareSwap {
		if next = v; v == w.Compare {
			next = w.Operand
		}
	}
	_ = memory.CopyIn(at, binary.NativeEndian.AppendUint64(nil, next))
	return q.scatter(w.Segments, b), true
}

// send does one.
func (q *qp) send(w *adapter.Work) (status uint8, done bool) {
	b, ok := q.gather(w.Segments)
	if !ok {
		return localProtection, true
	}
	p, c := q.peer, adapter.Completion{N: uint32(len(b))}
	if w.Op == adapter.OpSendInvalidate {
		if !p.has() {
			return 0, false
		}
		if !p.invalidate(w.RemoteKey) {
			p.fail()
			return remoteResponder, true
		}
		c.Invalidated, c.Perhaps, c.Key = true, p.d.Vague, w.RemoteKey
	}
	return p.deliver(c, b, w.Solicited)
}

// deliver gives data to the next receive; done is false if there is none.
func (q *qp) deliver(c adapter.Completion, b []byte, solicited bool) (status uint8, done bool) {
	r := q.take()
	if r == nil {
		return 0, false
	}
	c.ID, c.Status = r.id, q.scatter(r.segments, b)
	q.received(c, solicited)
	if c.Status != success {
		q.fail()
		return remoteResponder, true
	}
	return success, true
}

// datagram sends one, which is lost where nobody takes it.
func (q *qp) datagram(w *adapter.Work) uint8 {
	b, ok := q.gather(w.Segments)
	if !ok {
		return localProtection
	}
	to := q.d.f.devices[q.d.paths[w.Path]]
	if to == nil || q.d.f.Silent[to.addr] {
		return success
	}
	for _, p := range to.qps {
		if p.number == w.QPN && p.Datagrams && p.QKey == w.QKey && !p.failed {
			head := make([]byte, 40)
			p.deliver(adapter.Completion{N: uint32(40 + len(b))}, append(head, b...),
				w.Solicited)
		}
	}
	return success
}

// of is the queue pair of a number.
func (f *Fabric) of(addr netip.Addr, number uint32) *qp {
	for _, q := range f.devices[addr].qps {
		if q.number == number {
			return q
		}
	}
	return nil
}
