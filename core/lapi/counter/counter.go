// Package counter changes LAPI's counters in this task's memory, and keeps what belongs to them:
//
//	counter.go      counting
//	list.go         lists of tasks that a counter waits for (LAPI_Setcntr_wstatus)
//	completion.go   outstanding completions, and coalesced acknowledgements
//
// User memory is accessed under guard: memory.Guard must have run on the goroutine.
package counter

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/memory"
)

// Config is what Counters need of others.
type Config struct {
	Wake *progress.Block
	// Fault reports an address that cannot be accessed; src is the task that named it.
	Fault func(err error, code codes.Code, kind codes.ErrType, src int)
	// Tell sends an acknowledgement to an origin.
	Tell func(origin int, h wire.Completion)
	// Traced, if not nil, is called for each count.
	Traced func(a transport.Addr, src int)
	Tasks  int
	Me     int
}

// Counters are those of one context.
type Counters struct {
	cfg       Config
	lists     map[transport.Addr]*list // by counter
	coalesced coalesced
	peers     []peer
	losses    losses
}

// New is without lists.
func New(cfg Config) *Counters { return &Counters{cfg: cfg, peers: make([]peer, cfg.Tasks)} }

// Trace sets Config.Traced.
func (c *Counters) Trace(traced func(a transport.Addr, src int)) { c.cfg.Traced = traced }

// Add adds 1 to the counter at a; 0 is no counter. src sent the message that the counter counts,
// and named the counter.
func (c *Counters) Add(a transport.Addr, kind codes.ErrType, src int) {
	c.AddFor(a, kind, src, src)
}

// AddFor is Add where the message went between this task and peer, but src named the counter.
func (c *Counters) AddFor(a transport.Addr, kind codes.ErrType, src, peer int) {
	if a == 0 {
		return
	}
	if len(c.lists) > 0 {
		c.noteReceived(a, peer)
	}
	if _, err := memory.Add32(a, 1); err != nil {
		c.cfg.Fault(err, codes.ErrTgtAddrNull, kind, src)
		return
	}
	c.cfg.Wake.Changed()
	if c.cfg.Traced != nil {
		c.cfg.Traced(a, src)
	}
}

// AddMany is Add for n messages at once.
func (c *Counters) AddMany(a transport.Addr, kind codes.ErrType, src int, n int32) {
	if a == 0 || n == 1 || len(c.lists) > 0 || c.cfg.Traced != nil { // each is noted by itself
		for range n {
			c.Add(a, kind, src)
		}
		return
	}
	if _, err := memory.Add32(a, n); err != nil {
		c.cfg.Fault(err, codes.ErrTgtAddrNull, kind, src)
		return
	}
	c.cfg.Wake.Changed()
}
