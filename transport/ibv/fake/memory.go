package fake

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// windowKey is a bit of the keys of windows, regionKey of those by which peers name regions.
const (
	windowKey = 1 << 30
	regionKey = 1 << 31
)

type region struct {
	pd            ibv.PD
	addr, n, iova uint64
	access        ibv.Access
}

// RegMR implements ibv.Device. As the kernel, it looks at each page.
func (d *Device) RegMR(pd ibv.PD, addr, n, iova uint64, access ibv.Access) (ibv.Region, error) {
	defer d.lock()()
	if err := d.fails("RegMR"); err != nil {
		return ibv.Region{}, err
	}
	if n == 0 {
		return ibv.Region{}, unix.EINVAL
	}
	if addr+n < n || !mapped(addr, n) {
		return ibv.Region{}, unix.EFAULT
	}
	if !d.pds[pd] {
		panic("memory is registered in no protection domain")
	}
	key := d.f.next()
	d.registered++
	d.regions[ibv.MR(key)] = &region{pd: pd, addr: addr, n: n, iova: iova, access: access}
	return ibv.Region{MR: ibv.MR(key), Keys: ibv.Keys{Local: key, Remote: key | regionKey}}, nil
}

// mapped says whether every page can be read.
func mapped(a, n uint64) bool {
	page := uint64(unix.Getpagesize())
	var b [1]byte
	for at := a; ; at = (at | (page - 1)) + 1 {
		at = min(at, a+n-1)
		if memory.CopyOut(b[:], transport.Addr(at)) != nil {
			return false
		}
		if at == a+n-1 {
			return true
		}
	}
}

// DeregMR implements ibv.Device.
func (d *Device) DeregMR(mr ibv.MR) error {
	defer d.lock()()
	r := d.regions[mr]
	if r == nil {
		panic("a region is deregistered twice")
	}
	for _, w := range d.windows {
		if w.to == r {
			panic("a region is bound, and deregistered")
		}
	}
	delete(d.regions, mr)
	return nil
}

// at is where n bytes of the region are that are named so; false: they are not inside.
func (r *region) at(addr, n uint64) (transport.Addr, bool) {
	if addr < r.iova || addr-r.iova > r.n || n > r.n-(addr-r.iova) {
		return 0, false
	}
	return transport.Addr(r.addr + (addr - r.iova)), true
}

// local is where memory of a key is; false: it is not to be accessed so.
func (d *Device) local(pd ibv.PD, key uint32, addr, n uint64,
	need ibv.Access) (transport.Addr, bool) {
	r := d.regions[ibv.MR(key)]
	if r == nil || r.pd != pd || r.access&need != need {
		return 0, false
	}
	return r.at(addr, n)
}

// remote is where memory is that a peer of q names; false: it is not to be accessed so.
func (q *qp) remoteAt(key uint32, addr, n uint64, need ibv.Access) (transport.Addr, bool) {
	if key&windowKey == 0 {
		return q.d.local(q.PD, key&^regionKey, addr, n, need)
	}
	w := q.d.windowOf(key)
	if w == nil || w.pd != q.PD || w.own && w.qp != q || w.bind.Access&need != need {
		return 0, false
	}
	return w.at(addr, n)
}

// Keys is how many regions peers may reach.
func (d *Device) Keys() (n int) {
	defer d.lock()()
	for _, r := range d.regions {
		if r.access&(ibv.RemoteRead|ibv.RemoteWrite|ibv.RemoteAtomic) != 0 {
			n++
		}
	}
	return n
}

// Registered is how many regions were ever registered.
func (d *Device) Registered() int {
	defer d.lock()()
	return d.registered
}

// Regions is how many regions are registered.
func (d *Device) Regions() int {
	defer d.lock()()
	return len(d.regions)
}
