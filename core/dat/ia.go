package dat

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"lapi/core/dat/codes"
	"lapi/cshim/dat/evd"
)

// IA is an interface adapter that a program has opened.
type IA struct {
	base
	Name  string
	Async *EVD // for asynchronous errors
	Addr  netip.Addr

	library   *Library
	engine    engine
	limits    Limits
	contexts  *contexts // the library's
	freed     uint64    // changes when memory that was looked up may be another's
	objects   []Object
	query     bool      // by dat_ib_open_query
	port      Interface // whose counts and attributes it shows
	addresses map[netip.Addr]*memoryBlock
	table     uint64 // of every slot
	counters  counters
	stopped   bool // the connection manager's counters
	errors    linkCount
	members   []*Member
}

// iasMax is how many adapters can be open.
const iasMax = 4096

// How dat_ia_openv is told of an asynchronous EVD that there is, or that nobody wants.
const (
	AsyncExists     Handle = 1
	AsyncOutOfScope Handle = 2
)

// OpenArgs are the arguments of dat_ia_openv, and of dat_ib_open_query.
type OpenArgs struct {
	Name string
	Size int
	// null, AsyncExists or AsyncOutOfScope; else another adapter's, to be shared
	Async  Handle
	Query  bool   // for queries only: no sockets are opened
	Params string // of the name in dat.conf: device and port
	Table  uint64 // address of another registry's table, its mark of objects; 0: there is none
}

// OpenIA is dat_ia_openv, and dat_ib_open_query.
func (l *Library) OpenIA(a OpenArgs) (*IA, codes.Return) {
	if a.Size <= 0 && a.Async == 0 {
		return nil, codes.Arg(2)
	}
	ia := &IA{Name: a.Name, library: l, addresses: map[netip.Addr]*memoryBlock{}, query: a.Query,
		table: a.Table, contexts: &l.contexts}
	if len(l.ias) >= iasMax || !l.handles.add(KindIA, nil, ia) {
		return nil, codes.InsufficientResources.With(codes.ResourceDevice)
	}
	ia.ia = ia
	if err := ia.start(a.Params); err != nil {
		l.handles.remove(ia)
		l.host.Message("dat_ia_open: " + err.Error())
		return nil, codes.InsufficientResources.With(codes.ResourceDevice)
	}
	l.ias = append(l.ias, ia)
	if r := ia.setAsync(a.Size, a.Async); r != codes.Success {
		ia.close()
		return nil, r
	}
	return ia, codes.Success
}

// asyncMin is how many asynchronous events an adapter keeps at the least: what a lost one would
// have told, no call tells, and deployed programs ask for fewer than they then wait for.
const asyncMin = 4096

func (ia *IA) setAsync(size int, async Handle) codes.Return {
	if async == AsyncExists {
		for _, o := range ia.library.ias {
			if o != ia && o.Name == ia.Name && o.Async != nil {
				o.Async.users++
				ia.Async = o.Async
				return codes.Success
			}
		}
	}
	if async == 0 || async == AsyncOutOfScope || async == AsyncExists {
		e, r := ia.NewEVD(max(size, asyncMin), 0, EVDAsync)
		if r == codes.Success {
			e.users++
			evd.SetAsync(uint64(e.handle), uint64(e.handle))
			ia.Async = e
		}
		return r
	}
	e, r := find[*EVD](ia.library, async, codes.InvalidHandleEVDAsync)
	if r == codes.Success && e.Flags&EVDAsync == 0 {
		r = codes.BadHandle(codes.InvalidHandleEVDAsync)
	}
	if r == codes.Success {
		e.users++
		ia.Async = e
	}
	return r
}

// add gives an object of the adapter a handle.
func (ia *IA) add(kind Kind, o Object) bool {
	if !ia.library.handles.add(kind, ia, o) {
		return false
	}
	ia.objects = append(ia.objects, o)
	return true
}

// remove makes an object's handle useless.
func (ia *IA) remove(o Object) {
	if i := slices.Index(ia.objects, o); i >= 0 {
		last := len(ia.objects) - 1
		ia.objects[i] = ia.objects[last]
		ia.objects[last] = nil
		ia.objects = ia.objects[:last]
	}
	ia.library.handles.remove(o)
	ia.library.host.Changed() // for who waits for it, and may be asleep by now
}

// Close is dat_ia_close. Graceful: only if nothing but the asynchronous EVD is left.
func (ia *IA) Close(graceful bool) codes.Return {
	left := len(ia.objects) + len(ia.members)
	if ia.Async != nil && ia.Async.ia == ia {
		left--
		if ia.Async.users > 1 {
			return codes.InvalidState.With(codes.InvalidStateIAInUse)
		}
	}
	if graceful && left > 0 {
		return codes.InvalidState.With(codes.InvalidStateIAInUse)
	}
	ia.close()
	return codes.Success
}

