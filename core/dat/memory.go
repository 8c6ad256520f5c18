package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/cshim/dat/dev"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
)

// Privileges of a memory region (DAT_MEM_PRIV_FLAGS).
type Privileges uint32

// The privileges.
const (
	LocalRead    Privileges = 0x1
	RemoteRead   Privileges = 0x2
	LocalWrite   Privileges = 0x10
	RemoteWrite  Privileges = 0x20
	RemoteAtomic Privileges = 0x40

	allPrivileges = LocalRead | RemoteRead | LocalWrite | RemoteWrite | RemoteAtomic
)

// Memory types (DAT_MEM_TYPE).
const (
	MemVirtual = 0
	MemLMR     = 1
	MemShared  = 2
)

// PZ is a protection zone.
type PZ struct {
	base
	users int
	zone  *device.Zone // of an RDMA adapter; nil over links
}

// NewPZ is dat_pz_create.
func (ia *IA) NewPZ() (*PZ, codes.Return) {
	p := &PZ{}
	if r := ia.engine.openZone(p); r != codes.Success {
		return nil, r
	}
	if !ia.add(KindPZ, p) {
		p.zone.Close()
		return nil, codes.InsufficientResources.With(codes.ResourceProtectionDomain)
	}
	ia.count(iaPZCreate)
	return p, codes.Success
}

// Free is dat_pz_free.
func (p *PZ) Free() codes.Return {
	if p.users > 0 {
		return codes.InvalidState.With(codes.InvalidStatePZInUse)
	}
	p.zone.Close()
	p.ia.remove(p)
	p.ia.count(iaPZFree)
	return codes.Success
}

// discard implements Object.
func (p *PZ) discard() { p.Free() }

// region is memory that a context names.
type region struct {
	addr       uint64
	n          uint64
	pz         *PZ
	privileges Privileges
	zeroBased  bool
	lmr        *LMR
	rmr        *RMR // that names it; nil: it is an LMR's own

	keys   ibv.Keys       // its contexts: in local triplets, and in those of peers
	of     *device.Region // of an RDMA adapter; nil over links
	window *device.Window // of an RDMA adapter, once that is bound
}

// contexts maps the contexts of triplets to memory, of all adapters: a look-up knows the protection
// zone. A context is an index, and 12 bits that change with every use of the place.
type contexts struct {
	places []contextPlace
	free   []uint32
	shared *ownTable // what C and the peers know of them; nil: nothing
}

type contextPlace struct {
	region *region
	stamp  uint32
}

const (
	contextIndex  = 20 // bits
	contextsMax   = layout.DatTableNames
	contextStamps = 1 << 12
)

// add gives r, which may be nil for now, a context, never 0; false: there is none.
func (t *contexts) add(r *region, random uint64) (uint32, bool) {
	var i uint32
	switch n := len(t.free); {
	case n > 64 || n > 0 && len(t.places) == contextsMax: // not at once the one freed last
		i = t.free[0]
		t.free = t.free[1:]
	case len(t.places) == contextsMax:
		return 0, false
	default:
		i = uint32(len(t.places))
		t.places = append(t.places, contextPlace{stamp: uint32(random) % contextStamps})
	}
	p := &t.places[i]
	p.region = r
	for {
		if p.stamp = (p.stamp + 1 + uint32(random>>32)%7) % contextStamps; p.stamp != 0 {
			context := p.stamp<<contextIndex | i
			t.shared.tell(context, r)
			return context, true
		}
	}
}

// set says what a context names that add has given for nothing.
func (t *contexts) set(context uint32, r *region) {
	t.places[context&layout.DatContextIndex].region = r
	t.shared.tell(context, r)
}

// find is what a context names; nil: nothing.
func (t *contexts) find(context uint32) *region {
	i := context & layout.DatContextIndex
	if int(i) >= len(t.places) || t.places[i].stamp != context>>contextIndex {
		return nil
	}
	return t.places[i].region
}

func (t *contexts) remove(context uint32) {
	i := context & layout.DatContextIndex
	t.shared.tell(context, nil)
	t.places[i].region = nil
	t.free = append(t.free, i)
}

// in finds n bytes at addr in a region, as the program counts them.
func (r *region) in(addr, n uint64) (transport.Addr, bool) {
	start := r.as(r.addr)
	if addr < start || addr-start > r.n || n > r.n-(addr-start) {
		return 0, false
	}
	return transport.Addr(r.addr + (addr - start)), true
}

// as is what the program, its peers and an adapter call an address of the region.
func (r *region) as(addr uint64) uint64 {
	if r.zeroBased {
		return addr - r.addr
	}
	return addr
}

// LMR is a local memory region.
type LMR struct {
	base
	Type    int
	Region  [2]uint64 // DAT_REGION_DESCRIPTION as given
	Length  uint64
	PZ      *PZ
	Context uint32
	users   int // RMRs bound to it, and binds on their way
	region  region

	shared *sharedMemory // of MemShared
	cookie memoryBlock
}

// LMRArgs are the arguments of dat_lmr_create.
type LMRArgs struct {
	Type       int
	Region     [2]uint64
	Length     uint64
	PZ         Handle
	Privileges Privileges
	ZeroBased  bool
	Cookie     []byte // of MemShared: the 40 bytes that Region names
}

