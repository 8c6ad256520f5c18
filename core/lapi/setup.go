package lapi

import (
	"errors"
	"net/netip"
	"time"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/core/trace"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/emul"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// Options are what the caller of LAPI_Init passes, beside the environment.
type Options struct {
	Shared     *layout.Context
	Host       Host
	Getenv     func(string) (string, bool)
	Instance   int // 1 … MaxContexts: tasks' contexts of one number belong together
	LibVersion int32
	Lends      bool // every entry begins with Enter: outboxes may be lent to C
	ErrHandler transport.Addr
	UDP        UDPAddresses // nil if the user gave neither handler nor list
	Persistent bool         // LAPI_PSS_GPFS: no collectives
	Adapter    string       // adapter_name: the network interface to use, if Persistent; "": as MP_LAPI_INET_ADDR says
	Polling    bool         // LAPI_INTERRUPT_OFF
	// OpenSession, Key, OpenUDP and Clock replace job.Open, Config.Key, udp.New and the monotonic clock, for tests that run a
	// whole job in one process, or over a simulated network.
	OpenSession func(*job.Config, int) (job.Session, error)
	Key         func(*job.Config) (key []byte, authenticated bool, err error)
	OpenUDP     func(udp.Config) (wireup.UDPLink, error)
	Clock       transport.Clock
}

// UDPAddresses gives the addresses of all tasks of a job started by hand, from the user's handler or list (guide, Chapter 16).
// local is where the library would listen on its own account, remote the number of tasks not reached by shared memory.
type UDPAddresses func(local netip.AddrPort, task, total, remote int) ([]netip.AddrPort, codes.Code)

// setup is a LAPI_Init under way: what a failure must give back.
type setup struct {
	*Context
	o *Options
}

// New is LAPI_Init (guide, Chapter 5, Figure 1): it meets the other tasks and connects the links. It may block and runs
// without the lock: nobody knows the context yet.
func New(o *Options) (*Context, codes.Code) {
	memory.Guard()
	began := trace.Now()
	cfg, err := job.FromEnv(o.Getenv, o.Host.Message)
	if err != nil {
		return nil, o.report(err)
	}
	s := &setup{o: o, Context: &Context{
		shared: o.Shared, wake: progress.NewBlock(&o.Shared.Progress, &o.Shared.CompletionSeq), host: o.Host, cfg: cfg, clock: o.clock(), instance: o.Instance, me: cfg.Task,
		tasks: make([]task, cfg.NumTasks), errHandler: o.ErrHandler, libVersion: o.LibVersion, timeout: defaultTimeout, persistent: o.Persistent,
		ackThreshold: cfg.AckThreshold, bufCopy: min(128, cfg.RexmitBufSize), exchanges: map[uint32]*exchange{},
	}}
	s.exchangeSent = s.roundSent
	s.issued = &s.ownIssued
	if cfg.RexmitBufSizeSet {
		s.bufCopy = cfg.RexmitBufSize
	}
	// Off the Go heap: the user's header handlers get its address.
	if s.scratch, err = arena.Map(wire.Pad8(wire.MaxUhdrSize)); err != nil {
		return nil, codes.ErrMemoryExhausted
	}
	for _, step := range []func() codes.Code{s.meet, s.startTrace(began), s.openLane, s.openOutboxes, s.openBarrier, s.finish} {
		if code := step(); code != codes.Success {
			s.abandon()
			return nil, code
		}
	}
	s.attention(levelInform, codes.AttVersion, "%s (Linux, instance %d, %d tasks)", Version, s.instance, cfg.NumTasks)
	s.announceBulk()
	s.host.Farewell(s.net.Session.Farewell())
	if s.net.UDP == nil {
		cfg.ForgetKey() // nobody needs it
	}
	return s.Context, codes.Success
}

func (o *Options) clock() transport.Clock {
	if o.Clock != nil {
		return o.Clock
	}
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) + 1 }
}

// report says what the environment lacks; the code is for the caller.
func (o *Options) report(err error) codes.Code {
	o.Host.Message(0, "LAPI_Init: "+err.Error())
	if code, ok := wireup.EnvCode(err); ok {
		return codes.Code(code)
	}
	return codes.ErrUnknown
}

// reasons are the codes for what wire-up can fail with, events those for what may happen meanwhile.
var (
	reasons = [...]codes.Code{wireup.Unknown: codes.ErrUnknown, wireup.NoMemory: codes.ErrMemoryExhausted,
		wireup.NoSharedMemory: codes.ErrShmSetup, wireup.NoSocket: codes.ErrUDPSocket, wireup.NoAddresses: codes.ErrNoNetstrSet,
		wireup.NoHandler: codes.ErrNoUDPHndlr, wireup.BadAddress: codes.ErrUDPPortInfo}
	events = [...]codes.Code{wireup.SharedMemorySingle: codes.AttShmSingleTask, wireup.SharedMemoryFailed: codes.AttShmCreateFail,
		wireup.SharedMemoryUnused: codes.AttShminitFail, wireup.SharedMemoryAbsent: codes.AttShmGetFail,
		wireup.SharedMemoryDetach: codes.AttShmAttFail, wireup.FewerPaths: codes.AttFrSetupInternal, wireup.SocketBound: codes.AttPortStart}
)

// addressError is a code of UDPAddresses on its way through wire-up.
type addressError codes.Code

func (e addressError) Error() string { return codes.Name(codes.Code(e)) }

