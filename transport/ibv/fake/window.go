package fake

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
)

type window struct {
	pd     ibv.PD
	own    bool
	key    uint32 // 0: nothing was bound
	posted uint32 // by the newest bind that was posted
	bind   ibv.Bind
	to     *region // nil: it is free, or names nothing
	qp     *qp     // of one of type 2, while it is bound
}

// AllocMW implements ibv.Windows.
func (d *Device) AllocMW(pd ibv.PD, own bool) (ibv.MW, error) {
	defer d.lock()()
	if err := d.fails("AllocMW"); err != nil {
		return 0, err
	}
	w := ibv.MW(d.f.next())
	d.windows[w] = &window{pd: pd, own: own}
	return w, nil
}

// DeallocMW implements ibv.Windows.
func (d *Device) DeallocMW(w ibv.MW) error {
	defer d.lock()()
	if d.windows[w] == nil {
		panic("a window is freed that is none")
	}
	delete(d.windows, w)
	return nil
}

// BindMW implements ibv.Windows.
func (d *Device) BindMW(h ibv.QP, b *ibv.Bind) (uint32, error) {
	defer d.lock()()
	if err := d.fails("BindMW"); err != nil {
		return 0, err
	}
	w := d.windows[b.MW]
	if w == nil || w.own && b.N == 0 {
		panic("a bind of no window, or an unbind of a window of type 2")
	}
	remote := ibv.RemoteRead | ibv.RemoteWrite | ibv.RemoteAtomic
	if b.Zero && !w.own || b.Access&^remote != 0 { // InfiniBand knows no such window
		return 0, unix.EINVAL
	}
	r := request{Work: ibv.Work{ID: b.ID, Op: ibv.OpBind, Signaled: true}, to: *b, was: w.posted,
		key: d.f.next() | windowKey}
	w.posted = r.key
	q := d.qps[h]
	q.used++
	q.queue = append(q.queue, r)
	q.goOn()
	return r.key, nil
}

// at is where n bytes of a window are that a peer names so; false: they are not inside.
func (w *window) at(addr, n uint64) (transport.Addr, bool) {
	if !w.bind.Zero {
		addr -= w.bind.Addr // bytes in front of it wrap round
	}
	if addr > w.bind.N || n > w.bind.N-addr {
		return 0, false
	}
	return w.to.at(w.bind.Addr+addr, n)
}

// doBind does it. A bind that adapters refuse is an error of its queue pair.
func (q *qp) doBind(r *request) ibv.Status {
	w := q.d.windows[r.to.MW]
	if w == nil || w.key != r.was || w.pd != q.PD || w.own && w.to != nil {
		panic("a bind of a window that is gone, not free, or bound elsewhere meanwhile")
	}
	to := q.d.regions[r.to.MR]
	if r.to.N != 0 {
		if to == nil || to.pd != w.pd {
			return ibv.LocQPOpErr
		}
		_, inside := to.at(r.to.Addr, r.to.N)
		writes := r.to.Access&(ibv.RemoteWrite|ibv.RemoteAtomic) != 0
		if !inside || to.access&ibv.BindWindows == 0 || writes && to.access&ibv.LocalWrite == 0 {
			return ibv.LocQPOpErr
		}
	} else {
		to = nil
	}
	w.key, w.bind, w.to = r.key, r.to, to
	if w.own {
		w.qp = q
	}
	if q.d.Unreported {
		return untold
	}
	return ibv.Success
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
