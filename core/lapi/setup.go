package lapi

import (
	"errors"
	"math"
	"time"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/counter"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/fence"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/receive"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/core/trace"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/emul"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Options are what the caller of LAPI_Init passes, beside the environment.
type Options struct {
	Shared     *layout.Context
	Host       Host
	Getenv     func(string) (string, bool) // the environment over the settings files
	Own        func(string) (string, bool) // the environment alone; nil: Getenv
	Notices    func() []string             // of settings without effect; nil: none
	Instance   int                         // 1 … MaxContexts: tasks' contexts of one number belong together
	Commits    bool                        // every entry begins with Enter: C may fill open packets
	ErrHandler transport.Addr
	// from the user's handler or list (guide, Chapter 16); nil if there is neither
	UDP        wireup.Addresses
	Persistent bool // LAPI_PSS_GPFS: no collectives
	// adapter_name: the network interface to use, if Persistent; "": as MP_LAPI_INET_ADDR says
	Adapter string
	Polling bool // LAPI_INTERRUPT_OFF
	wireup.Hooks
}

// setup is a LAPI_Init under way: what a failure must release.
type setup struct {
	*Context
	o       *Options
	began   uint64 // for the trace
	reaches map[transport.Link]*peer.Reach
}

// New is LAPI_Init (guide, Chapter 5, Figure 1): it meets the other tasks and connects the links.
// It may block and runs without the lock: no other thread knows the context yet.
func New(o *Options) (*Context, codes.Code) {
	memory.Guard()
	began := trace.Now() // the beginning of LAPI_Init
	cfg, err := job.FromSettings(o.Getenv, o.own(), o.Host.Message)
	if (err != nil || cfg.Task == 0) && o.Notices != nil { // once a job
		for _, text := range o.Notices() {
			o.Host.Message(0, text)
		}
	}
	if err == nil {
		err = cfg.CheckPartition(o.UDP != nil)
	}
	if err != nil {
		return nil, o.report(err)
	}
	s := &setup{o: o, began: began, reaches: map[transport.Link]*peer.Reach{}, Context: &Context{
		shared: o.Shared, wake: progress.NewBlock(&o.Shared.Progress, &o.Shared.CompletionSeq),
		host: o.Host, cfg: cfg, clock: o.clock(), instance: o.Instance, me: cfg.Task,
		attributes: attributes{timeout: defaultTimeout, ackThreshold: cfg.AckThreshold,
			bufCopy: min(defaultBufCopy, cfg.RexmitBufSize), persistent: o.Persistent},
	}}
	if cfg.RexmitBufSizeSet {
		s.attributes.bufCopy = cfg.RexmitBufSize
	}
	if err := s.compose(); err != nil {
		return nil, codes.ErrMemoryExhausted
	}
	for _, step := range []func() codes.Code{s.meet, s.startTrace, s.openLane,
		s.openOutboxes, s.openBarrier, s.finish} {
		if code := step(); code != codes.Success {
			s.abandon()
			return nil, code
		}
	}
	s.announce()
	s.host.ExitNotice(s.net.Session.ExitNotice())
	if s.net.UDP == nil && s.net.Verbs == nil {
		cfg.ForgetKey() // it is not needed any more
	}
	return s.Context, codes.Success
}

// compose creates the parts and connects them.
func (s *setup) compose() (err error) {
	c, n := s.Context, s.cfg.NumTasks
	c.peers, c.atomics = make([]peer.Peer, n), make([]*emul.Emulator, n)
	c.reads = readNews{bytes: make([]uint64, n), noted: make([]bool, n)}
	c.placements = placed.NewPool(&dgsps)
	c.due = handlers.New(&c.host, &c.wake)
	c.faults = faults.New(faults.Config{Me: c.me, Handler: s.o.ErrHandler, Host: &c.host,
		Wake: &c.wake, Send: c.tellFault, Patience: c.cfg.LauncherPatience(),
		Traced: func(code codes.Code, kind codes.ErrType, of int) {
			c.trace.failure(code, kind, of)
		}})
	c.counters = counter.New(counter.Config{Wake: &c.wake, Fault: c.faults.Local,
		Tell: c.tellCompletion, Tasks: n, Me: c.me})
	c.out = send.New(send.Config{Peers: c.peers, Links: &c.links, CopyMax: c.attributes.bufCopy,
		QueueMost: s.cfg.SendQueue, Placements: &c.placements,
		Finished: c.sent, Failed: c.sendFailed, Queued: c.mayRun, Lost: c.left,
		Outstanding: c.outstanding})
	c.copier = singlecopy.New(singlecopy.Config{Bulk: s.cfg.UseBulk, BulkMin: uint64(s.cfg.BulkMin),
		CopyMax: uint64(c.attributes.bufCopy)})
	c.in, err = receive.New(receive.Config{Peers: c.peers, Host: &c.host, Out: c.out,
		Copier: c.copier, Faults: c.faults,
		Placements: &c.placements, Clock: func() int64 { return c.clock() },
		Completed: c.amCompleted, Lost: c.dropped})
	c.parts = receive.NewTally(n)
	c.tickets = fence.NewTickets(&c.wake)
	c.fences = fence.New(fence.Config{Out: c.out, Settle: c.settle, Quiet: c.quiet,
		Lost: c.reportLeft})
	c.collectives = fence.NewCollectives(fence.CollectiveConfig{Me: c.me, Peers: c.peers,
		Out: c.out, Fences: c.fences, Tickets: c.tickets, Await: c.expect,
		Medium: medium{&c.net}, Clock: func() int64 { return c.clock() },
		Fault:  func(err error) { c.faults.Here(err, codes.ErrRetPtrNull, codes.IntErr) },
		Failed: func(code codes.Code) { c.wake.Changed(); c.barrier.fail(code) }})
	return err
}

func (o *Options) own() func(string) (string, bool) {
	if o.Own != nil {
		return o.Own
	}
	return o.Getenv
}

func (o *Options) clock() transport.Clock {
	if o.Clock != nil {
		return o.Clock
	}
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) + 1 }
}

