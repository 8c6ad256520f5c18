package device

import (
	"lapi/core/dat/codes"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// Zone is a protection zone: memory and the pairs that access it must be of the same zone.
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

// Number is the number by which a bind names the region.
func (r *Region) Number() ibv.MR { return r.r }

// Deregister ends the region: no peer accesses it after that.
func (r *Region) Deregister() { _ = r.k.d.DeregMR(r.r) }

// Memory is the memory that a context of local triplets names.
type Memory = dev.Memory

// AddMemory sets the memory of a context; false: there is no memory. RemoveMemory removes it.
func (k *Device) AddMemory(m *Memory) bool { return k.c.AddMemory(m) }

// RemoveMemory is described at AddMemory.
func (k *Device) RemoveMemory(context uint32, window bool) { k.c.RemoveMemory(context, window) }

// ForgetEVD says that an EVD is freed, to which receives of pairs that are gone may go.
func (k *Device) ForgetEVD(evd uint64) { k.c.ForgetEVD(evd) }

// Queue is receives that several pairs share.
type Queue struct {
	k     *Device
	q     ibv.SRQ
	c     dev.Queue
	owner QueueOwner
}

// NewQueue makes a queue for a number of receives, of a number of segments each. Events and checks
// name the zone by its handle.
func (z *Zone) NewQueue(receives, segments int, zone uint64, owner QueueOwner) (*Queue,
	codes.Return) {
	none := codes.InsufficientResources.With(codes.ResourceSRQ)
	q, err := z.k.d.CreateSRQ(z.z, receives, segments)
	if err != nil {
		return nil, none
	}
	h := &Queue{k: z.k, q: q, owner: owner}
	var ok bool
	if h.c, ok = z.k.c.OpenQueue(uintptr(q), zone, receives); !ok {
		_ = z.k.d.DestroySRQ(q)
		return nil, none
	}
	z.k.queues[h] = true
	return h, codes.Success
}

// Close ends the queue.
func (h *Queue) Close() {
	_ = h.k.d.DestroySRQ(h.q)
	delete(h.k.queues, h)
	h.c.Close()
}

// Resize changes the number of receives that fit.
func (h *Queue) Resize(receives int) codes.Return {
	if !h.c.Resize(receives) || h.k.d.ResizeSRQ(h.q, receives) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	return codes.Success
}

// Address is the address of C's part of it.
func (h *Queue) Address() uint64 { return h.c.Address() }

// Post adds a receive.
func (h *Queue) Post(t []dev.Triplet, cookie uint64) codes.Return {
	return codes.Return(h.c.Post(t, cookie))
}

// Posted is how many receives are not complete.
func (h *Queue) Posted() int { return h.c.Posted() }

// Watch has the adapter report, once, when a message leaves fewer receives than that, and C when
// completions do.
func (h *Queue) Watch(receives int) {
	h.c.Watch(receives)
	_ = h.k.d.LimitSRQ(h.q, receives)
}

func (h *Queue) collectLow() {
	if h.c.IsLow() {
		h.c.Watch(0)
		h.owner.Low()
	}
}
