package lapi

import (
	"net/netip"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/transport"
	"lapi/transport/calibration"
	"lapi/transport/emul"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// Limits of the library that LAPI_Qenv reports and the calls enforce.
const (
	MaxUhdrSize      = 1984                  // MAX_UHDR_SZ, bytes; one constant for all paths
	AddressTableSize = 256                   // LOC_ADDRTBL_SZ: indices 1 … 255; no function lies below this address
	MaxContexts      = 16                    // MAX_PORTS
	MaxShmTasks      = 128                   // guide, Appendix F
	MaxTasks         = 16384                 // guide, Appendix F
	MaxAtomSize      = dgsm.MaxAtomSize      // MAX_ATOM_SIZE, bytes
	MaxMessageSize   = uint64(^uint(0) >> 1) // LAPI_MAX_MSG_SZ: by the width of addresses
	longestMessage   = uint64(1<<63 - 1)     // any task's
	minTimeout       = 10                    // MIN_TIMEOUT, seconds
	maxTimeout       = 86400                 // MAX_TIMEOUT, seconds
	defaultTimeout   = 900                   // TIMEOUT, seconds
)

// Tunables.
const (
	directGetFew   = 4       // blocks up to which a get is copied straight all the same: asking the target takes as long
	progressBatch  = 64      // messages a link may deliver in one turn of the dispatcher
	udpIdleTurns   = 16      // turns between looks at a socket that has been silent, while shared memory is polled
	sessionTurns   = 64      // turns between looks at the clock, for the job session
	sessionPause   = 50e6    // ns between looks at the job session, which cost a system call
	earlyBytesMax  = 4 << 20 // bytes of fragments kept for active messages whose header has not come, for each peer
	faultTextBytes = 240     // of cshim_error
)

// Host calls the user's functions. Their addresses came from the user; capi calls them through C.
type Host interface {
	// HeaderHandler runs a header handler on the current thread and fills r.
	HeaderHandler(handler transport.Addr, uhdr transport.Addr, uhdrLen uint32, msgLen uint64, src int32, onePacket transport.Addr, r *HeaderResult)
	// VectorHeaderHandler runs the header handler of a vector's active message; lengths are those of the origin's blocks, an
	// ulong each. The handler returns its vector's address as the buffer.
	VectorHeaderHandler(handler transport.Addr, uhdr transport.Addr, uhdrLen uint32, lengths transport.Addr, src int32, onePacket transport.Addr, r *HeaderResult)
	// SendHandler runs a send completion handler on the current thread.
	SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code)
	// CompletionHandler runs an inline completion handler on the current thread.
	CompletionHandler(handler, info transport.Addr)
	// Message prints a message of the library for the user, at MP_INFOLEVEL level or above.
	Message(level int, text string)
	// DDM runs a data distribution manager function (LAPI_REG_DDM_FUNC) on the current thread.
	DDM(handler, in, inout transport.Addr, n uint64, operand, operation int32) int64
	// Farewell leaves with C what to send to which sockets if the process ends with status 0 but without LAPI_Term. Both are copied; each
	// call replaces the one before.
	Farewell(record []byte, sockets []int)
	// Print writes to the standard output, through C's stdio.
	Print(text string)
	// Exit prints text and ends the task at once.
	Exit(text string)
}

// HeaderResult is what a header handler gave back: the buffer, the completion handler and its parameter, and the fields of
// lapi_return_info_t that it may set.
type HeaderResult struct {
	Buffer, Completion, Info transport.Addr
	DGSP, Bytes, Skip        uint64 // Skip: recv_offset_dgsp_bytes
	RetFlags, CtlFlags       int32
}

// Bits and values of lapi.h that core acts on.
const (
	retLocalState = 1
	retSendReply  = 2
	ctlDeliver    = 0
	ctlBury       = 1
	ctlDrop       = 2
	sendComplete  = 1 // LAPI_SEND_COMPLETE
	recvComplete  = 2 // LAPI_RECV_COMPLETE
)

// ErrType is lapi_err_t: the kind of operation that an error concerns.
type ErrType int32

// The values of lapi_err_t.
const (
	GetErr ErrType = iota
	PutErr
	RmwErr
	AmErr
	IntErr
	TmrErr
)

