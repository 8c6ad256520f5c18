package lapi

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/trace"
	"lapi/transport"
	"lapi/transport/calibration"
	"lapi/transport/emul"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/self"
	"lapi/transport/shm"
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
	// OpenSession, Key, OpenUDP and Clock replace job.Open, Config.Key, udp.New and the monotonic clock, for tests that run a whole job in one
	// process, or over a simulated network.
	OpenSession func(*job.Config, int) (job.Session, error)
	Key         func(*job.Config) (key []byte, authenticated bool, err error)
	OpenUDP     func(udp.Config) (udpLink, error)
	Clock       transport.Clock
}

// UDPAddresses gives the addresses of all tasks of a job started by hand, from the user's handler or list (guide, Chapter 16).
// local is where the library would listen on its own account, remote the number of tasks not reached by shared memory.
type UDPAddresses func(local netip.AddrPort, task, total, remote int) ([]netip.AddrPort, codes.Code)

// udpLink is the UDP link with what LAPI_Senv sets.
type udpLink interface {
	transport.Link
	transport.Pusher
	Locals() []netip.AddrPort
	SetTimeout(d time.Duration)
	SetAckThreshold(packets int)
	Reconnect(ep transport.Endpoint, a transport.Address) error
	Lend(ep transport.Endpoint) (tail []byte, messages int)
	Return(ep transport.Endpoint, bytes, messages, data int)
}

// setup is a LAPI_Init under way: what a failure must give back.
type setup struct {
	*Context
	o       *Options
	cfg     *job.Config
	onNode  []int        // tasks to reach by shared memory, this one included; nil: none
	remote  int          // tasks to reach by UDP
	adapter []netip.Addr // addresses of Options.Adapter; nil: none is asked for
}

// New is LAPI_Init (guide, Chapter 5, Figure 1): it decides how each task is reached, meets the others and connects the links. It
// may block and runs without the lock: nobody knows the context yet.
func New(o *Options) (*Context, codes.Code) {
	memory.Guard()
	began := trace.Now()
	cfg, err := job.FromEnv(o.Getenv, o.Host.Message)
	if err != nil {
		return nil, o.report(err)
	}
	s := &setup{o: o, cfg: cfg, Context: &Context{
		shared: o.Shared, host: o.Host, cfg: cfg, clock: o.clock(), instance: o.Instance, me: cfg.Task,
		tasks: make([]task, cfg.NumTasks), errHandler: o.ErrHandler, libVersion: o.LibVersion, timeout: defaultTimeout, persistent: o.Persistent,
		ackThreshold: cfg.AckThreshold, bufCopy: min(128, cfg.RexmitBufSize), exchanges: map[uint32]*exchange{},
	}}
	s.exchangeSent = s.roundSent
	s.issued = &s.ownIssued
	if cfg.RexmitBufSizeSet {
		s.bufCopy = cfg.RexmitBufSize
	}
	// Off the Go heap: the user's header handlers get its address.
	if s.scratch, err = unix.Mmap(-1, 0, pad8(MaxUhdrSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return nil, codes.ErrMemoryExhausted
	}
	for _, step := range []func() codes.Code{s.chooseAdapter, s.chooseNode, s.chooseSizes, s.openLinks, s.meet, s.startTrace(began), s.openLane, s.openOutboxes, s.openBarrier, s.finish} {
		if code := step(); code != codes.Success {
			s.abandon()
			return nil, code
		}
	}
	s.attention(levelInform, codes.AttVersion, "%s (Linux, instance %d, %d tasks)", Version, s.instance, cfg.NumTasks)
	s.announceBulk()
	s.host.Farewell(s.session.ExitNotice())
	if s.udp == nil {
		cfg.ForgetKey() // nobody needs it
	}
	return s.Context, codes.Success
}

func (o *Options) clock() transport.Clock {
	if o.Clock != nil {
		return o.Clock
	}
	return monotonic()
}

func monotonic() transport.Clock {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) + 1 }
}

