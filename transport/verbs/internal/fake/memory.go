package fake

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/adapter"
)

type region struct {
	addr   transport.Addr
	n      uint64
	access transport.Access
}

// allowed says whether a key covers n bytes at a with at least this access.
func (d *Device) allowed(key uint32, a transport.Addr, n uint64, access transport.Access) bool {
	r, ok := d.regions[key]
	return ok && a >= r.addr && n <= r.n && uint64(a-r.addr) <= r.n-n && r.access&access == access
}

// Register implements adapter.Adapter. As the kernel, it looks at each page.
func (d *Device) Register(a transport.Addr, n uint64,
	access transport.Access) (adapter.Region, error) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if err := d.fails(Register); err != nil {
		return adapter.Region{}, err
	}
	if n == 0 {
		return adapter.Region{}, unix.EINVAL
	}
	if uint64(a)+n < n || !mapped(a, n) {
		return adapter.Region{}, unix.EFAULT
	}
	d.fabric.number++
	d.registered++
	d.regions[d.fabric.number] = region{a, n, access}
	return adapter.Region{LKey: d.fabric.number, RKey: d.fabric.number,
		Handle: uintptr(d.fabric.number)}, nil
}

// mapped says whether every page can be read.
func mapped(a transport.Addr, n uint64) bool {
	page := uint64(unix.Getpagesize())
	var b [1]byte
	for at := uint64(a); ; at = (at | (page - 1)) + 1 {
		at = min(at, uint64(a)+n-1)
		if memory.CopyOut(b[:], transport.Addr(at)) != nil {
			return false
		}
		if at == uint64(a)+n-1 {
			return true
		}
	}
}

// Deregister implements adapter.Adapter.
func (d *Device) Deregister(r adapter.Region) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if _, ok := d.regions[r.LKey]; !ok {
		panic("a region is deregistered twice")
	}
	delete(d.regions, r.LKey)
	return nil
}

// Keys is how many regions peers may reach.
func (d *Device) Keys() (n int) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	for _, r := range d.regions {
		if r.access&^adapter.LocalWrite != 0 {
			n++
		}
	}
	return n
}

// Registered is how many regions were ever registered.
func (d *Device) Registered() int {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return d.registered
}

// Regions is how many regions are registered.
func (d *Device) Regions() int {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return len(d.regions)
}