// task is what a context knows of one task of the job.
type task struct {
	id           int
	link         transport.Link // nil only while LAPI_Init runs
	ep           transport.Endpoint
	atomics      *emul.Emulator // of link; nil where the link's atomics are native
	packet       int            // header and data of the longest message that is one packet of the link's
	sendMax      int            // data bytes of the largest fragment, whatever its header
	headers      int            // the link's HeaderMax
	isSelf       bool
	shared       bool     // reached by shared memory
	atOnce       int      // bytes of data up to which a Send that finds room copies them
	direct       bool     // the link can copy straight between the two tasks' memory
	attender     attender // the link, if it is one
	ownPutFailed uint32   // see putFailed

	dead     bool
	purged   bool              // by LAPI_Purge_totask; then it is dead as well
	session  uint32            // how often all that was under way with it was given up
	address  transport.Address // without files: what link.Connect got
	lastKind ErrType           // of the latest operation to it
	lastSent ErrType           // of what the link got last for it
	expected int               // completions it owes us
	path     *layout.Path      // of a task of this node, if there is a lane
	pending  outgoingList      // messages that the link had no room for, oldest first
	used     bool              // on Context.usedTasks: sent to since it was last known to be flushed
	usedAt   uint64            // Context.sends when it was last sent to
	flushed  uint64            // Context.sends when the latest finished flush began
	nextID   uint32            // of fragmented messages to it

	unsaidReads uint64 // bytes that direct gets have read of it, and it has not been told of
	unsaid      bool   // on Context.unsaidTasks

	incoming   *incoming // unfinished messages from it
	earlyBytes int

	comeback // of a task reached by shared memory
}

// Context is one LAPI instance: what a lapi_handle_t stands for.
type Context struct {
	shared *layout.Context
	host   Host
	cfg    *job.Config
	clock  transport.Clock

	session  job.Session
	instance int
	me       int
	tasks    []task
	self     transport.Link
	shm      sharedLink // nil if no task is reached by it
	udp      udpLink    // likewise
	emuls    []*emul.Emulator

	errHandler transport.Addr
	libVersion int32
	persistent bool  // LAPI_PSS_GPFS
	single     bool  // the call under way has LAPI_NOT_STRIPE
	shmTasks   []int // reached by shared memory, this one included; nil if shared memory is not used

	udpAddrs []netip.AddrPort // of all tasks, in a job started by hand

	errorCheck   bool
	ackThreshold int   // ACK_THRESHOLD, packets
	timeout      int64 // seconds
	bufCopy      int   // BUF_CP_SIZE

	lane        *lane    // nil: none
	barrier     *barrier // nil: LAPI_Gfence is all ours
	outboxes    outboxes
	userCode    int         // calls of user code by this package that are under way
	issued      *uint64     // number of the latest operation; the lane's, or own
	ownIssued   uint64      //
	sends       uint64      // what was given to links, to order it against flushes
	usedTasks   []int32     // sent to since their last flush began
	unsaidTasks []int32     // that may have unsaidReads
	getRmw      originList  // gets and read-modify-writes under way, oldest first
	waiting     int         // messages on all pending lists
	freeOut     *outgoing   // pools; nothing is allocated in the steady state
	freeOp      *fragmentOp //
	freeIn      *incoming   //
	stagings    [][]byte    // for fragments of vectors
	here        []transport.Range
	there       []transport.Range
	scattered   vector // of a vector's fragment that is being placed
	lengths     []byte // lengths of a vector's blocks, for the header handler; not on the Go heap
	owed        owed
	sent        []sendCompletion
	calling     bool // a send completion handler runs
	whole       incoming
	origins     []*originOp    // by token index
	freeOrig    []uint32       //
	readers     tokenTable     // direct active messages that a target is still to fetch
	unknown     []unknownIndex // active messages that wait for their index to be registered

	ddm            dgsm.DDM // LAPI_REG_DDM_FUNC; nil: none
	packer         dgsm.Machine
	freePlacements *placement
	completions    completionQueue
	tickets        []ticket
	lastTicket     uint64
	fences         []*fence
	freeFlush      *flushOp
	collectives    []*collective
	exchanges      map[uint32]*exchange // by generation: under way, or begun by others
	freeExchanges  []*exchange
	nextExchange   uint32            // generation of the latest collective here
	doneExchange   uint32            // of the latest that is over
	exchangeSent   func(m *outgoing) // roundSent
	everPurged     bool              // LAPI_Purge_totask was called here, or in a task that shares our collectives: there are none any more
	term           *leaving
	lists          map[transport.Addr]*destList // by counter: LAPI_Setcntr_wstatus
	errors         []ErrorEvent

	groups          map[uint32][]uint32 // by name: the tasks of each
	freeMulticasts  *multicast
	multicastHeader [MaxUhdrSize]byte // user header of a multicast while its messages are made

	sizes       *calibration.Table  // constant: where data leaves one way for another
	header      [putHeaderSize]byte // for sendNow
	scratch     []byte              // user header for the header handler: 8-aligned, writable
	result      HeaderResult
	trace       *tracer // nil: off
	changed     bool    // a counter or ticket changed: wake who waits
	udpIdle     int
	sessionTurn int
	sessionAt   int64 // when the job session was looked at
	terminating bool
	absent      int // tasks that are

	handlers [AddressTableSize]uint64 // LAPI_Addr_set, where there is no lane

	armed      bool  // a thread sleeps on the descriptors
	armedUntil int64 // when it wakes by itself; 0: never
}