// report prints what is wrong with the environment, unless wire-up has; the code is for the caller.
func (o *Options) report(err error) codes.Code {
	var why wireup.Reason
	if errors.As(err, &why) {
		return reasons[why]
	}
	o.Host.Message(0, "LAPI_Init: "+err.Error())
	if code, ok := wireup.EnvCode(err); ok {
		return codes.Code(code)
	}
	return codes.ErrUnknown
}

// reasons are the codes for what wire-up can fail with, events those for what may happen meanwhile.
var (
	reasons = [...]codes.Code{wireup.Unknown: codes.ErrUnknown,
		wireup.NoMemory:       codes.ErrMemoryExhausted,
		wireup.NoSharedMemory: codes.ErrShmSetup, wireup.NoSocket: codes.ErrUDPSocket,
		wireup.NoAddresses: codes.ErrNoNetstrSet,
		wireup.NoHandler:   codes.ErrNoUDPHndlr, wireup.BadAddress: codes.ErrUDPPortInfo,
		wireup.UserFailed: codes.ErrUserUDPHndlrFail, wireup.NoAdapter: codes.ErrCssLoadFailed}
	events = [...]codes.Code{wireup.SharedMemorySingle: codes.AttShmSingleTask,
		wireup.SharedMemoryFailed: codes.AttShmCreateFail,
		wireup.SharedMemoryUnused: codes.AttShminitFail,
		wireup.SharedMemoryAbsent: codes.AttShmGetFail,
		wireup.SharedMemoryDetach: codes.AttShmAttFail, wireup.FewerPaths: codes.AttFrSetupInternal,
		wireup.SocketBound: codes.AttPortStart, wireup.PortOpened: codes.AttPortStart}
)