// report says what the environment lacks; the code is for the caller.
func (o *Options) report(err error) codes.Code {
	var e *job.EnvError
	if errors.As(err, &e) {
		o.Host.Message(0, "LAPI_Init: "+e.Error())
		return codes.Code(e.Code)
	}
	o.Host.Message(0, "LAPI_Init: "+err.Error())
	return codes.ErrUnknown
}

func (s *setup) say(level int, format string, args ...any) {
	s.host.Message(level, fmt.Sprintf("task %d: LAPI_Init: ", s.me)+fmt.Sprintf(format, args...))
}

// chooseNode decides who is reached by shared memory: the tasks of this node, at most MaxShmTasks of them.
func (s *setup) chooseNode() codes.Code {
	s.remote = s.cfg.NumTasks - 1
	if s.cfg.Shm == job.ShmNo {
		return codes.Success
	}
	node := append(slices.Clone(s.cfg.CommonTasks), s.me)
	slices.Sort(node)
	if s.cfg.Shm == job.ShmOnly && (len(node) < s.cfg.NumTasks || len(node) > MaxShmTasks) {
		s.say(0, "LAPI_USE_SHM=only, but %d of %d tasks are on this node (at most %d can share memory); see MP_COMMON_TASKS", len(node), s.cfg.NumTasks, MaxShmTasks)
		return codes.ErrShmSetup
	}
	if len(node) > MaxShmTasks {
		node = node[:MaxShmTasks]
	}
	if !slices.Contains(node, s.me) || len(node) == 1 {
		if s.cfg.NumTasks == 1 {
			s.attention(levelFailure, codes.AttShmSingleTask, "LAPI_USE_SHM has no effect.")
		}
		return codes.Success
	}
	s.onNode = node
	s.remote = s.cfg.NumTasks - len(node)
	return codes.Success
}

// chooseSizes reads what `lapirun --calibrate` has left for this machine. What is wrong with it is no reason to fail.
func (s *setup) chooseSizes() codes.Code {
	s.sizes = calibration.BuiltIn()
	path := calibration.Path(s.o.Getenv)
	if path == "" || s.onNode == nil {
		return codes.Success
	}
	named, _ := s.o.Getenv(calibration.Variable)
	sizes, err := calibration.Load(path, calibration.ThisMachine)
	switch {
	case err == nil:
		s.sizes = sizes
		s.say(levelInform, "the sizes of %s are in force", path)
	case !calibration.NotThere(err) || named != "":
		s.say(levelFailure, "the calibration file %s is not used: %v. Run \"lapirun --calibrate\", or set %s=%s", path, err, calibration.Variable, calibration.Off)
	}
	return codes.Success
}

// openLinks makes this task's side of each link that it needs.
func (s *setup) openLinks() codes.Code {
	var err error
	if s.self, err = self.New(s.clock); err != nil {
		s.say(0, "%v", err)
		return codes.ErrMemoryExhausted
	}
	if s.onNode != nil {
		l, err := shm.New(shm.Config{Task: s.me, NumTasks: s.cfg.NumTasks, Tasks: s.onNode, Clock: s.clock, PeerFailed: s.peerFailed,
			Barrier: s.canBarrier(), Crowded: crowded(len(s.onNode)), Sizes: s.sizes, Area: calibration.Area(len(s.onNode), crowded(len(s.onNode)))})
		if err != nil {
			if code := s.shmFailed(err); code != codes.Success {
				return code
			}
		} else {
			s.shm = l
		}
	}
	open := s.o.OpenSession
	if open == nil {
		open = job.Open
	}
	if s.session, err = open(s.cfg, s.instance-1); err != nil {
		s.say(0, "cannot meet the other tasks: %v", err)
		return codes.ErrUnknown
	}
	if s.remote > 0 {
		return s.openUDP()
	}
	return codes.Success
}

// shmFailed falls back to UDP where that is allowed.
func (s *setup) shmFailed(err error) codes.Code {
	s.attention(levelFailure, codes.AttShmCreateFail, "(%v)", err)
	s.attention(levelFailure, codes.AttShminitFail, "Tasks are reached by UDP if LAPI_USE_SHM allows it.")
	s.shm, s.onNode, s.remote = nil, nil, s.cfg.NumTasks-1
	if s.cfg.Shm == job.ShmOnly {
		return codes.ErrShmSetup
	}
	return codes.Success
}

