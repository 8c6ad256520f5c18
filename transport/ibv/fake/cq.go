package fake

import (
	"slices"

	"lapi/transport/ibv"
)

// cq is a completion queue. When it is armed it reports the next completion, or the next that is
// solicited, once.
type cq struct {
	list             []entry
	size             int
	armed, solicited bool
	failed           bool // completions are lost
	lose             int  // the next ones are, of this number
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
	d.events = slices.DeleteFunc(d.events, func(e ibv.Event) bool { return e.CQ == c })
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
	if c.failed {
		return
	}
	if c.lose > 0 {
		c.lose--
		return
	}
	if c.list = append(c.list, e); len(c.list) > c.size {
		panic("the completion queue overflows")
	}
	if c.armed && (!c.solicited || solicited || e.Status != ibv.Success) {
		c.armed = false
		d.reported = append(d.reported, to)
		d.ring(0)
	}
}