// meet opens the links and connects them with those of all tasks.
func (s *setup) meet() codes.Code {
	cfg := wireup.Config{
		Job: s.cfg, Call: "LAPI_Init", Instance: s.instance, Card: wire.CardVersion,
		Getenv: s.o.Getenv, CopyMax: s.attributes.bufCopy,
		Timeout: defaultTimeout * time.Second, Barrier: s.canBarrier(), Message: s.host.Message,
		PeerFailed: s.peerFailed,
		Expected:   s.looksAfter,
		Happened: func(level int, e wireup.Event, text string) {
			s.faults.Attention(level, events[e], "%s", text)
		},
		Linked:         s.linked,
		SendMaxChanged: func(ep transport.Endpoint, sendMax int) { s.peers[ep].CutFor(sendMax) },
		Hooks:          s.o.Hooks, Addresses: s.o.UDP,
	}
	cfg.Clock = s.clock
	if s.o.Persistent {
		cfg.Adapter = s.o.Adapter
	}
	var err error
	if s.net, err = wireup.Open(&cfg); err != nil {
		return s.o.report(err)
	}
	s.links = *progress.NewLinks(s.net.Links())
	for i := range s.peers {
		if p := &s.peers[i]; !s.rejoins.known(i).absent {
			p.SingleCopy = wireup.SingleCopy(p.Link, p.Ep)
		}
	}
	return codes.Success
}

// linked notes the link to a task.
func (s *setup) linked(id int, l wireup.Peer) {
	p := &s.peers[id]
	p.ID, p.Ep, p.IsSelf, p.Reach = id, transport.Endpoint(id), id == s.me, s.reach(l)
	if l.Absent {
		s.rejoins.of(id).died = true
	}
	s.rejoins.setAbsent(id, l.Absent)
}

// reach is the Reach of the link of l.
func (s *setup) reach(l wireup.Peer) *peer.Reach {
	r := s.reaches[l.Link]
	if r == nil {
		copyMax := math.MaxInt // memory is where all data goes at once
		if _, keeps := l.Link.(wireup.UDPLink); keeps {
			copyMax = s.attributes.bufCopy
		}
		r = peer.NewReach(l.Link, l.Shared, copyMax)
		s.reaches[l.Link] = r
	}
	return r
}

// finish sets the handlers of every link, the emulated atomics and the block that C reads.
func (s *setup) finish() codes.Code {
	for _, l := range s.links.All() {
		s.setHandlers(s.traced(l))
		if l.Limits().Caps&transport.CapAtomicCPU == 0 {
			e := emul.New(s.traced(l), wire.MsgAtomic, wire.MsgAtomicReply)
			s.emuls = append(s.emuls, e)
			for i := range s.peers {
				if untraced(s.peers[i].Link) == l {
					s.atomics[i] = e
				}
			}
		}
	}
	for i := range s.peers {
		if p := &s.peers[i]; p.Shared || p.IsSelf && s.net.Shm != nil {
			s.attributes.shmTasks = append(s.attributes.shmTasks, i)
		}
	}
	spin, yield := s.net.Patience()
	s.shared.Task, s.shared.NumTasks = int32(s.me), int32(len(s.peers))
	if err := s.wake.Open(spin, yield,
		append(s.links.Descriptors(), s.net.Session.Descriptor())); err != nil {
		s.faults.Message(0, "LAPI_Init: %v", err)
		return codes.ErrUnknown
	}
	s.wake.Keep(s.links.Descriptors())
	s.wake.SetInterrupt(!s.o.Polling)
	s.pace.session = sessionTurns // events that the session has kept meanwhile wake no thread
	return codes.Success
}

func (c *Context) setHandlers(l transport.Link) {
	for id, h := range map[transport.MsgID]transport.MsgHandler{
		wire.MsgPut: c.onPut, wire.MsgPutFragment: c.onPutFragment,
		wire.MsgPutDirect: c.onPutDirect, wire.MsgPutv: c.onPutv,
		wire.MsgCounter: c.onCounter,
		wire.MsgGet:     c.onGet, wire.MsgGetv: c.onGetv, wire.MsgGetData: c.onGetData,
		wire.MsgRead: c.onRead, wire.MsgAm: c.in.Am, wire.MsgAmv: c.in.Amv,
		wire.MsgAmPieces: c.in.AmPieces, wire.MsgAmSmall: c.in.AmSmall,
		wire.MsgAmFragment: c.in.Fragment, wire.MsgFetched: c.onFetched,
		wire.MsgExchange: c.collectives.Received,
		wire.MsgFault:    c.onFault,
	} {
		l.Handle(id, h)
	}
	if n, ok := untraced(l).(transport.Noticing); ok {
		n.HandleNotices(c.onNotice, c.onBadAddress)
	}
}

// abandon releases everything that a failed LAPI_Init had opened.
func (s *setup) abandon() {
	if s.net != nil {
		s.net.Close()
	}
	s.release()
}
