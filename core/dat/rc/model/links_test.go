package model

import (
	"errors"
	"fmt"
	"time"

	"lapi/core/dat/rc"
	"lapi/transport"
	user "lapi/transport/memory"
	"lapi/transport/simnet"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// links is the engine over links, between processes on a simulated network that loses, doubles and
// reorders packets.
type links struct {
	settings
	net   *simnet.Net
	procs []*linkProcess
	timer bool // Schedule's time has come
}

// linkProcess is a process of links.
type linkProcess struct {
	*links
	index    int
	dead     bool
	node     *simnet.Node
	link     *simnet.Link
	engine   *rc.Engine
	contexts map[uint32]*context
	shared   *sharedQueue
	failed   map[transport.Endpoint]bool
}

// sharedQueue is a process's queue of receives.
type sharedQueue struct {
	rc.Shared
	list []*rc.Receive
}

// linkEnd is an end as the owner of its connection.
type linkEnd struct {
	*linkProcess
	*end
	conn               *rc.Conn
	requests, receives []event
	loud               bool
	over               bool
	how                rc.Ending
}

const (
	linkTimeout = 3 * time.Second // of the simulation, until a silent peer has failed
	linkPacket  = 1472
)

func newLinks(s settings) (driver, capabilities, error) {
	way := simnet.Way{MTU: linkPacket, DelayMin: time.Microsecond, DelayMax: 100 * time.Microsecond}
	if s.random.IntN(4) > 0 {
		way.Loss, way.Duplicate = 0.1*s.random.Float64(), 0.1*s.random.Float64()
		way.DelayMax = time.Duration(2<<s.random.IntN(13)) * time.Microsecond
	}
	sc := &simnet.Scenario{Seed: s.seed, Tasks: s.processes, Level: wire.LevelCookie,
		PacketSize: linkPacket, CopyMax: []int{-1, 64, 128, 16384}[s.random.IntN(4)],
		RexmitBufCount: 1 + s.random.IntN(32), AckThreshold: 1 + s.random.IntN(4),
		ReceiveBuffer: 1 << 20, PollingInterval: 10 * time.Millisecond, Timeout: linkTimeout}
	for i := range sc.Ways {
		sc.Ways[i] = way
	}
	for range s.processes {
		sc.Addresses = append(sc.Addresses, 1)
	}
	l := &links{settings: s, net: simnet.New(sc, nil)}
	l.net.Happen = func(int32) { l.timer = true }
	for i := range s.processes {
		p := &linkProcess{links: l, index: i, node: l.net.Node(i), contexts: map[uint32]*context{},
			failed: map[transport.Endpoint]bool{}}
		p.engine = rc.NewEngine(s.random.Uint64)
		link, err := simnet.NewLink(p.node, udp.Config{Task: i, NumTasks: s.processes,
			Level: wire.LevelCookie, Partition: "model", Timeout: linkTimeout,
			PeerFailed: func(ep transport.Endpoint, _ error) { p.fails(ep) },
			PacketSize: linkPacket, CopyMax: sc.CopyMax, RexmitBufCount: sc.RexmitBufCount,
			AckThreshold: sc.AckThreshold, PollingInterval: sc.PollingInterval})
		if err != nil {
			return nil, capabilities{}, err
		}
		p.link = link
		p.engine.Attach(link)
		p.node.Attach(func() {}, func() int64 { return 0 })
		p.node.Compute(true) // turns are the harness's
		l.procs = append(l.procs, p)
	}
	for _, p := range l.procs {
		for _, q := range l.procs {
			if p != q {
				err := p.link.Connect(transport.Endpoint(q.index), q.link.Address())
				if err != nil {
					return nil, capabilities{}, err
				}
			}
		}
	}
	return l, capabilities{taken: rc.Window}, nil
}

func (p *linkProcess) fails(ep transport.Endpoint) {
	p.failed[ep] = true
	p.engine.PeerFailed(p.link, ep)
}

func linkOf(e *end) *linkEnd { return e.impl.(*linkEnd) }

func (l *links) connect(c *connection) {
	for _, e := range c.ends {
		p := l.procs[e.process]
		o := &linkEnd{linkProcess: p, end: e}
		o.conn = p.engine.New(o)
		if e.shared {
			o.conn.Shared = &p.shared.Shared
		}
		e.impl = o
	}
}

func (l *links) open(e *end) {
	o := linkOf(e)
	index, tag := linkOf(e.peer()).conn.Name()
	o.conn.Open(o.link, transport.Endpoint(e.peer().process), index, tag, e.reads)
}

func segmentsOf(list []piece) (s []rc.Segment) {
	for _, p := range list {
		if len(p.at) > 0 {
			s = append(s, rc.Segment{Addr: user.AddrOf(p.at), N: uint32(len(p.at))})
		}
	}
	return s
}

// names says whether a process's context names memory, with all of these rights; windows: it may be
// an RMR's.
func (p *linkProcess) names(context uint32, addr transport.Addr, n uint64, need rights,
	windows bool) bool {
	c := p.contexts[context]
	if c == nil || c.at == nil || c.foreign || c.window && !windows || c.rights&need != need {
		return false
	}
	at := addr - user.AddrOf(c.at)
	return uint64(at) <= uint64(len(c.at)) && n <= uint64(len(c.at))-uint64(at)
}

// namesAll is names of a list of the process's own.
func (p *linkProcess) namesAll(list []piece, need rights, windows bool) bool {
	for _, s := range list {
		if len(s.at) > 0 &&
			!p.names(s.context, user.AddrOf(s.at), uint64(len(s.at)), need, windows) {
			return false
		}
	}
	return true
}

func (l *links) post(e *end, r *request) bool {
	o := linkOf(e)
	q := &rc.Request{Op: r.op, Immediate: r.immediate, Invalidate: r.invalidate,
		Solicited: r.solicited, Fence: r.fence, Data: r.data, Segments: segmentsOf(r.local),
		Context: r.context, Operand: r.operand, Compare: r.compare,
		Owner: &linkPosted{linkProcess: o.linkProcess, end: o, request: r}}
	if r.op != rc.Send && r.op != rc.Bind {
		q.Addr, q.Context = uint64(user.AddrOf(r.remote.at)), r.remote.context
	}
	need := rights(0)
	if r.op >= rc.Read {
		need = localWrite
	}
	q.Bad = !o.namesAll(r.local, need, r.window)
	return o.conn.Post(q)
}

func (l *links) postReceive(e *end, r *receive) bool {
	o := linkOf(e)
	if o.over || !o.namesAll(r.local, localWrite, false) {
		return false
	}
	o.conn.PostReceive(&rc.Receive{Segments: segmentsOf(r.local),
		Owner: &linkPosted{linkProcess: o.linkProcess, receive: r}})
	return true
}

func (l *links) share(process int) {
	q := &sharedQueue{}
	q.Waits = func(int) {}
	q.Next = func() (r *rc.Receive) {
		if len(q.list) > 0 {
			r, q.list = q.list[0], q.list[1:]
		}
		return r
	}
	l.procs[process].shared = q
}

func (l *links) postShared(process int, r *receive) bool {
	p := l.procs[process]
	q := p.shared
	q.list = append(q.list, &rc.Receive{Segments: segmentsOf(r.local),
		Owner: &linkPosted{linkProcess: p, receive: r}})
	q.Offer()
	return true
}

func (l *links) unshared(process int) int { return len(l.procs[process].shared.list) }

func (l *links) pending(e *end) (requests, receives int) {
	c := linkOf(e).conn
	if e.shared {
		return c.Pending(), 0
	}
	return c.Pending(), c.Receives()
}

func (l *links) disconnect(e *end, graceful bool) { linkOf(e).conn.Disconnect(graceful) }

func (l *links) turn(process int) {
	p := l.procs[process]
	p.link.Progress(1 + l.random.IntN(40))
	p.engine.Progress()
	p.link.Progress(0)
	p.node.Touch()
	for range l.random.IntN(8) {
		if !l.net.Step() {
			return
		}
	}
}

func (l *links) pass(long bool) {
	d := time.Duration(1+l.random.IntN(1000)) * time.Microsecond
	if long {
		d *= 40
	}
	l.timer = false
	l.net.Schedule(d, 0)
	for !l.timer && l.net.Step() {
	}
}

func (l *links) sleep(int) {}

func (l *links) take(e *end) (requests, receives []event, heard loudness) {
	o := linkOf(e)
	requests, receives, heard = o.requests, o.receives, silent
	if o.loud {
		heard = loud
	}
	o.requests, o.receives, o.loud = nil, nil, false
	return requests, receives, heard
}

func (l *links) over(e *end) (rc.Ending, bool) { return linkOf(e).how, linkOf(e).over }

func (l *links) die(process int, closes bool) {
	p := l.procs[process]
	p.dead = true
	if closes {
		p.link.Leave(l.net.Now())
		for range 4 {
			p.link.Progress(100)
			l.pass(false)
		}
	}
	p.link.Abandon()
}

// notice: a process that waits for something from a dead one finds out by itself.
func (l *links) notice(process, dead int) {
	p, ep := l.procs[process], transport.Endpoint(dead)
	for i := 0; i < 100 && !p.failed[ep]; i++ {
		l.serve()
	}
	if !p.failed[ep] {
		p.link.Disconnect(ep, transport.ErrUnreachable)
	}
	p.fails(ep)
}

// serve gives all processes a turn, and lets a time pass that is long for a network.
func (l *links) serve() {
	for _, p := range l.procs {
		if !p.dead {
			p.link.Progress(100)
			p.engine.Progress()
		}
	}
	l.pass(true)
}

func (l *links) publish(process int, c *context) { l.procs[process].contexts[c.number] = c }

func (l *links) forget(e *end) error {
	if o := linkOf(e); !o.dead && len(o.requests)+len(o.receives) > 0 {
		return errors.New("events came after its end")
	}
	return nil
}

func (l *links) close() error {
	err := l.net.Err()
	for _, p := range l.procs {
		if p.dead {
			continue
		}
		for i := 0; i < 50 && p.engine.Conns() > 0; i++ {
			l.serve()
		}
		if n := p.engine.Conns(); n > 0 && err == nil && !l.core.failed() {
			err = fmt.Errorf("process %d has %d connections left", p.index, n)
		}
		p.link.Abandon()
	}
	l.net.Close()
	return err
}

// Access implements rc.Owner.
func (o *linkEnd) Access(_ *rc.Conn, context uint32, addr transport.Addr, n uint64,
	right rc.Right) (transport.Addr, bool) {
	need := map[rc.Right]rights{rc.RightRead: remoteRead, rc.RightWrite: remoteWrite,
		rc.RightAtomic: remoteAtomic}[right]
	return addr, o.names(context, addr, n, need, true)
}

// linkPosted is the owner of a request of an end, or of a receive.
type linkPosted struct {
	*linkProcess
	end     *linkEnd
	request *request
	receive *receive
}

// Usable implements rc.Posted.
func (p *linkPosted) Usable() bool {
	if p.request != nil {
		return p.namesAll(p.request.local, localWrite, p.request.window)
	}
	return p.namesAll(p.receive.local, localWrite, false)
}

// Bind implements rc.Posted.
func (p *linkPosted) Bind() bool { return p.end.core.bound(p.end.end, p.request.number, true) }

// Invalidate implements rc.Owner.
func (o *linkEnd) Invalidate(_ *rc.Conn, context uint32) bool {
	return o.core.invalidated(o.end, context)
}

// Completed implements rc.Owner.
func (o *linkEnd) Completed(_ *rc.Conn, q *rc.Request) {
	r := q.Owner.(*linkPosted).request
	if q.Status != rc.Success || !r.suppress {
		o.requests = append(o.requests, event{number: r.number, status: q.Status,
			bind: r.op == rc.Bind, n: q.Bytes()})
	}
}

// Received implements rc.Owner.
func (o *linkEnd) Received(_ *rc.Conn, q *rc.Receive) {
	o.loud = o.loud || q.Status != rc.Success || q.Solicited || !o.solicited
	o.receives = append(o.receives, event{number: q.Owner.(*linkPosted).receive.number, status: q.Status,
		n: q.N, immediate: q.HasData, data: q.Immediate, invalid: q.Invalid, context: q.Context})
}

// Ended implements rc.Owner.
func (o *linkEnd) Ended(_ *rc.Conn, how rc.Ending) { o.over, o.how = true, how }
