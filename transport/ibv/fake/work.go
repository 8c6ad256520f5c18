package fake

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

const untold ibv.Status = 255 // no completion is made

// segments are a copy of a caller's: nothing is allocated for a request.
type segments struct {
	list [segmentsMax]ibv.Segment
	n    int
}

const segmentsMax, inlineMost = 8, 256

func copied(list []ibv.Segment) (s segments) {
	s.n = copy(s.list[:], list)
	return s
}

func (s *segments) all() []ibv.Segment { return s.list[:s.n] }

// request is a request that was posted. Work.Segments are nil.
type request struct {
	ibv.Work
	segments
	inline   [inlineMost]byte // the data if it was taken at once
	taken    int
	to       ibv.Bind // of a bind
	was, key uint32   // of its window: now, and from then on
}

// PostSend implements ibv.Device.
func (d *Device) PostSend(h ibv.QP, w *ibv.Work) error {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if err := d.fails("PostSend"); err != nil {
		return err
	}
	q := d.qps[h]
	n := length(w.Segments)
	switch {
	case !q.ready && !q.failed:
		return unix.EINVAL
	case q.used >= q.MaxRequests:
		return unix.ENOMEM
	case len(w.Segments) > segmentsMax, w.Inline && (n > uint64(q.MaxInline) || w.Op == ibv.OpRead):
		return unix.EINVAL
	}
	if w.AH == 0 {
		d.calls.Posts++
		if w.Signaled {
			d.calls.Signals++
		}
	}
	r := request{Work: *w, segments: copied(w.Segments)}
	r.Segments = nil
	for _, s := range w.Segments {
		if w.Inline {
			r.taken += copy(r.inline[r.taken:],
				memory.Bytes(transport.Addr(s.Addr), uint64(s.N)))
		}
	}
	q.used++
	q.queue = append(q.queue, r)
	switch {
	case q.failed:
		q.end(q.d.flushed(), 0)
	case w.AH != 0:
		q.perform()
	default:
		q.goOn()
	}
	return nil
}

// goOn does what waits, in order, where the fabric does not do it by and by.
func (q *qp) goOn() {
	for q.d.f.random == nil && len(q.queue) > 0 && !q.failed && q.perform() {
	}
}

// ordered is the status that a test has ordered for a request.
func (d *Device) ordered(r *request) (s ibv.Status) {
	if d.Fail != nil {
		if s = d.Fail(&r.Work); s != ibv.Success {
			return s
		}
	}
	if r.AH == 0 && (!d.rdma || r.Op != ibv.OpSend) {
		s, d.status = d.status, ibv.Success
	}
	return s
}

// perform does the first request; false: it waits, or has failed.
func (q *qp) perform() bool {
	f, r := q.d.f, &q.queue[0]
	if status := q.d.ordered(r); status != ibv.Success {
		q.end(status, q.d.Vendor)
		return false
	}
	status, done := ibv.Success, true
	if r.AH == 0 && f.chance(f.Break) {
		f.broken++
		status = ibv.RetryExcErr
		done = f.random.IntN(2) == 0
	}
	if done {
		got, wait := q.do(r)
		if wait {
			return false
		}
		if got != ibv.Success {
			status = got
		}
	}
	if q.failed { // by what it has done
		return false
	}
	if status != ibv.Success {
		q.end(status, 0)
		return false
	}
	q.since++
	if r.Signaled {
		q.d.complete(q.SendCQ, entry{ibv.Completion{ID: r.ID, QPN: q.number}, q, q.since}, false)
		q.since = 0
	}
	q.queue = slices.Delete(q.queue, 0, 1)
	return true
}

func length(segments []ibv.Segment) (n uint64) {
	for _, s := range segments {
		n += uint64(s.N)
	}
	return n
}

// needs is the access that an operation needs at the peer.
var needs = map[ibv.Op]ibv.Access{ibv.OpWrite: ibv.RemoteWrite,
	ibv.OpWriteImmediate: ibv.RemoteWrite, ibv.OpRead: ibv.RemoteRead,
	ibv.OpCompareSwap: ibv.RemoteAtomic, ibv.OpFetchAdd: ibv.RemoteAtomic}

// do does a request; wait: the peer has no receive now.
func (q *qp) do(r *request) (status ibv.Status, wait bool) {
	if r.Op == ibv.OpBind {
		return q.doBind(r), false
	}
	if r.AH != 0 {
		return q.datagram(r), false
	}
	p := q.peer()
	if p == nil {
		return ibv.RetryExcErr, false
	}
	n := length(r.all())
	if n > q.d.info.MaxMessage {
		return ibv.LocLenErr, false
	}
	if r.Op == ibv.OpSend || r.Op == ibv.OpSendInvalidate {
		return q.send(p, r)
	}
	local, ok := q.locate(r.all(), r.Op)
	if !ok && !r.Inline {
		return ibv.LocProtErr, false
	}
	remote, ok := p.remoteAt(r.RKey, r.RemoteAddr, n, needs[r.Op])
	if !ok {
		p.end(ibv.WRFlushErr, 0)
		return ibv.RemAccessErr, false
	}
	if r.Op == ibv.OpWriteImmediate {
		if !p.has() {
			return 0, true
		}
		status := p.deliver(ibv.Completion{N: uint32(n), HasData: true, ByWrite: true,
			Immediate: r.Immediate}, nil, r.Solicited)
		if status != ibv.Success {
			return status, false
		}
	}
	q.move(r, local, remote)
	return ibv.Success, false
}