// orderOfEnd is in which order an abrupt close frees what is left: users before what they use.
var orderOfEnd = []func(Object) bool{
	func(o Object) bool { c, ok := o.(*Collective); return ok && c.Free() == codes.Success },
	func(o Object) bool { p, ok := o.(*PSP); return ok && p.Free() == codes.Success },
	func(o Object) bool { p, ok := o.(*RSP); return ok && p.Free() == codes.Success },
	func(o Object) bool {
		c, ok := o.(*CR)
		if ok {
			c.decide(nil)
		}
		return ok
	},
	func(o Object) bool {
		e, ok := o.(*EP)
		if ok {
			e.release()
		}
		return ok
	},
	func(o Object) bool {
		a, ok := o.(*AH)
		if ok {
			a.release()
		}
		return ok
	},
	func(o Object) bool { m, ok := o.(*RMR); return ok && m.Free() == codes.Success },
	func(o Object) bool {
		m, ok := o.(*LMR)
		if ok {
			m.release()
		}
		return ok
	},
	func(o Object) bool { s, ok := o.(*SRQ); return ok && s.Free() == codes.Success },
	func(o Object) bool { p, ok := o.(*PZ); return ok && p.Free() == codes.Success },
	func(o Object) bool {
		e, ok := o.(*EVD)
		if ok {
			e.release()
		}
		return ok
	},
	func(o Object) bool {
		c, ok := o.(*CNO)
		if ok {
			c.release()
		}
		return ok
	},
}

func (ia *IA) close() {
	l := ia.library
	for _, free := range orderOfEnd {
		for _, o := range slices.Clone(ia.objects) {
			free(o)
		}
	}
	for len(ia.members) > 0 {
		ia.members[0].free()
	}
	if l.network != nil {
		l.push() // the peers hear of the end
	}
	ia.engine.close()
	if ia.Async != nil && ia.Async.ia != ia {
		ia.Async.users--
	}
	for _, b := range ia.addresses {
		b.release()
	}
	l.ias = slices.DeleteFunc(l.ias, func(o *IA) bool { return o == ia })
	l.handles.remove(ia)
}

// Adapters is how many are open, those for queries not counted.
func (l *Library) Adapters() (n int) {
	for _, ia := range l.ias {
		if !ia.query {
			n++
		}
	}
	return n
}

// Shut closes the sockets, once no adapter is open.
func (l *Library) Shut() {
	switch {
	case l.Adapters() > 0:
	case l.network != nil:
		l.close()
	default: // RDMA adapters only
		l.memory.Release()
	}
}

// IsQuery says whether dat_ib_open_query has opened the adapter.
func (ia *IA) IsQuery() bool { return ia.query }

// Device is the name of the network interface.
func (ia *IA) Device() string { return ia.port.Name }

// asyncError tells the consumer of something that belongs to no call.
func (ia *IA) asyncError(number EventNumber, h Handle, reason uint32) {
	ia.count(iaAsyncError)
	if ia.Async != nil {
		ev := asyncEvent(number, h, reason)
		ia.Async.post(&ev)
	}
}

// Break reports to each adapter that the library cannot go on.
func (l *Library) Break() {
	for _, ia := range l.ias {
		ia.asyncError(EventIACatastrophic, ia.handle, 0)
	}
}

// Reasons of asynchronous errors of an SRQ.
const asyncSRQLow = 2

// address is where the sockaddr of an address is, as long as the adapter is open.
func (ia *IA) address(a netip.Addr) uint64 {
	b := ia.addresses[a]
	if b == nil {
		b = &memoryBlock{}
		ia.addresses[a] = b
		at, _ := b.keep(ia, sockaddr(netip.AddrPortFrom(a, 0)))
		return at
	}
	return blockAddress(b)
}

// Address is where the sockaddr of the adapter's own address is.
func (ia *IA) Address() uint64 { return ia.address(ia.Addr) }

// AddressOf is where the sockaddr of another one is.
func (ia *IA) AddressOf(a netip.Addr) uint64 { return ia.address(a) }

// sockaddr is a struct sockaddr_in or sockaddr_in6.
func sockaddr(a netip.AddrPort) []byte {
	ip := a.Addr().Unmap()
	if ip.Is4() || !ip.IsValid() {
		b := make([]byte, 16)
		binary.NativeEndian.PutUint16(b, 2)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		if ip.IsValid() {
			copy(b[4:], ip.AsSlice())
		}
		return b
	}
	b := make([]byte, 28)
	binary.NativeEndian.PutUint16(b, 10)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	copy(b[8:], ip.AsSlice())
	return b
}

// SockaddrSize is how many bytes of a sockaddr of that family Addr needs; 0: no family of this
// library.
func SockaddrSize(family uint16) int {
	switch family {
	case 2:
		return 16
	case 10:
		return 28
	}
	return 0
}

// Addr reads a sockaddr.
func Addr(b []byte) (netip.Addr, bool) {
	if len(b) < 2 {
		return netip.Addr{}, false
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == 2 && len(b) >= 16:
		return netip.AddrFrom4([4]byte(b[4:8])), true
	case family == 10 && len(b) >= 28:
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap(), true
	}
	return netip.Addr{}, false
}

// IAOf is the adapter of a handle.
func (l *Library) IAOf(h Handle) (*IA, codes.Return) {
	return find[*IA](l, h,
		codes.InvalidHandleIA)
}

// IA is the adapter that an object belongs to.
func (b *base) IA() *IA { return b.ia }

// Object is what a handle names.
type Object interface{ object() *base }

// SetContext and Context are the consumer's context of an object.
func SetContext(o Object, c uint64) { o.object().context = c }

// Context is what SetContext set.
func Context(o Object) uint64 { return o.object().context }

// KindOf is an object's kind.
func KindOf(o Object) Kind { return Kind(o.object().slot.Kind - 1) }

// Mergeable says whether streams may share an EVD.
func Mergeable(f EVDFlags) bool { return mergeable(f) }
