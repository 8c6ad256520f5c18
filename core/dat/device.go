package dat

import (
	"slices"

	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/core/progress"
)

// device is the engine of an RDMA adapter. What connections are made of is in device_call.go, how
// data goes in device_pair.go.
type device struct {
	ia   *IA
	d    adapter.Device
	info adapter.Info

	regions map[uint32]*region // of LMRs, by the key of local memory
	windows map[uint32]*region // of RMRs, by the key that peers use
	pools   []*pool
	quiet   int              // of them are an EVD's
	armed   bool             // a thread sleeps, or is about to
	pairs   map[uint32]*pair // by serial, those that have a queue pair
	numbers map[uint32]*pair // by the queue pair's number
	queues  map[uint32]*sharedQueue
	serial  uint32 // of the newest pair or queue

	calls    map[adapter.ID]*call
	services map[adapter.ID]*service // by each of their two IDs
	due      int64                   // no call has anything to do before; 0: none has at all
	turns    int                     // until it is looked for events of connections
	broken   []*pair                 // their connections are about to end
	found    [foundMax]adapter.Completion
	work     adapter.Work      // of a post; adapters keep neither it nor its segments
	list     []adapter.Segment // of a post or a receive
}

const (
	foundMax   = 32      // completions that are taken at once
	poolSize   = 1 << 12 // completions that a queue of several pairs holds
	quietSize  = 1 << 8  // and one of an EVD's receives that are solicited
	eventTurns = 16      // looks for completions to one for events, which costs a system call
)

// pool is a completion queue. Each pair that uses it has as much room there as it may post. One of
// evd has its receives that are solicited; see device_solicited.go.
type pool struct {
	c          adapter.Completions
	size, used int
	evd        *EVD // nil: it is for everything
	news       bool // the adapter has told of it
	wakes      bool // there is something solicited
}

// startDevice makes a device the adapter's engine.
func (ia *IA) startDevice(d adapter.Device) {
	info := d.Info()
	k := &device{ia: ia, d: d, info: info, regions: map[uint32]*region{},
		windows: map[uint32]*region{}, pairs: map[uint32]*pair{}, numbers: map[uint32]*pair{},
		queues: map[uint32]*sharedQueue{}, calls: map[adapter.ID]*call{},
		services: map[adapter.ID]*service{}}
	ia.engine, ia.limits = k, deviceLimits(&info)
	ia.Addr = info.Addr
	ia.port = Interface{Name: info.Name, Addr: info.Addr, MTU: info.MTU, Running: info.Active}
	ia.library.devices = append(ia.library.devices, k)
	for _, fd := range d.Files() {
		ia.library.host.Watch(fd)
	}
}

// Private data that the messages of InfiniBand's connection manager have room for, behind what the
// RDMA connection manager and the original provider put in front.
const (
	privateConnect = 56
	privateAccept  = 160
	privateReject  = 144
)

func deviceLimits(i *adapter.Info) Limits {
	return Limits{EPs: int32(i.MaxQPs), EVDs: manyObjects, PZs: int32(i.MaxZones),
		SRQs: int32(i.MaxQueues), LMRs: int32(i.MaxRegions),
		DTOs: int32(min(i.MaxRequests, MaxDTOs)), SRQDTOs: int32(min(i.MaxQueueReceives, MaxDTOs)),
		IOV:     int32(min(i.MaxSegments, MaxIOV)),
		ReadIOV: int32(min(i.MaxReadSegments, MaxIOV)), ReadsIn: int32(i.MaxReadsIn),
		ReadsOut: int32(i.MaxReadsOut), Message: uint32(min(i.MaxMessage, MaxMessage)),
		Datagram: i.MTU, PrivateConnect: privateConnect, PrivateAccept: privateAccept,
		PrivateReject: privateReject, RMRsForEP: i.OwnWindows}
}

// Adapted says whether data goes by an RDMA adapter. Who waits for one sleeps: it is further away
// than a process of the same node, its driver may need the processor (as soft-RoCE does), and a
// program that wants to poll does so by dat_evd_dequeue.
func (l *Library) Adapted() bool { return len(l.devices) > 0 }

