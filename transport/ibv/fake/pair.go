package fake

import (
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport/ibv"
)

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
	for _, c := range d.cqs { // an adapter's library discards these completions
		c.list = slices.DeleteFunc(c.list, func(e entry) bool { return e.QPN == q.number })
	}
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
