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

type qp struct {
	ibv.QPAttr
	d        *Device
	number   uint32
	used     int  // requests whose place is not free again
	since    int  // of these, done without a completion
	ready    bool // connected, or of datagrams
	failed   bool
	remote   ibv.Remote
	receives []receive // of its own
	queue    []request // the first of them has found no receive, or was not looked at yet
}

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

type receive struct {
	id uint64
	segments
}

type srq struct {
	receives []receive
	max      int
	limit    int
}

// cq is a completion queue. When it is armed it reports the next completion, or the next that is
// solicited, once.
type cq struct {
	list             []entry
	size             int
	armed, solicited bool
}

type entry struct {
	ibv.Completion
	of    *qp // whose places become free
	frees int
}

// CreateCQ implements ibv.Device.
func (d *Device) CreateCQ(entries int) (ibv.CQ, error) {
	defer d.lock()()
	if err := d.fails("CreateCQ"); err != nil {
		return 0, err
	}
	c := ibv.CQ(d.f.next())
	d.cqs[c] = &cq{size: entries}
	return c, nil
}

// DestroyCQ implements ibv.Device.
func (d *Device) DestroyCQ(c ibv.CQ) error {
	defer d.lock()()
	for _, q := range d.qps {
		if q.SendCQ == c || q.RecvCQ == c {
			panic("a completion queue is destroyed that a queue pair has")
		}
	}
	delete(d.cqs, c)
	d.reported = slices.DeleteFunc(d.reported, func(o ibv.CQ) bool { return o == c })
	return nil
}

// PollCQ implements ibv.Device.
func (d *Device) PollCQ(c ibv.CQ, out []ibv.Completion) int {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	d.calls.Polls++
	d.f.step()
	from := d.cqs[c]
	n := min(len(out), len(from.list))
	for i, e := range from.list[:n] {
		out[i] = e.Completion
		if e.of != nil {
			e.of.used -= e.frees
		}
	}
	from.list = slices.Delete(from.list, 0, n)
	return n
}

// ArmCQ implements ibv.Device.
func (d *Device) ArmCQ(c ibv.CQ, solicited bool) error {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	d.cqs[c].armed, d.cqs[c].solicited = true, solicited
	return nil
}

// Quiet implements ibv.Device.
func (d *Device) Quiet(f func(ibv.CQ)) {
	unlock := d.lock()
	d.unring(0)
	all := d.reported
	d.reported = nil
	unlock()
	for _, c := range all {
		if f != nil {
			f(c)
		}
	}
}

// complete adds a completion to a queue.
func (d *Device) complete(to ibv.CQ, e entry, solicited bool) {
	c := d.cqs[to]
	if c.list = append(c.list, e); len(c.list) > c.size {
		panic("the completion queue overflows")
	}
	if c.armed && (!c.solicited || solicited || e.Status != ibv.Success) {
		c.armed = false
		d.reported = append(d.reported, to)
		d.ring(0)
	}
}

// CreateQP implements ibv.Device.
func (d *Device) CreateQP(a ibv.QPAttr) (ibv.QP, uint32, error) {
	defer d.lock()()
	if err := d.fails("CreateQP"); err != nil {
		return 0, 0, err
	}
	if !d.pds[a.PD] || d.cqs[a.SendCQ] == nil || d.cqs[a.RecvCQ] == nil ||
		a.SRQ != 0 && d.srqs[a.SRQ] == nil {
		panic("a queue pair of a domain or queue that does not exist")
	}
	n := d.f.next()
	q := &qp{QPAttr: a, d: d, number: n, ready: a.Datagrams}
	d.qps[ibv.QP(n)] = q
	d.order = append(d.order, q)
	return ibv.QP(n), n, nil
}

// ConnectQP implements ibv.Device.
func (d *Device) ConnectQP(h ibv.QP, _ uint32, r ibv.Remote) error {
	defer d.lock()()
	if err := d.fails("ConnectQP"); err != nil {
		return err
	}
	q := d.qps[h]
	q.ready, q.remote = true, r
	return nil
}

// ResetQP implements ibv.Device.
func (d *Device) ResetQP(h ibv.QP) error {
	defer d.lock()()
	q := d.qps[h]
	if d.gone {
		return unix.EINVAL
	}
	// An adapter's library throws away what was not taken of such a queue pair.
	for _, c := range d.cqs {
		if q.used > 0 || slices.ContainsFunc(c.list, func(e entry) bool { return e.QPN == q.number }) {
			panic("a queue pair in use is reset")
		}
	}
	q.ready, q.failed, q.remote = false, false, ibv.Remote{}
	return nil
}

// ReviveQP implements ibv.Device.
func (d *Device) ReviveQP(h ibv.QP, qkey uint32) error {
	defer d.lock()()
	if d.gone {
		return ibv.ErrGone
	}
	q := d.qps[h]
	q.receives, q.queue, q.failed, q.QKey = nil, nil, false, qkey
	return nil
}

// FailQP implements ibv.Device.
func (d *Device) FailQP(h ibv.QP) {
	defer d.lock()()
	d.qps[h].end(ibv.WRFlushErr, 0)
}

