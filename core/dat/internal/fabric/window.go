package fabric

import (
	"lapi/core/dat/adapter"
	"lapi/transport"
)

// windowKey is a bit of the keys of windows, regionKey of those by which peers name regions.
const (
	windowKey = 1 << 30
	regionKey = 1 << 31
)

// OpBind is what Fail sees of a bind.
const OpBind adapter.Op = 255

// NewWindow implements adapter.Device.
func (d *Device) NewWindow(z adapter.Zone, own bool) (adapter.Window, error) {
	if err := d.refused("NewWindow"); err != nil {
		return 0, err
	}
	w := adapter.Window(d.f.number())
	d.windows[w] = &window{z: z, own: own}
	return w, nil
}

// FreeWindow implements adapter.Device.
func (d *Device) FreeWindow(w adapter.Window) error {
	if d.windows[w] == nil {
		d.wrong("a window is freed that is none")
	}
	delete(d.windows, w)
	return nil
}

// Bind implements adapter.Device.
func (d *Device) Bind(h adapter.QP, b *adapter.Bind) (uint32, error) {
	if err := d.refused("Bind"); err != nil {
		return 0, err
	}
	w := d.windows[b.Window]
	if w == nil || w.own && b.N == 0 {
		d.wrong("a bind of no window, or of one that cannot be unbound so")
		return 0, errRefused
	}
	t := todo{Work: adapter.Work{ID: b.ID, Op: OpBind}, bind: b.Window, to: *b, was: w.posted,
		key: uint32(d.f.number()) | windowKey}
	w.posted = t.key
	q := d.qps[h]
	q.waiting = append(q.waiting, t)
	q.goOn()
	return t.key, nil
}

// doBind does it. A bind that adapters refuse is an error of its queue pair.
func (q *qp) doBind(t *todo) uint8 {
	w := q.d.windows[t.bind]
	if w == nil || w.key != t.was || w.z != q.Zone || w.own && w.to != nil {
		q.d.wrong("a bind of a window that is gone, not free, or bound elsewhere meanwhile")
		return localEP
	}
	r := q.d.regions[t.to.Region]
	if t.to.N != 0 {
		if r == nil || r.z != w.z {
			return localEP
		}
		_, inside := r.at(t.to.Addr, t.to.N)
		writes := t.to.Access&(adapter.Write|adapter.Atomic) != 0
		if !inside || writes && r.access&adapter.LocalWrite == 0 {
			return localEP
		}
	} else {
		r = nil
	}
	w.key, w.bind, w.to = t.key, t.to, r
	if w.own {
		w.qp = q
	}
	if q.d.Untold {
		return untold
	}
	return success
}

// remote is where memory is that a peer of q names; false: it is not to be accessed so.
func (q *qp) remote(key uint32, addr, n uint64, need adapter.Access) (transport.Addr, bool) {
	if key&windowKey == 0 {
		return q.d.at(q.Zone, key&^regionKey, addr, n, need)
	}
	w := q.d.windowOf(key)
	if w == nil || w.z != q.Zone || w.own && w.qp != q || w.bind.Access&need != need ||
		addr < w.bind.Addr || addr-w.bind.Addr > w.bind.N || n > w.bind.N-(addr-w.bind.Addr) {
		return 0, false
	}
	return w.to.at(addr, n)
}

func (d *Device) windowOf(key uint32) *window {
	for _, w := range d.windows {
		if w.key == key && w.to != nil {
			return w
		}
	}
	return nil
}

// invalidate frees the window of a key, as a peer of q asks; false: it may not.
func (q *qp) invalidate(key uint32) bool {
	w := q.d.windowOf(key)
	if w == nil || !w.own || w.qp != q {
		return false
	}
	w.to, w.qp = nil, nil
	return true
}