// NewLMR is dat_lmr_create.
func (ia *IA) NewLMR(a LMRArgs) (*LMR, codes.Return) {
	pz, r := findIn[*PZ](ia, a.PZ, codes.InvalidHandlePZ, false)
	if r != codes.Success {
		return nil, r
	}
	m := &LMR{Type: a.Type, Region: a.Region, Length: a.Length, PZ: pz}
	m.region = region{addr: a.Region[0], n: a.Length, pz: pz, privileges: a.Privileges,
		zeroBased: a.ZeroBased, lmr: m}
	switch {
	case a.Privileges&^allPrivileges != 0:
		return nil, codes.Arg(6)
	case a.Type == MemLMR:
		of, r := findIn[*LMR](ia, Handle(a.Region[0]), codes.InvalidHandleLMR, false)
		switch {
		case r != codes.Success:
			return nil, r
		case a.Privileges&^of.region.privileges != 0:
			return nil, codes.PrivilegesViolation.With(codes.NoSubtype)
		}
		m.Length = of.Length
		m.region.addr, m.region.n = of.region.addr, of.region.n
	case a.Type == MemShared && a.Cookie == nil:
		return nil, codes.Arg(3)
	case a.Type != MemVirtual && a.Type != MemShared:
		return nil, codes.Arg(2)
	case a.Length == 0:
		return nil, codes.LengthError.With(codes.NoSubtype)
	case a.Region[0]+a.Length < a.Region[0]:
		return nil, codes.Arg(3)
	}
	if a.Type == MemShared {
		if r := m.share(ia, a.Cookie); r != codes.Success {
			return nil, r
		}
	}
	r = ia.engine.register(&m.region)
	if r == codes.Success && !ia.add(KindLMR, m) {
		ia.engine.deregister(&m.region)
		r = codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	if r != codes.Success {
		m.unshare()
		return nil, r
	}
	m.Context = m.region.keys.Local
	pz.users++
	ia.count(iaLMRCreate)
	return m, codes.Success
}

// Address is where the memory is.
func (m *LMR) Address() uint64 { return m.region.addr }

// RemoteContext is what peers name the memory by.
func (m *LMR) RemoteContext() uint32 { return m.region.keys.Remote }

// Privileges are its.
func (m *LMR) Privileges() Privileges { return m.region.privileges }

// ZeroBased says whether addresses in it begin at 0.
func (m *LMR) ZeroBased() bool { return m.region.zeroBased }

// Free is dat_lmr_free.
func (m *LMR) Free() codes.Return {
	if m.users > 0 {
		return codes.InvalidState.With(codes.InvalidStateLMRInUse)
	}
	m.release()
	m.ia.count(iaLMRFree)
	return codes.Success
}

func (m *LMR) release() {
	m.ia.engine.deregister(&m.region)
	m.unshare()
	m.ia.freed++
	m.PZ.users--
	m.ia.remove(m)
}

// discard implements Object.
func (m *LMR) discard() { m.release() }

// RMR is a remote memory region: a window of an LMR.
type RMR struct {
	base
	PZ      *PZ
	LMR     *LMR // that it is bound to; nil: none
	Triplet Triplet
	Context uint32
	// ForEP: only the peer of the endpoint that it is bound on may use it, where the adapter can
	// see to that.
	ForEP  bool
	region region

	window  *device.Window // of an RDMA adapter, for its next bind, or bound; nil: none
	pending int            // binds that are not complete
	last    *binding       // the newest of them
}

// Triplet names local memory (DAT_LMR_TRIPLET), or a peer's (DAT_RMR_TRIPLET).
type Triplet = dev.Triplet

// NewRMR is dat_rmr_create, and dat_rmr_create_for_ep.
func (ia *IA) NewRMR(pz Handle, forEP bool) (*RMR, codes.Return) {
	p, r := findIn[*PZ](ia, pz, codes.InvalidHandlePZ, false)
	if r != codes.Success {
		return nil, r
	}
	m := &RMR{PZ: p, ForEP: forEP}
	if r = ia.engine.openRMR(m); r != codes.Success {
		return nil, r
	}
	if !ia.add(KindRMR, m) {
		m.window.Close()
		return nil, codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	p.users++
	ia.count(iaRMRCreate)
	return m, codes.Success
}

// Privileges are those that it is bound with.
func (m *RMR) Privileges() Privileges { return m.region.privileges }

// ZeroBased says whether addresses in it begin at 0.
func (m *RMR) ZeroBased() bool { return m.region.zeroBased }

// local finds the local memory of a post. A violation is reported by the completion.
func (ia *IA) local(p *posted) (segments []rc.Segment, ok bool) {
	segments = make([]rc.Segment, 0, len(p.triplets))
	for _, t := range p.triplets {
		if t.N == 0 {
			continue
		}
		r := ia.engine.find(t.Context, p.byRMR)
		if r == nil || r.pz != p.pz {
			return nil, false
		}
		isLMR := r.rmr == nil
		if isLMR == p.byRMR || isLMR && r.privileges&p.need != p.need ||
			!isLMR && r.privileges&(RemoteWrite|LocalWrite) == 0 {
			return nil, false
		}
		addr, inside := r.in(t.Addr, uint64(t.N))
		if !inside {
			return nil, false
		}
		segments = append(segments, rc.Segment{Addr: addr, N: t.N})
	}
	return segments, true
}

// remote finds memory that the peer of an endpoint of pz names.
func (ia *IA) remote(pz *PZ, context uint32, addr transport.Addr, n uint64,
	right rc.Right) (transport.Addr, bool) {
	need := [...]Privileges{rc.RightRead: RemoteRead, rc.RightWrite: RemoteWrite,
		rc.RightAtomic: RemoteAtomic}[right]
	r := ia.contexts.find(context)
	if r == nil || r.pz != pz || r.privileges&need == 0 {
		return 0, false
	}
	return r.in(uint64(addr), n)
}