// close ends everything that is left. The adapter's objects are freed.
func (k *device) close() {
	l := k.ia.library
	for _, fd := range k.d.Files() {
		l.host.Unwatch(fd)
	}
	for id := range k.calls {
		k.d.FreeID(id)
	}
	for _, p := range k.pools {
		_ = k.d.FreeCompletions(p.c)
	}
	k.d.Close()
	for i, o := range l.devices {
		if o == k {
			l.devices = append(l.devices[:i:i], l.devices[i+1:]...)
			break
		}
	}
}

// reserve finds a completion queue with room for n: for everything, or for evd's.
func (k *device) reserve(n int, evd *EVD) (*pool, codes.Return) {
	n = max(n, 1)
	for _, p := range k.pools {
		if p.evd == evd && p.size-p.used >= n {
			p.used += n
			return p, codes.Success
		}
	}
	size := poolSize
	if evd != nil {
		size = quietSize
	}
	size = min(max(n, size), k.info.MaxCompletions)
	none := codes.InsufficientResources.With(codes.ResourceTEP)
	if size < n {
		return nil, none
	}
	c, err := k.d.NewCompletions(size)
	if err != nil {
		return nil, none
	}
	p := &pool{c: c, size: size, used: n, evd: evd}
	k.pools = append(k.pools, p)
	if evd != nil {
		k.quiet++
		k.d.Arm(c, true)
	}
	return p, codes.Success
}

// giveBack ends a reservation, of a queue pair that is gone.
func (k *device) giveBack(p *pool, n int) {
	p.used -= max(n, 1)
	if p.evd != nil && p.used == 0 {
		_ = k.d.FreeCompletions(p.c)
		at := slices.Index(k.pools, p)
		k.pools = append(k.pools[:at:at], k.pools[at+1:]...)
		k.quiet--
	}
}

// progress takes completions and events. It returns how many.
func (k *device) progress() (n int) {
	for _, p := range k.pools {
		n += k.poll(p)
	}
	n += k.endBroken()
	if k.turns--; k.turns < 0 {
		n += k.events()
	}
	if k.due != 0 { // to ask for the time costs as much as the rest, where the kernel has to tell
		if now := k.ia.library.cfg.Clock(); now >= k.due {
			k.onTimeout(now)
		}
	}
	return n + k.endBroken()
}

// poll takes completions of a queue.
func (k *device) poll(p *pool) int {
	n := k.d.Poll(p.c, k.found[:])
	for i := range n {
		k.complete(&k.found[i])
	}
	return n
}

// drain takes all that there are.
func (k *device) drain(p *pool) (n int) {
	for {
		found := k.poll(p)
		if n += found; found < foundMax {
			return n
		}
	}
}

// events takes what has happened to connections, and to the adapter.
func (k *device) events() (n int) {
	for {
		e := k.d.Event()
		if e.Kind == adapter.NoEvent {
			break
		}
		// A peer's last data has come before the word that it has left.
		for _, p := range k.pools {
			k.drain(p)
		}
		k.endBroken()
		k.onEvent(&e)
		n++
	}
	for {
		a := k.d.Async()
		if a.Kind == adapter.NoAsync {
			break
		}
		k.onAsync(a)
		n++
	}
	n += k.notice()
	if k.turns = eventTurns; n > 0 {
		k.turns = 0
	}
	return n
}

func (k *device) onAsync(a adapter.Async) {
	switch a.Kind {
	case adapter.Broken:
		k.ia.asyncError(EventIACatastrophic, k.ia.handle, 0)
		for _, q := range k.numbers {
			k.breakOff(q)
		}
		k.endBroken()
	case adapter.QPBroken:
		if q := k.numbers[a.QPN]; q != nil {
			k.breakOff(q)
			k.endBroken()
		}
	case adapter.QueueLow:
		for _, h := range k.queues {
			if h.q == a.Queue {
				h.s.tellLow()
			}
		}
	}
}

// arm says whether a thread may sleep: files become readable then when there is something to do.
func (k *device) arm() bool {
	k.armed = true
	for _, p := range k.pools {
		if p.evd == nil {
			k.d.Arm(p.c, false)
		}
	}
	k.turns = 0
	return k.progress() == 0
}

func (k *device) disarm() {
	k.armed = false
	k.d.Quiet(k.told)
	k.turns = 0
}