// locate is where the segments of a request are; false: it is not to access them.
func (q *qp) locate(segments []ibv.Segment, op ibv.Op) (at []transport.Addr, ok bool) {
	need := ibv.Access(0)
	if op != ibv.OpWrite && op != ibv.OpWriteImmediate {
		need = ibv.LocalWrite
	}
	at = q.d.places[:0]
	for _, s := range segments {
		a, ok := q.d.local(q.PD, s.Key, s.Addr, uint64(s.N), need)
		if !ok {
			return nil, false
		}
		at = append(at, a)
	}
	q.d.places = at
	return at, true
}

// move moves the data of an RDMA request, whose local memory is at local.
func (q *qp) move(r *request, local []transport.Addr, remote transport.Addr) {
	if r.Op == ibv.OpCompareSwap || r.Op == ibv.OpFetchAdd {
		b := make([]byte, 8)
		check(memory.CopyOut(b, remote))
		v := binary.NativeEndian.Uint64(b)
		next := v + r.Operand
		if r.Op == ibv.OpCompareSwap {
			if next = v; v == r.Compare {
				next = r.Operand
			}
		}
		check(memory.CopyIn(remote, binary.NativeEndian.AppendUint64(nil, next)))
		check(memory.CopyIn(local[0], b))
		return
	}
	if r.Inline {
		check(memory.CopyIn(remote, r.inline[:r.taken]))
		return
	}
	for i, s := range r.all() {
		from, to := local[i], remote
		if r.Op == ibv.OpRead {
			from, to = to, from
		}
		check(memory.Copy(to, from, uint64(s.N)))
		remote += transport.Addr(s.N)
		q.d.moved += uint64(s.N)
	}
}

func check(err error) {
	if err != nil {
		panic(fmt.Sprint("registered memory was unmapped: ", err))
	}
}

// gather is the data of a request, until the next; false: its memory is not to be read.
func (q *qp) gather(r *request) (b []byte, ok bool) {
	if r.Inline {
		return r.inline[:r.taken], true
	}
	b = slices.Grow(q.d.data[:0], int(length(r.all())))
	for _, s := range r.all() {
		at, ok := q.d.local(q.PD, s.Key, s.Addr, uint64(s.N), 0)
		from := len(b)
		b = b[:from+int(s.N)]
		if !ok || memory.CopyOut(b[from:], at) != nil {
			return nil, false
		}
	}
	q.d.data = b
	return b, true
}

// send does one.
func (q *qp) send(p *qp, r *request) (status ibv.Status, wait bool) {
	b, ok := q.gather(r)
	if !ok {
		return ibv.LocProtErr, false
	}
	if !p.has() {
		p.d.notReady++
		return 0, true
	}
	c := ibv.Completion{N: uint32(len(b))}
	if r.Op == ibv.OpSendInvalidate {
		if !p.invalidate(r.RKey) {
			p.end(ibv.WRFlushErr, 0)
			return ibv.RemOpErr, false
		}
		c.Invalidated, c.Perhaps, c.Key = true, p.d.Vague, r.RKey
	}
	return p.deliver(c, b, r.Solicited), false
}

// datagram sends one, now or later, once or twice, or not.
func (q *qp) datagram(r *request) ibv.Status {
	b, ok := q.gather(r)
	if !ok {
		return ibv.LocProtErr
	}
	if q.d.down { // as soft-RoCE, which has no route then
		q.end(ibv.WRFlushErr, 0)
		return ibv.Success
	}
	f, gid, number, qkey, solicited := q.d.f, q.d.ahs[r.AH], r.QPN, r.QKey, r.Solicited
	b = slices.Clone(b)
	bring := func() { q.d.bring(gid, number, qkey, b, solicited) }
	if f.chance(f.Twice) {
		f.late = append(f.late, bring)
	}
	if f.chance(f.Delay) {
		f.late = append(f.late, bring)
		return ibv.Success
	}
	bring()
	return ibv.Success
}

// bring brings a datagram to its receiver. It is lost where nobody takes it.
func (d *Device) bring(gid ibv.GID, number, qkey uint32, b []byte, solicited bool) {
	to := d.f.of(gid)
	if to == nil || !to.answers(d) {
		return
	}
	q := to.qps[ibv.QP(number)]
	if q == nil || !q.Datagrams || q.QKey != qkey || q.failed || !q.has() || d.f.chance(d.f.Lose) {
		return
	}
	head := make([]byte, ibv.DatagramHead)
	q.deliver(ibv.Completion{N: uint32(len(head) + len(b))}, append(head, b...), solicited)
}