// meet exchanges what the links' peers need, and connects.
func (s *setup) meet() codes.Code {
	parts, err := s.session.Exchange(s.part(true))
	if err != nil {
		s.say(0, "cannot meet the other tasks: %v", err)
		return codes.ErrUnknown
	}
	defer closeFiles(parts)
	for i := range s.tasks {
		t := &s.tasks[i]
		t.id, t.ep = i, transport.Endpoint(i)
		var p peerPart
		if i != s.me && len(parts) > i && parts[i].Data != nil {
			if p, err = decodePart(parts[i].Data); err != nil {
				s.say(0, "task %d: %v", i, err)
				return codes.ErrUnknown
			}
		}
		if code := s.connect(t, &p, parts); code != codes.Success {
			return code
		}
	}
	return codes.Success
}

// closeFiles closes the descriptors that no link took over: those of this task's own part, and of tasks not reached by shared memory.
func closeFiles(parts []job.Part) {
	for _, p := range parts {
		for _, fd := range p.Files {
			unix.Close(fd)
		}
	}
}

// connect chooses the link to t: itself, shared memory if both have it, UDP.
func (s *setup) connect(t *task, p *peerPart, parts []job.Part) codes.Code {
	if t.id == s.me {
		t.isSelf = true
		return s.useLink(t, s.self, s.self.Address())
	}
	onNode := s.shm != nil && slices.Contains(s.onNode, t.id)
	if onNode && parts[t.id].Data == nil { // this task has come back, and t has not
		t.shared, t.died = true, true
		s.setLink(t, s.shm)
		if err := s.await(t); err != nil {
			s.say(0, "task %d: %v", t.id, err)
			return codes.ErrShmSetup
		}
		return codes.Success
	}
	if onNode && p.shm != nil {
		t.shared = true
		files := parts[t.id].Files
		parts[t.id].Files = nil // the link takes them over
		return s.useLink(t, s.shm, transport.Address{Bytes: p.shm, Files: files})
	}
	if onNode {
		s.attention(levelFailure, codes.AttShmGetFail, "(task %d has none)", t.id)
	}
	if s.cfg.Shm == job.ShmOnly {
		s.say(0, "LAPI_USE_SHM=only, but task %d has no shared memory", t.id)
		return codes.ErrShmSetup
	}
	if s.udp == nil { // shared memory with t failed over there: UDP after all
		if code := s.openUDP(); code != codes.Success {
			return code
		}
	}
	addr := p.udp
	if s.udpAddrs != nil {
		if addr = nil; s.udpAddrs[t.id].IsValid() {
			addr = udp.EncodeAddress(s.udpAddrs[t.id])
		}
	}
	if addr == nil {
		s.say(0, "there is no UDP address for task %d", t.id)
		return codes.ErrUDPPortInfo
	}
	return s.useLink(t, s.udp, transport.Address{Bytes: addr})
}

func (s *setup) useLink(t *task, l transport.Link, a transport.Address) codes.Code {
	s.setLink(t, l)
	t.address = transport.Address{Bytes: a.Bytes}
	if err := l.Connect(t.ep, a); err != nil {
		s.say(0, "cannot reach task %d: %v", t.id, err)
		if t.shared {
			s.attention(levelFailure, codes.AttShmAttFail, "(task %d's: %v)", t.id, err)
			return codes.ErrShmSetup
		}
		return codes.ErrUDPSocket
	}
	t.direct = canDirect(l, t.ep)
	return codes.Success
}

// setLink notes the link to t and what its limits mean for messages.
func (s *setup) setLink(t *task, l transport.Link) {
	t.link = l
	lim := l.Limits()
	t.cutFor(lim.SendMax)
	t.headers = lim.HeaderMax
	t.attender, _ = l.(attender)
	t.atOnce = t.sendMax
	if s.udp != nil && l == transport.Link(s.udp) {
		t.atOnce = min(s.bufCopy, t.sendMax)
	}
}