// nextTimeout is when progress has something to do even if nothing arrives; 0: never.
func (k *device) nextTimeout() int64 { return k.due }

// wakeAt makes onTimeout run at that time.
func (k *device) wakeAt(t int64) { k.due = progress.Earlier(k.due, t) }

func (k *device) openZone(p *PZ) codes.Return {
	z, err := k.d.NewZone()
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceProtectionDomain)
	}
	p.zone = z
	return codes.Success
}

func (k *device) closeZone(p *PZ) { _ = k.d.FreeZone(p.zone) }

// accesses are what privileges are to an adapter.
var accesses = map[Privileges]adapter.Access{RemoteWrite: adapter.Write, RemoteRead: adapter.Read,
	RemoteAtomic: adapter.Atomic, LocalWrite: adapter.LocalWrite}

func accessOf(p Privileges) (access adapter.Access) {
	for bit, a := range accesses {
		if p&bit != 0 {
			access |= a
		}
	}
	return access
}

func (k *device) register(r *region) codes.Return {
	as := r.addr
	if r.zeroBased {
		as = 0
	}
	of, keys, err := k.d.Register(r.pz.zone, r.addr, r.n, as, accessOf(r.privileges))
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	r.of, r.keys = of, keys
	if _, is := r.owner.(*RMR); is {
		k.windows[keys.Remote] = r
	} else {
		k.regions[keys.Local] = r
	}
	return codes.Success
}

func (k *device) deregister(r *region) {
	_, is := r.owner.(*RMR)
	switch {
	case is && k.windows[r.keys.Remote] == r:
		delete(k.windows, r.keys.Remote)
	case !is:
		delete(k.regions, r.keys.Local)
	}
	if r.window == nil {
		_ = k.d.Deregister(r.of)
	}
}

func (k *device) find(context uint32, byRMR bool) *region {
	if byRMR {
		return k.windows[context]
	}
	return k.regions[context]
}

// sharedQueue is an SRQ as the adapter has it.
type sharedQueue struct {
	s        *SRQ
	q        adapter.Queue
	serial   uint32
	next     uint32 // number of the next receive
	receives map[uint32]*rc.Receive
}

func (k *device) openQueue(s *SRQ) codes.Return {
	q, err := k.d.NewQueue(s.PZ.zone, int(s.Max), int(s.MaxIOV))
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	s.shared = &sharedQueue{s: s, q: q, serial: k.newSerial(), receives: map[uint32]*rc.Receive{}}
	k.queues[s.shared.serial] = s.shared
	return codes.Success
}

// newSerial is a number for a pair or queue. It has 31 bits.
func (k *device) newSerial() uint32 {
	for {
		k.serial = (k.serial + 1) % (1 << 31)
		if k.pairs[k.serial] == nil && k.queues[k.serial] == nil {
			return k.serial
		}
	}
}

func (k *device) closeQueue(s *SRQ) {
	_ = k.d.FreeQueue(s.shared.q)
	delete(k.queues, s.shared.serial)
}

func (k *device) resizeQueue(s *SRQ, max int32) codes.Return {
	if k.d.ResizeQueue(s.shared.q, int(max)) != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	return codes.Success
}

func (k *device) postShared(s *SRQ, r *rc.Receive) codes.Return {
	h := s.shared
	err := k.d.Receive(0, h.q, receiveID(h.serial, h.next), k.segments(r.Owner.(*posted)))
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceSRQ)
	}
	h.receives[h.next] = r
	h.next++
	return codes.Success
}

// waiting counts what has not completed: an adapter does not tell which a message has taken.
func (k *device) waiting(s *SRQ) int { return s.posted }

// watch: the adapter knows better than waiting. Of few receives that no message takes any more it
// does not tell, so SetLow looks, too.
func (k *device) watch(s *SRQ) { _ = k.d.LimitQueue(s.shared.q, int(s.LowWatermark)) }

func (k *device) lacks(a *PostArgs) bool {
	return a.Invalidate && !k.info.Invalidates || a.Op >= rc.CompareSwap && !k.info.Atomics
}

func (k *device) freePath(ah *AH) { k.d.FreePath(ah.path) }
