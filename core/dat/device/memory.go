package device

import (
	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// Zone is what memory and pairs must have in common.
type Zone struct {
	k *Device
	z adapter.Zone
}

// NewZone makes a zone.
func (k *Device) NewZone() (*Zone, codes.Return) {
	z, err := k.d.NewZone()
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceProtectionDomain)
	}
	return &Zone{k, z}, codes.Success
}

// Close ends the zone. Of nil it does nothing.
func (z *Zone) Close() {
	if z != nil {
		_ = z.k.d.FreeZone(z.z)
	}
}

// Region is registered memory.
type Region struct {
	k    *Device
	r    adapter.Region
	Keys adapter.Keys
}

// Register registers n bytes at addr, which are then named from as on.
func (z *Zone) Register(addr, n, as uint64, access adapter.Access) (*Region, codes.Return) {
	r, keys, err := z.k.d.Register(z.z, addr, n, as, access)
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	return &Region{z.k, r, keys}, codes.Success
}

// Number is what a bind names the region by.
func (r *Region) Number() adapter.Region { return r.r }

// Deregister ends the region: no peer accesses it after that.
func (r *Region) Deregister() { _ = r.k.d.Deregister(r.r) }

// Queue is receives that several pairs share.
type Queue struct {
	k        *Device
	q        adapter.Queue
	owner    QueueOwner
	serial   uint32
	next     uint32                 // number of the next receive
	receives map[uint32]*rc.Receive // not complete, by number
}

// NewQueue makes a queue for a number of receives, of a number of segments each.
func (z *Zone) NewQueue(receives, segments int, owner QueueOwner) (*Queue, codes.Return) {
	q, err := z.k.d.NewQueue(z.z, receives, segments)
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	h := &Queue{k: z.k, q: q, owner: owner, serial: z.k.newSerial(),
		receives: map[uint32]*rc.Receive{}}
	z.k.queues[h.serial] = h
	return h, codes.Success
}

// newSerial is a number for a pair or queue. It has 31 bits.
func (k *Device) newSerial() uint32 {
	for {
		k.serial = (k.serial + 1) % (1 << 31)
		if k.pairs[k.serial] == nil && k.queues[k.serial] == nil {
			return k.serial
		}
	}
}

// Close ends the queue.
func (h *Queue) Close() {
	_ = h.k.d.FreeQueue(h.q)
	delete(h.k.queues, h.serial)
}

// Resize changes how many receives there is room for.
func (h *Queue) Resize(receives int) codes.Return {
	if h.k.d.ResizeQueue(h.q, receives) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	return codes.Success
}

// Post adds a receive.
func (h *Queue) Post(r *rc.Receive, local []adapter.Segment) codes.Return {
	if h.k.d.Receive(0, h.q, receiveID(h.serial, h.next), local) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	h.receives[h.next] = r
	h.next++
	return codes.Success
}

// Watch has the adapter report, once, when a message leaves fewer receives than that.
func (h *Queue) Watch(receives int) { _ = h.k.d.LimitQueue(h.q, receives) }