// canDirect says whether l copies straight between this task's memory and that of ep's.
func canDirect(l transport.Link, ep transport.Endpoint) bool {
	if d, ok := l.(interface {
		CanDirect(transport.Endpoint) bool
	}); ok {
		return d.CanDirect(ep)
	}
	const both = transport.CapPut | transport.CapGet
	return l.Limits().Caps&both == both
}

// finish sets the handlers of every link, the emulated atomics and the block that C reads.
func (s *setup) finish() codes.Code {
	var waits []int
	for _, l := range s.links() {
		if l == nil {
			continue
		}
		s.setHandlers(s.traced(l))
		if w, ok := l.(transport.Waiter); ok {
			waits = append(waits, w.Descriptors()...)
		}
		if l.Limits().Caps&transport.CapAtomicCPU == 0 {
			e := emul.New(s.traced(l), msgAtomic, msgAtomicReply)
			s.emuls = append(s.emuls, e)
			for i := range s.tasks {
				if untraced(s.tasks[i].link) == l {
					s.tasks[i].atomics = e
				}
			}
		}
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.shared || t.isSelf && s.shm != nil {
			s.shmTasks = append(s.shmTasks, i)
		}
	}
	waits = append(waits, s.session.Descriptor())
	spin, yield := s.patience()
	if err := openShared(s.shared, s.me, len(s.tasks), spin, yield, waits); err != nil {
		s.say(0, "%v", err)
		return codes.ErrUnknown
	}
	setInterrupt(s.shared, !s.o.Polling)
	s.sessionTurn = sessionTurns // what the session has heard meanwhile does not wake anybody
	return codes.Success
}

// patience is how long a waiting thread spins and then yields before it sleeps. While every task of the node has a processor of its
// own it spins about as long as a wake-up costs, and yields, which leaves the processor to anyone who wants it, about as long as a peer takes
// to copy some MiB: a sleep and a wake-up would only lengthen that (1 MiB there and back: from 200 to 130 us). Else it does not
// spin at all: then another task needs the processor, and gets it after each empty turn. Measured with 4 and 8 tasks on 2
// processors: a Gfence takes half as long as with 20 turns before the first yield, over shared memory and UDP.
func (s *setup) patience() (spin, yield int) {
	if s.onNode != nil && !crowded(len(s.onNode)) || s.onNode == nil && !crowded(s.cfg.NumTasks) {
		return 400, 1000
	}
	return 0, 100
}

// crowded says whether tasks of this node have to share processors.
func crowded(tasks int) bool { return tasks > runtime.NumCPU() }

func (c *Context) setHandlers(l transport.Link) {
	for id, h := range map[transport.MsgID]transport.MsgHandler{
		msgPut: c.onPut, msgPutFragment: c.onPutFragment, msgPutDirect: c.onPutDirect,
		msgGet: c.onGet, msgGetData: c.onGetData, msgAm: c.onAm, msgAmFragment: c.onAmFragment,
		msgFetched: c.onFetched, msgCounter: c.onCounter, msgExchange: c.onExchange, msgFault: c.onFault,
		msgPutv: c.onPutv, msgGetv: c.onGetv, msgAmv: c.onAmv, msgRead: c.onRead, msgAmPieces: c.onAmPieces,
		msgAmSmall: c.onAmSmall, msgLaneGet: c.onLaneGet, msgLaneRmw: c.onLaneRmw,
		msgPutPart: c.onPutPart, msgPutLast: c.onPutLast,
	} {
		l.Handle(id, h)
	}
}

func (c *Context) applyTimeout() {
	if c.udp != nil {
		c.udp.SetTimeout(time.Duration(c.timeout) * time.Second)
	}
}

// abandon gives back what a failed LAPI_Init had opened.
func (s *setup) abandon() {
	for _, l := range s.links() {
		if l != nil {
			l.Close()
		}
	}
	if s.session != nil {
		s.session.Leave()
		s.session.Close()
	}
	s.trace.close()
	s.cfg.ForgetKey()
	s.shared.Lane, s.shared.Barrier, s.shared.Outboxes = 0, 0, 0
	closeShared(s.shared)
	s.freeMappings()
}
