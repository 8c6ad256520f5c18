package device

import (
	"slices"

	"lapi/core/dat/codes"
	"lapi/core/progress"
	"lapi/transport/ibv"
)

// Device is an RDMA adapter at work: its objects, the completions and events that it takes, and the
// connections that are being made. All of it is used under its owner's lock.
type Device struct {
	d       ibv.Adapter
	host    Host
	timeout int64 // ns after which a silent peer is gone
	info    ibv.Info

	windows map[uint32]*Window // that are bound and in effect, by the key that peers use
	pools   []*pool
	quiet   int              // of them are a Waker's
	armed   bool             // a thread sleeps, or is about to
	pairs   map[uint32]*Pair // by serial, those that have a queue pair
	numbers map[uint32]*Pair // by the queue pair's number
	queues  map[uint32]*Queue
	serial  uint32 // of the newest pair or queue

	calls     map[ibv.ID]*Call
	listeners map[ibv.ID]*Listener // by each of their two IDs
	due       int64                // no call has anything to do before; 0: none has at all
	turns     int                  // until it is looked for events of connections
	broken    []*Pair              // their connections are about to end
	found     [foundMax]ibv.Completion
	work      ibv.Work // of a post; adapters do not keep it
	recv      [1]ibv.Recv
}

const (
	foundMax   = 32      // completions that are taken at once
	poolSize   = 1 << 12 // completions that a queue of several pairs holds
	quietSize  = 1 << 8  // and one of a Waker's receives that are solicited
	eventTurns = 16      // looks for completions to one for events, which costs a system call
)

// pool is a completion queue. Each pair that uses it has as much room there as it may post. One of
// a Waker has its receives that are solicited; see solicited.go.
type pool struct {
	c          ibv.CQ
	size, used int
	waker      Waker // nil: it is for everything
	ready      bool  // the adapter has reported completions in it
	wakes      bool  // there is something solicited
}

// New makes a Device of an adapter that is open. timeout is in ns.
func New(d ibv.Adapter, host Host, timeout int64) *Device {
	return &Device{d: d, host: host, timeout: timeout, info: d.Info(),
		windows: map[uint32]*Window{}, pairs: map[uint32]*Pair{}, numbers: map[uint32]*Pair{},
		queues: map[uint32]*Queue{}, calls: map[ibv.ID]*Call{},
		listeners: map[ibv.ID]*Listener{}}
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
		_ = k.d.DestroyCQ(p.c)
	}
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
	c, err := k.d.CreateCQ(size)
	if err != nil {
		return nil, none
	}
	p := &pool{c: c, size: size, used: n, waker: waker}
	k.pools = append(k.pools, p)
	if waker != nil {
		k.quiet++
		_ = k.d.ArmCQ(c, true)
	}
	return p, codes.Success
}

// giveBack ends a reservation, of a queue pair that is gone.
func (k *Device) giveBack(p *pool, n int) {
	p.used -= max(n, 1)
	if p.waker != nil && p.used == 0 {
		_ = k.d.DestroyCQ(p.c)
		at := slices.Index(k.pools, p)
		k.pools = append(k.pools[:at:at], k.pools[at+1:]...)
		k.quiet--
	}
}

// Progress takes completions and events. It returns how many.
func (k *Device) Progress() (n int) {
	for _, p := range k.pools {
		n += k.poll(p)
	}
	n += k.endBroken()
	if k.turns--; k.turns < 0 {
		n += k.events()
	}
	if k.due != 0 { // to ask for the time costs as much as the rest, where it is a system call
		if now := k.host.Now(); now >= k.due {
			k.onTimeout(now)
		}
	}
	return n + k.endBroken()
}

// Woken makes the next Progress look for events, which it does not each time.
func (k *Device) Woken() { k.turns = 0 }

// poll takes completions of a queue. An event says when a queue is broken.
func (k *Device) poll(p *pool) int {
	n := max(k.d.PollCQ(p.c, k.found[:]), 0)
	for i := range n {
		k.complete(&k.found[i])
	}
	return n
}

// drain takes all that there are.
func (k *Device) drain(p *pool) (n int) {
	for {
		found := k.poll(p)
		if n += found; found < foundMax {
			return n
		}
	}
}

// events takes what has happened to connections, and to the adapter.
func (k *Device) events() (n int) {
	for {
		e := k.d.CMEvent()
		if e.Kind == ibv.NoCMEvent {
			break
		}
		// A peer's last data has come before the message that it has left.
		for _, p := range k.pools {
			k.drain(p)
		}
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
	n += k.wakeSolicited()
	if k.turns = eventTurns; n > 0 {
		k.turns = 0
	}
	return n
}

func (k *Device) onAsync(a ibv.Event) {
	switch a.Kind {
	case ibv.Fatal:
		k.reportEvent(&a)
		k.host.Broken()
		for _, q := range k.numbers {
			k.breakOff(q)
		}
		k.endBroken()
	case ibv.QPFailed:
		if q := k.numbers[a.QPN]; q != nil {
			k.reportEvent(&a)
			k.breakOff(q)
			k.endBroken()
		}
	case ibv.SRQLow:
		for _, h := range k.queues {
			if h.q == a.SRQ {
				h.owner.Low()
			}
		}
	default: // of the port, or of none of these
		k.reportEvent(&a)
	}
}

// Arm says whether a thread may sleep: files become readable then when there is something to do.
func (k *Device) Arm() bool {
	k.armed = true
	for _, p := range k.pools {
		if p.waker == nil {
			_ = k.d.ArmCQ(p.c, false)
		}
	}
	k.turns = 0
	return k.Progress() == 0
}

// Disarm ends what Arm began.
func (k *Device) Disarm() {
	k.armed = false
	k.d.Quiet(k.reported)
	k.turns = 0
}

// NextTimeout is when Progress has something to do even if nothing arrives; 0: never.
func (k *Device) NextTimeout() int64 { return k.due }

// wakeAt makes onTimeout run at that time.
func (k *Device) wakeAt(t int64) { k.due = progress.Earlier(k.due, t) }
