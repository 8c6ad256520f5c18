package dat

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"lapi/core/dat/codes"
	"lapi/cshim/dat/evd"
)

// iasMax is how many adapters can be open.
const iasMax = 4096

// The values by which dat_ia_openv gets an asynchronous EVD that exists, or none.
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

// asyncMin is how many asynchronous events an adapter keeps at the least: no call returns the
// information of a lost event, and deployed programs ask for fewer than they then wait for.
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

// start gives the adapter its engine: that of an RDMA adapter where the first word of params, what
// the registry knows of the name, means one.
func (ia *IA) start(params string) error {
	l := ia.library
	name, _, _ := strings.Cut(strings.TrimSpace(params), " ")
	if adapter := ia.adapterName(name); l.cfg.Adapters != nil && adapter != "" {
		if addr, ok := l.cfg.Adapters.Find(adapter); ok {
			d, err := l.cfg.Adapters.Open(addr)
			if err != nil {
				return fmt.Errorf("%s: %w", ia.Name, err)
			}
			return ia.startDevice(d)
		}
	}
	ia.engine, ia.limits = links{ia}, linkLimits
	ia.port = interfaceOf(l.cfg.Interfaces(), ia.Name, name)
	ia.Addr = ia.port.Addr
	if ia.query {
		return nil
	}
	return l.openSockets()
}

// adapterName is the RDMA adapter that the adapter may be: the name that the registry knows,
// or without one what follows the last hyphen of its own name, if that is no network interface.
func (ia *IA) adapterName(known string) string {
	at := strings.LastIndexByte(ia.Name, '-')
	if known != "" || at < 0 {
		return known
	}
	end := ia.Name[at+1:]
	named := func(i Interface) bool { return i.Name == end }
	if ia.library.cfg.Interfaces != nil && slices.ContainsFunc(ia.library.cfg.Interfaces(), named) {
		return ""
	}
	return end
}

// openSockets opens the process's sockets, if they are not open: with the first adapter whose data
// goes over links, or with the first member of a group on an RDMA adapter.
func (l *Library) openSockets() error {
	if l.network != nil {
		return nil
	}
	if err := l.open(); err != nil || l.Adapters() == 0 {
		return err // the first adapter's descriptors are known before a thread sleeps
	}
	for _, fd := range l.network.Descriptors() {
		l.host.Watch(fd)
	}
	return nil
}

// Limits are the adapter's.
func (ia *IA) Limits() Limits { return ia.limits }

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

// discardOrder is the order in which an abrupt close discards objects: users before what they use.
var discardOrder = []Kind{KindCollective, KindPSP, KindRSP, KindCR, KindEP, kindAH, KindRMR, KindLMR,
	KindSRQ, KindPZ, KindEVD, KindCNO}

// discard implements Object.
func (ia *IA) discard() { ia.close() }

func (ia *IA) close() {
	l := ia.library
	for _, kind := range discardOrder {
		for _, o := range slices.Clone(ia.objects) {
			if !o.object().freed && KindOf(o) == kind {
				o.discard()
			}
		}
	}
	for len(ia.members) > 0 {
		ia.members[0].free()
	}
	if l.network != nil {
		l.push() // notifies the peers of the end
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