// DestroyQP implements ibv.Device.
func (d *Device) DestroyQP(h ibv.QP) {
	defer d.lock()()
	q := d.qps[h]
	for _, w := range d.windows {
		if w.qp == q {
			panic("a queue pair is destroyed that has windows")
		}
	}
	q.failed, q.queue, q.receives = true, nil, nil
	delete(d.qps, h)
	d.forget(q)
}

// flushed is how requests behind a failed one end.
func (d *Device) flushed() ibv.Status {
	if d.Behind != ibv.Success {
		return d.Behind
	}
	return ibv.WRFlushErr
}

// end makes q fail at its first request.
func (q *qp) end(status ibv.Status, vendor uint32) {
	q.failed = true
	for _, r := range q.queue {
		if status != untold {
			q.d.complete(q.SendCQ, entry{ibv.Completion{ID: r.ID, QPN: q.number, Status: status,
				VendorErr: vendor}, q, 1}, false)
		}
		status, vendor = q.d.flushed(), 0
	}
	for _, r := range q.receives {
		q.received(ibv.Completion{ID: r.id, Status: ibv.WRFlushErr}, false)
	}
	q.queue, q.receives = nil, nil
}

func (q *qp) received(c ibv.Completion, solicited bool) {
	c.QPN = q.number
	q.d.complete(q.RecvCQ, entry{Completion: c}, solicited)
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

// peer is the far queue pair, nil if it would not answer.
func (q *qp) peer() *qp {
	d := q.d.f.of(q.remote.GID)
	if d == nil || !d.answers(q.d) {
		return nil
	}
	p := d.qps[ibv.QP(q.remote.QPN)]
	if p == nil || !p.ready || p.failed || p.remote.QPN != q.number {
		return nil
	}
	return p
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

// scatter writes data to the segments of a receive.
func (q *qp) scatter(segments []ibv.Segment, b []byte) ibv.Status {
	for _, s := range segments {
		n := min(len(b), int(s.N))
		at, ok := q.d.local(q.PD, s.Key, s.Addr, uint64(s.N), ibv.LocalWrite)
		if !ok || n > 0 && memory.CopyIn(at, b[:n]) != nil {
			return ibv.LocProtErr
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return ibv.LocLenErr
	}
	return ibv.Success
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

// deliver gives data to the next receive, which there is.
func (q *qp) deliver(c ibv.Completion, b []byte, solicited bool) ibv.Status {
	r := q.take()
	c.ID, c.Status = r.id, q.scatter(r.all(), b)
	q.received(c, solicited)
	if c.Status != ibv.Success {
		q.end(ibv.WRFlushErr, 0)
		return ibv.RemOpErr
	}
	return ibv.Success
}

func (q *qp) posted() *[]receive {
	if q.SRQ != 0 {
		return &q.d.srqs[q.SRQ].receives
	}
	return &q.receives
}

// has says whether there is a receive.
func (q *qp) has() bool { return len(*q.posted()) > 0 }

const shortList = 256

// take takes the oldest receive, which there is.
func (q *qp) take() receive {
	from := q.posted()
	r := (*from)[0]
	if len(*from) > shortList { // to move that many costs more than to allocate now and then
		*from = (*from)[1:]
	} else {
		*from = slices.Delete(*from, 0, 1)
	}
	if s := q.d.srqs[q.SRQ]; s != nil && len(s.receives) < s.limit {
		s.limit = 0
		q.d.raise(ibv.Event{Kind: ibv.SRQLow, SRQ: q.SRQ})
	}
	return r
}

// Invent completes the oldest receive of a queue pair with what c says of a message.
func (d *Device) Invent(number uint32, c ibv.Completion) {
	defer d.lock()()
	q := d.qps[ibv.QP(number)]
	c.ID = q.take().id
	q.received(c, false)
}

// PostRecv implements ibv.Device.
func (d *Device) PostRecv(h ibv.QP, s ibv.SRQ, list []ibv.Recv) (int, error) {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if len(list) > 0 {
		d.calls.Receives++
	}
	for i := range list {
		if err := d.receive(h, s, &list[i]); err != nil {
			return i, err
		}
	}
	for _, o := range d.f.devices { // a sender that has waited for it goes on
		for _, q := range o.order {
			q.goOn()
		}
	}
	return len(list), nil
}

func (d *Device) receive(h ibv.QP, s ibv.SRQ, r *ibv.Recv) error {
	if err := d.fails("PostRecv"); err != nil {
		return err
	}
	one := receive{r.ID, copied(r.Segments)}
	if s != 0 {
		to := d.srqs[s]
		if len(to.receives) >= to.max {
			return unix.ENOMEM
		}
		to.receives = append(to.receives, one)
		return nil
	}
	q := d.qps[h]
	switch {
	case q.failed:
		q.received(ibv.Completion{ID: r.ID, Status: ibv.WRFlushErr}, false)
		return nil
	case len(q.receives) >= q.MaxReceives:
		return unix.ENOMEM
	}
	q.receives = append(q.receives, one)
	return nil
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