// meet opens the links and connects them with those of all tasks.
func (s *setup) meet() codes.Code {
	cfg := wireup.Config{
		Job: s.cfg, Call: "LAPI_Init", Instance: s.instance, Card: wire.CardVersion, Getenv: s.o.Getenv, Clock: s.clock, CopyMax: s.bufCopy,
		Timeout: defaultTimeout * time.Second, Barrier: s.canBarrier(), Message: s.host.Message, PeerFailed: s.peerFailed,
		Happened:       func(level int, e wireup.Event, text string) { s.attention(level, events[e], "%s", text) },
		Linked:         s.linked,
		SendMaxChanged: func(ep transport.Endpoint, sendMax int) { s.tasks[ep].cutFor(sendMax) },
		OpenSession:    s.o.OpenSession, Key: s.o.Key, OpenUDP: s.o.OpenUDP,
	}
	if s.o.Persistent {
		cfg.Adapter = s.o.Adapter
	}
	if s.o.UDP != nil {
		cfg.Addresses = func(local netip.AddrPort, task, total, remote int) ([]netip.AddrPort, error) {
			addrs, code := s.o.UDP(local, task, total, remote)
			if code != codes.Success {
				return nil, addressError(code)
			}
			return addrs, nil
		}
	}
	var err error
	if s.net, err = wireup.Open(&cfg); err != nil {
		return s.wireupFailed(err)
	}
	s.sizes, s.links = s.net.Sizes, progress.NewLinks(s.net.Links())
	for i := range s.tasks {
		if t := &s.tasks[i]; !t.absent {
			t.direct = wireup.SingleCopy(t.link, t.ep)
		}
	}
	return codes.Success
}

func (s *setup) wireupFailed(err error) codes.Code {
	var f *wireup.Failure
	var code addressError
	switch {
	case !errors.As(err, &f):
		return s.o.report(err)
	case errors.As(f.Err, &code):
		return codes.Code(code)
	}
	return reasons[f.Reason]
}

// linked notes the link to a task and what its limits mean for messages.
func (s *setup) linked(id int, p wireup.Peer) {
	t := &s.tasks[id]
	t.id, t.ep, t.link, t.shared, t.isSelf, t.address = id, transport.Endpoint(id), p.Link, p.Shared, id == s.me, p.Address
	if p.Absent {
		t.died = true
		s.setAbsent(t, true)
	}
	lim := p.Link.Limits()
	t.cutFor(lim.SendMax)
	t.headers = lim.HeaderMax
	t.noticing, _ = p.Link.(transport.Noticing)
	t.parts, _ = p.Link.(partsLink)
	t.atOnce = t.sendMax
	if !t.isSelf && !t.shared {
		t.atOnce = min(s.bufCopy, t.sendMax)
	}
}

// cutFor says how long messages to t are to be: sendMax bytes of header and data.
func (t *task) cutFor(sendMax int) {
	t.packet = sendMax
	t.sendMax = (sendMax - wire.PutFragmentSize) &^ 7
}

// room is how much data goes in one message to t with a header of so many bytes.
func (t *task) room(header int) uint64 { return uint64(max(t.packet-header, 0)) }

// finish sets the handlers of every link, the emulated atomics and the block that C reads.
func (s *setup) finish() codes.Code {
	for _, l := range s.links.All() {
		s.setHandlers(s.traced(l))
		if l.Limits().Caps&transport.CapAtomicCPU == 0 {
			e := emul.New(s.traced(l), wire.MsgAtomic, wire.MsgAtomicReply)
			s.emuls = append(s.emuls, e)
			for i := range s.tasks {
				if untraced(s.tasks[i].link) == l {
					s.tasks[i].atomics = e
				}
			}
		}
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.shared || t.isSelf && s.net.Shm != nil {
			s.shmTasks = append(s.shmTasks, i)
		}
	}
	spin, yield := s.net.Patience()
	s.shared.Task, s.shared.NumTasks = int32(s.me), int32(len(s.tasks))
	if err := s.wake.Open(spin, yield, append(s.links.Descriptors(), s.net.Session.Descriptor())); err != nil {
		s.say(0, "%v", err)
		return codes.ErrUnknown
	}
	s.wake.SetInterrupt(!s.o.Polling)
	s.sessionTurn = sessionTurns // what the session has heard meanwhile does not wake anybody
	return codes.Success
}

func (c *Context) setHandlers(l transport.Link) {
	for id, h := range map[transport.MsgID]transport.MsgHandler{
		wire.MsgPut: c.onPut, wire.MsgPutFragment: c.onPutFragment, wire.MsgPutDirect: c.onPutDirect,
		wire.MsgGet: c.onGet, wire.MsgGetData: c.onGetData, wire.MsgAm: c.onAm, wire.MsgAmFragment: c.onAmFragment,
		wire.MsgFetched: c.onFetched, wire.MsgCounter: c.onCounter, wire.MsgExchange: c.onExchange, wire.MsgFault: c.onFault,
		wire.MsgPutv: c.onPutv, wire.MsgGetv: c.onGetv, wire.MsgAmv: c.onAmv, wire.MsgRead: c.onRead, wire.MsgAmPieces: c.onAmPieces,
		wire.MsgAmSmall: c.onAmSmall,
	} {
		l.Handle(id, h)
	}
	if n, ok := untraced(l).(transport.Noticing); ok {
		n.HandleNotices(c.onNotice, c.onBadAddress)
	}
}

func (c *Context) applyTimeout() {
	if c.net.UDP != nil {
		c.net.UDP.SetTimeout(time.Duration(c.timeout) * time.Second)
	}
}

// abandon gives back what a failed LAPI_Init had opened.
func (s *setup) abandon() {
	if s.net != nil {
		s.net.Close()
	}
	s.release()
}