// nextSeq numbers operations, so that a fence knows which came before it.
func (c *Context) nextSeq() uint64 {
	*c.issued++
	return *c.issued
}

// Flags of Dispatch, as in cshim/lapi/context.h.
const (
	DispatchTicket   = 1
	DispatchProgress = 2
	DispatchError    = 4
)

// Dispatch is one turn of the dispatcher: it receives, runs handlers, sends what had to wait, and moves fences and collectives
// on. wanted is a ticket to report, or 0.
func (c *Context) Dispatch(wanted uint64) (flags uint32) {
	memory.Guard()
	n := 0
	if c.shm != nil {
		n += c.shm.Progress(progressBatch)
	}
	n += c.self.Progress(progressBatch)
	if c.udp != nil {
		n += c.progressUDP()
	}
	for _, e := range c.emuls {
		n += e.Progress()
	}
	if c.waiting > 0 {
		n += c.sendWaiting()
	}
	if len(c.fences) > 0 {
		c.advanceFences()
	}
	if len(c.collectives) > 0 {
		c.advanceCollectives()
	}
	if c.term != nil {
		c.advanceTerm()
	}
	if len(c.unknown) > 0 {
		c.checkUnknown()
	}
	if c.absent > 0 {
		c.checkAbsent()
	}
	if c.sessionTurn++; c.sessionTurn >= sessionTurns || c.lane != nil { // the lane leaves turns to this package only now and then
		c.sessionTurn = 0
		if now := c.clock(); now-c.sessionAt >= sessionPause {
			c.sessionAt = now
			c.pollSession()
		}
	}
	c.publish()
	c.trace.turned(n)
	if n > 0 {
		flags |= DispatchProgress
	}
	if len(c.errors) > 0 {
		flags |= DispatchError
	}
	if wanted != 0 && c.ticketDone(wanted) {
		flags |= DispatchTicket
	}
	return flags
}

// progressUDP looks at the socket in every turn when it is all there is or when it was busy lately; a look costs a system call.
func (c *Context) progressUDP() int {
	if c.shm != nil && c.lane == nil && c.udpIdle > 0 && c.udpIdle%udpIdleTurns != 0 {
		c.udpIdle++
		return 0
	}
	c.owed.holding = true
	n := c.udp.Progress(progressBatch)
	c.owed.holding = false
	if c.owed.count > 0 {
		c.tellOwed()
	}
	if n > 0 {
		c.udpIdle = 0
	} else {
		c.udpIdle++
	}
	return n
}

// publish lets go the packets that the link has gathered, and tells the threads that wait for a counter or a ticket if one changed. Every
// entry into this package that can send or change one ends with it.
func (c *Context) publish() {
	if c.udp != nil {
		if c.owed.count > 0 { // a handler's call may wait for what follows from it
			c.tellOwed()
		}
		c.udp.Push() // before user code runs
	}
	if len(c.sent) > 0 && !c.calling {
		c.runSendHandlers()
	}
	c.tellLane()
	if c.changed {
		c.changed = false
		noteEvent(c.shared)
	}
	if c.armed && c.wakeSooner() {
		c.armed = false // one kick will do
		kick(c.shared)
	}
}

