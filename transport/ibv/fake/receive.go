package fake

import (
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport/ibv"
	"lapi/transport/memory"
)

type receive struct {
	id uint64
	segments
}

type srq struct {
	receives []receive
	max      int
	limit    int
}

func (q *qp) received(c ibv.Completion, solicited bool) {
	c.QPN = q.number
	q.d.complete(q.RecvCQ, entry{Completion: c}, solicited)
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
