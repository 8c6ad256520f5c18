package device

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// Zone is what memory and pairs must have in common.
type Zone struct {
	k *Device
	z ibv.PD
}

// NewZone makes a zone.
func (k *Device) NewZone() (*Zone, codes.Return) {
	z, err := k.d.AllocPD()
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceProtectionDomain)
	}
	return &Zone{k, z}, codes.Success
}

// Close ends the zone. Of nil it does nothing.
func (z *Zone) Close() {
	if z != nil {
		_ = z.k.d.DeallocPD(z.z)
	}
}

// Region is registered memory.
type Region struct {
	k    *Device
	r    ibv.MR
	Keys ibv.Keys
}

// Register registers n bytes at addr, which are then named from as on.
func (z *Zone) Register(addr, n, as uint64, access ibv.Access) (*Region, codes.Return) {
	if z.k.info.Windows || z.k.info.OwnWindows {
		access |= ibv.BindWindows
	}
	r, err := z.k.d.RegMR(z.z, addr, n, as, access)
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	return &Region{z.k, r.MR, r.Keys}, codes.Success
}

// Number is what a bind names the region by.
func (r *Region) Number() ibv.MR { return r.r }

// Deregister ends the region: no peer accesses it after that.
func (r *Region) Deregister() { _ = r.k.d.DeregMR(r.r) }

// Queue is receives that several pairs share.
type Queue struct {
	k        *Device
	q        ibv.SRQ
	owner    QueueOwner
	serial   uint32
	next     uint32                 // number of the next receive
	receives map[uint32]*rc.Receive // not complete, by number
}

// NewQueue makes a queue for a number of receives, of a number of segments each.
func (z *Zone) NewQueue(receives, segments int, owner QueueOwner) (*Queue, codes.Return) {
	q, err := z.k.d.CreateSRQ(z.z, receives, segments)
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
	_ = h.k.d.DestroySRQ(h.q)
	delete(h.k.queues, h.serial)
}

// Resize changes how many receives there is room for.
func (h *Queue) Resize(receives int) codes.Return {
	if h.k.d.ResizeSRQ(h.q, receives) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	return codes.Success
}

// Post adds a receive.
func (h *Queue) Post(r *rc.Receive, local []ibv.Segment) codes.Return {
	if h.k.receive(0, h.q, receiveID(h.serial, h.next), local) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	h.receives[h.next] = r
	h.next++
	return codes.Success
}

// receive posts one receive.
func (k *Device) receive(qp ibv.QP, srq ibv.SRQ, id uint64, local []ibv.Segment) error {
	k.recv[0] = ibv.Recv{ID: id, Segments: local}
	_, err := k.d.PostRecv(qp, srq, k.recv[:])
	return err
}

// Watch has the adapter report, once, when a message leaves fewer receives than that.
func (h *Queue) Watch(receives int) { _ = h.k.d.LimitSRQ(h.q, receives) }