// wakeSooner says whether this entry left something that is due before the sleeping poller wakes by itself: a message to
// oneself, a retransmission. No descriptor tells of these.
func (c *Context) wakeSooner() bool {
	next := earlier(c.nextLinkTimeout(), c.nextDeadline())
	return next != 0 && (c.armedUntil == 0 || next < c.armedUntil)
}

// nextLinkTimeout is when a link, or a message that waits for room in one, wants the dispatcher to run; 0 if never.
func (c *Context) nextLinkTimeout() int64 {
	next := int64(0)
	for _, l := range c.links() {
		if w, ok := l.(transport.Waiter); ok {
			next = earlier(next, w.NextTimeout())
		}
	}
	if c.waiting > 0 { // a link had no room; it does not tell when it has
		next = earlier(next, c.clock()+int64(1e6))
	}
	return next
}

// SetAway tells the tasks of this node whether this one's user polls.
func (c *Context) SetAway(away bool) {
	if l, ok := c.shm.(interface{ SetAway(bool) }); ok {
		l.SetAway(away)
	}
}

// Arm prepares a thread's sleep. It returns false if there is work now; else for how long to sleep at most, -1 without end.
func (c *Context) Arm() (timeout int64, ok bool) {
	memory.Guard()
	if len(c.errors) > 0 {
		return 0, false
	}
	for _, l := range c.links() {
		if w, ok := l.(transport.Waiter); ok && w.Arm() {
			c.Disarm()
			return 0, false
		}
	}
	next := earlier(c.nextLinkTimeout(), c.nextDeadline())
	c.armed, c.armedUntil = true, next
	c.sessionTurn, c.sessionAt = sessionTurns, -sessionPause // look at once after waking
	if next == 0 {
		return -1, true
	}
	return max(next-c.clock(), 0), true
}

// Disarm ends what Arm began.
func (c *Context) Disarm() {
	c.armed = false
	for _, l := range c.links() {
		if w, ok := l.(transport.Waiter); ok {
			w.Disarm()
		}
	}
	c.udpIdle = 0
}

// earlier is the earlier of two times, where 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (c *Context) links() (ls [3]transport.Link) {
	ls[0] = c.self
	if c.shm != nil {
		ls[1] = c.shm
	}
	if c.udp != nil {
		ls[2] = c.udp
	}
	return ls
}

// target checks a task id that names the target of an operation.
func (c *Context) target(id uint32) (*task, codes.Code) {
	if id >= uint32(len(c.tasks)) {
		return nil, codes.ErrTgt
	}
	t := &c.tasks[id]
	if t.dead {
		return t, t.gone()
	}
	return t, codes.Success
}

// gone is the code for operations on a dead task: they failed, or were given up by LAPI_Purge_totask.
func (t *task) gone() codes.Code {
	if t.purged {
		return codes.ErrTgtPurged
	}
	return codes.ErrNoConnectivity
}

// use notes that something of an operation of that kind was given to t's link, for fences.
func (c *Context) use(t *task, kind ErrType) {
	t.lastSent = kind
	c.sends++
	t.usedAt = c.sends
	if !t.used {
		t.used = true
		c.usedTasks = append(c.usedTasks, int32(t.id))
	}
}

// count adds 1 to the counter at a; 0 is no counter.
func (c *Context) count(a transport.Addr, kind ErrType, src int) { c.countFor(a, kind, src, src) }

// countFor is count where the message that the counter tells of went between this task and peer, but src named the counter.
func (c *Context) countFor(a transport.Addr, kind ErrType, src, peer int) {
	if a == 0 {
		return
	}
	if len(c.lists) > 0 {
		c.noteReceived(a, peer)
	}
	if _, err := memory.Add32(a, 1); err != nil {
		c.fault(err, codes.ErrTgtAddrNull, kind, src)
		return
	}
	c.changed = true
	c.trace.counted(a, src)
}

// countMore is count for n messages at once.
func (c *Context) countMore(a transport.Addr, kind ErrType, src int, n int32) {
	if a == 0 || n == 1 || len(c.lists) > 0 || c.trace != nil { // each is noted by itself
		for range n {
			c.count(a, kind, src)
		}
		return
	}
	if _, err := memory.Add32(a, n); err != nil {
		c.fault(err, codes.ErrTgtAddrNull, kind, src)
		return
	}
	c.changed = true
}

// completed notes for LAPI_Msgpoll that a message of the user's was sent or received.
func (c *Context) completed(state uint32) {
	c.shared.MsgState |= state
}
