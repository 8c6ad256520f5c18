package device

import (
	"errors"
	"slices"

	"lapi/core/dat/codes"
	"lapi/core/progress"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// Device is an RDMA adapter at work: its objects, the events that it takes, and the connections that
// are being made. Posts and completions are C's (cshim/dat/dev), which leaves the unusual to it. All of
// it is used under its owner's lock.
type Device struct {
	d       ibv.Adapter
	c       dev.Adapter
	host    Host
	timeout int64 // ns after which a silent peer is gone
	info    ibv.Info

	windows map[uint32]*Window // windows whose binds are in effect, by the key that peers use
	pools   []*pool
	quiet   int                // how many of the pools are a Waker's
	gone    bool               // the adapter has failed
	armed   bool               // a thread sleeps, or is about to
	pairs   map[dev.Pair]*Pair // those that have a queue pair
	numbers map[uint32]*Pair   // by the queue pair's number
	queues  map[*Queue]bool

	calls     map[ibv.ID]*Call
	listeners map[ibv.ID]*Listener // by each of their two IDs
	due       int64                // no call has work before; 0: none has at all
	broken    []*Pair              // their connections are about to end
	notice    *dev.Notice
}

const (
	poolSize  = 1 << 12 // completions that a queue of several pairs holds
	quietSize = 1 << 8  // and one of a Waker's receives that are solicited
)

var errNoMemory = errors.New("uDAPL: there is no memory")

// pool is a completion queue. Each pair that uses it has as much room there as it may post. One of
// a Waker has its receives that are solicited; see solicited.go.
type pool struct {
	c          dev.Pool
	cq         ibv.CQ
	size, used int
	waker      Waker // nil: it is for all completions
	ready      bool  // the adapter has reported completions in it
	wakes      bool  // it holds solicited completions
	failed     bool  // completions were lost: its pairs end, and so it does
}

// New makes a Device of an adapter that is open, which belongs to it then. timeout is in ns.
func New(d ibv.Adapter, host Host, timeout int64) (*Device, error) {
	k := &Device{d: d, host: host, timeout: timeout, info: d.Info(),
		windows: map[uint32]*Window{}, pairs: map[dev.Pair]*Pair{}, numbers: map[uint32]*Pair{},
		queues: map[*Queue]bool{}, calls: map[ibv.ID]*Call{},
		listeners: map[ibv.ID]*Listener{}, notice: new(dev.Notice)}
	var ok bool
	if k.c, ok = dev.Open(k.info.MaxInline, k.info.Invalidates, k.info.Atomics); !ok {
		_ = d.Close()
		return nil, errNoMemory
	}
	return k, nil
}

// Active says whether the port is up.
func (k *Device) Active() bool { return k.d.Active() }

// Close ends everything that is left, and closes the adapter. Zones, regions, windows, pairs and
// queues were closed before.
func (k *Device) Close() {
	for id := range k.calls {
		k.d.FreeID(id)
	}
	for _, p := range k.pools {
		k.c.RemovePool(p.c)
		_ = k.d.DestroyCQ(p.cq)
	}
	k.c.Close()
	_ = k.d.Close()
}

// reserve finds a completion queue with room for n: for everything, or for a Waker's.
func (k *Device) reserve(n int, waker Waker) (*pool, codes.Return) {
	n = max(n, 1)
	for _, p := range k.pools {
		if p.waker == waker && p.size-p.used >= n {
			p.used += n
			return p, codes.Success
		}
	}
	size := poolSize
	if waker != nil {
		size = quietSize
	}
	size = min(max(n, size), k.info.MaxCQE)
	none := codes.InsufficientResources.With(codes.ResourceTEP)
	if size < n {
		return nil, none
	}
	cq, err := k.d.CreateCQ(size)
	if err != nil {
		return nil, none
	}
	if d, ok := k.d.(interface{ Leave(ibv.CQ) }); ok {
		d.Leave(cq)
	}
	c, ok := k.c.AddPool(uintptr(cq))
	if !ok {
		_ = k.d.DestroyCQ(cq)
		return nil, none
	}
	p := &pool{c: c, cq: cq, size: size, used: n, waker: waker}
	k.pools = append(k.pools, p)
	if waker != nil {
		k.quiet++
		_ = k.d.ArmCQ(cq, true)
	}
	return p, codes.Success
}

// giveBack ends the reservation of a queue pair that is gone.
func (k *Device) giveBack(p *pool, n int) {
	p.used -= max(n, 1)
	k.retire(p)
}

// retire ends a queue that no pair uses, and none will.
func (k *Device) retire(p *pool) {
	if (p.waker == nil && !p.failed) || p.used > 0 {
		return
	}
	k.c.RemovePool(p.c)
	_ = k.d.DestroyCQ(p.cq)
	at := slices.Index(k.pools, p)
	k.pools = append(k.pools[:at:at], k.pools[at+1:]...)
	if p.waker != nil {
		k.quiet--
	}
}

// TakeWork says whether C has left something to the devices, once. A turn of all devices begins so.
func TakeWork() bool { return dev.TakeWork() }

// Progress takes completions and events. It returns how many. work: C has left something.
func (k *Device) Progress(work bool) (n int) {
	n = k.drain(nil)
	if work || dev.Work() {
		k.collect()
	}
	n += k.endBroken() + k.events()
	if k.due != 0 { // to ask for the time costs as much as the rest, where it is a system call
		if now := k.host.Now(); now >= k.due {
			k.onTimeout(now)
		}
	}
	return n + k.endBroken()
}

// collect sees to requests that the adapter does not know, to ends that wait for requests, and to
// queues in which few receives are left.
func (k *Device) collect() {
	for _, q := range k.pairs {
		q.settle()
	}
	for h := range k.queues {
		h.collectLow()
	}
}

// drain takes all completions of a queue that there are; of all queues if p is nil.
func (k *Device) drain(p *pool) (n int) {
	c := dev.Pool{}
	if p != nil {
		c = p.c
	}
	for k.c.Step(c, k.notice, &n) {
		k.complete(k.notice)
	}
	return n
}

// events takes the events of connections, and of the adapter.
func (k *Device) events() (n int) {
	for {
		e := k.d.CMEvent()
		if e.Kind == ibv.NoCMEvent {
			break
		}
		k.drain(nil) // a peer's last data has come before the message that it has left
		k.endBroken()
		k.onEvent(&e)
		n++
	}
	for {
		a := k.d.Event()
		if a.Kind == ibv.NoEvent {
			break
		}
		k.onAsync(a)
		n++
	}
	return n + k.wakeSolicited()
}

func (k *Device) onAsync(a ibv.Event) {
	switch a.Kind {
	case ibv.Fatal:
		if k.fails(&a) {
			k.reportEvent(&a)
			k.host.Broken()
		}
		k.endBroken()
	case ibv.QPFailed:
		if q := k.numbers[a.QPN]; q != nil {
			k.reportEvent(&a)
			k.breakOff(q)
			k.endBroken()
		}
	case ibv.SRQLow:
		for h := range k.queues {
			if h.q == a.SRQ {
				h.owner.Low()
			}
		}
	default: // of the port, or of none of these
		k.reportEvent(&a)
	}
}

// fails ends the connections over a completion queue that has failed, or all. False: it is known;
// soft-RoCE reports each completion that a queue loses.
func (k *Device) fails(a *ibv.Event) (news bool) {
	if a.CQ != 0 {
		i := slices.IndexFunc(k.pools, func(p *pool) bool { return p.cq == a.CQ })
		return i >= 0 && k.failPool(k.pools[i])
	}
	news = !k.gone
	k.gone = k.gone || !a.OfQueue()
	for _, q := range k.numbers {
		k.breakOff(q)
	}
	return news
}

// failPool: a completion queue has lost completions. Its posts are flushed, once, and pairs of
// later get another queue. False: that is known.
func (k *Device) failPool(p *pool) (news bool) {
	if p.failed {
		return false
	}
	p.failed = true
	for _, q := range k.numbers {
		if q.pool == p || q.quiet == p {
			k.breakOff(q)
		}
	}
	k.retire(p)
	return !k.gone
}

// Arm says whether a thread may sleep: files become readable then when there is something to do.
func (k *Device) Arm() bool {
	k.armed = true
	for _, p := range k.pools {
		if p.waker == nil {
			_ = k.d.ArmCQ(p.cq, false)
		}
	}
	return k.Progress(true) == 0
}

// Disarm ends what Arm began.
func (k *Device) Disarm() {
	k.armed = false
	k.d.Quiet(k.reported)
}

// NextTimeout is when Progress has work even if nothing arrives; 0: never.
func (k *Device) NextTimeout() int64 { return k.due }

// wakeAt makes onTimeout run at that time.
func (k *Device) wakeAt(t int64) { k.due = progress.Earlier(k.due, t) }
