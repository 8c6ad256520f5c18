package job

import (
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// Limits on waiting for other tasks that were started by hand; none with MP_DEBUG_NOTIMEOUT.
const (
	wireUpLimit   = 60 * time.Second  // until all tasks have called LAPI_Init
	exchangeLimit = 900 * time.Second // inside of it, as LAPI's TIMEOUT
)

func deadlineOf(c *Config, limit time.Duration) time.Time {
	if c.NoTimeout {
		return time.Time{}
	}
	return time.Now().Add(limit)
}

// standalone is a session among tasks of this node that were started by hand: a connection to each.
// That a peer has died is seen by the end of its connection, or of its process where a child that
// it forked keeps the connection open.
type standalone struct {
	c        *Config
	instance int
	members  []int   // tasks, ascending, this one included
	peers    []*peer // by task; nil for this task and those not in the session
	watch    *watch
	scratch  *wire.Scratch
	round    uint32
	events   []Event
	wiring   *wireUp        // nil once the session has begun
	listener int            // where others find this task
	pending  []*pendingConn // connections to it that were not answered yet
	// nobody waits on the listener, for lack of descriptors or too many pending connections,
	// until a task dies
	unwatched bool
	// rejoining: others have readmitted this task to their session, so it does without those
	// that are not there.
	rejoining bool
}

// peer is the connection to one task.
type peer struct {
	task    int
	conn    *wire.Conn
	pid     int
	process int            // pidfd of it; -1 where the kernel has none
	parts   []wire.Message // contributions that came early
	left    bool
	ending  bool   // it has said that it ends with status 0
	how     string // it is dead, and how; "" while it lives

	rejoining bool   // it was readmitted and has not sent its part
	round     uint32 // of that part
	expected  bool   // it may rejoin although it has left
	malformed bool   // it counts as dead for what it sent; its process may live
}

func openStandalone(c *Config, instance int) (Session, error) {
	s, err := newStandalone(c, instance)
	if err != nil {
		return nil, err
	}
	if err := s.wiring.run(); err != nil {
		s.Close()
		return nil, err
	}
	s.wiring.end()
	s.wiring = nil
	return s, nil
}

// newStandalone is one that listens.
func newStandalone(c *Config, instance int) (*standalone, error) {
	w, err := newWatch()
	if err != nil {
		return nil, err
	}
	s := &standalone{c: c, instance: instance, watch: w, scratch: new(wire.Scratch),
		peers: make([]*peer, c.NumTasks), listener: -1}
	s.members = append(slices.Clone(c.CommonTasks), c.Task)
	slices.Sort(s.members)
	s.wiring = newWireUp(s)
	if s.listener, err = listen(c, instance); err == nil {
		err = w.add(s.listener, listenerTag)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// adopt makes a connection whose hello is known the way to a task, and watches it.
func (s *standalone) adopt(task int, conn *wire.Conn, pid int) (*peer, error) {
	p := &peer{task: task, conn: conn, pid: pid, process: wire.PeerProcess(conn.Fd())}
	s.peers[task] = p
	err := s.watch.add(p.conn.Fd(), p.task)
	if err == nil && p.process >= 0 {
		err = s.watch.add(p.process, p.task)
	}
	if err != nil {
		s.drop(p)
		return nil, err
	}
	return p, nil
}

// drop forgets a connection whose task may come again.
func (s *standalone) drop(p *peer) {
	s.peers[p.task] = nil
	s.unwatch(p)
	p.close()
}

// close ends the connection also where a process that this one has forked has it too.
func (p *peer) close() {
	_ = unix.Shutdown(p.conn.Fd(), unix.SHUT_RDWR)
	p.conn.Close()
	if p.process >= 0 {
		unix.Close(p.process)
	}
	for i := range p.parts {
		p.parts[i].CloseFiles()
	}
}

// unwatch is explicit, because a forked process may keep the descriptors open.
func (s *standalone) unwatch(p *peer) {
	s.watch.remove(p.conn.Fd())
	if p.process >= 0 {
		s.watch.remove(p.process)
	}
}

// Exchange sends part to every member and waits for theirs.
func (s *standalone) Exchange(part Part) ([]Part, error) {
	for _, p := range s.peers {
		if p != nil && p.how == "" {
			p.conn.Queue(wire.Message{Kind: wire.Part, Number: s.round, Data: part.Data,
				Files: part.Files})
		}
	}
	deadline := deadlineOf(s.c, exchangeLimit)
	for {
		waiting, err := s.progress()
		if err != nil {
			return nil, err
		}
		if len(waiting) == 0 {
			break
		}
		ok, err := poll.Until(waiting, deadline)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("no answer within %v from %s (LAPI_Init)", exchangeLimit,
				s.silent())
		}
	}
	return s.collect(part)
}

// progress sends and receives what it can, and returns what to wait for; nothing: all that this
// round needs is there and sent.
func (s *standalone) progress() (waiting []unix.PollFd, err error) {
	for _, p := range s.peers {
		if p == nil {
			continue
		}
		sent, err := flush(p.conn)
		if err != nil {
			return nil, fmt.Errorf("sending to task %d: %w", p.task, err)
		}
		s.receive(p)
		if len(p.parts) == 0 && (p.how != "" || p.left) {
			if s.rejoining { // as if it had not been there
				s.drop(p)
				continue
			}
			how := p.how
			if how == "" {
				how = "has left (LAPI_Term)"
			}
			return nil, fmt.Errorf("task %d %s", p.task, how)
		}
		if len(p.parts) > 0 && (sent || p.how != "") {
			continue
		}
		waiting = append(waiting, unix.PollFd{Fd: int32(p.conn.Fd()), Events: readiness(sent)})
		if p.process >= 0 {
			waiting = append(waiting, unix.PollFd{Fd: int32(p.process), Events: unix.POLLIN})
		}
	}
	return waiting, nil
}

// collect takes the first part of each peer.
func (s *standalone) collect(own Part) ([]Part, error) {
	files, err := duplicate(own.Files)
	if err != nil {
		return nil, err
	}
	all := make([]Part, s.c.NumTasks)
	all[s.c.Task] = Part{Data: own.Data, Files: files}
	for _, p := range s.peers {
		if p == nil {
			continue
		}
		m := p.parts[0]
		p.parts = p.parts[1:]
		all[p.task] = Part{Data: m.Data, Files: m.Files}
		if m.Number != s.round {
			closeParts(all)
			return nil, fmt.Errorf("task %d is in round %d of the exchange, this task in round %d",
				p.task, m.Number, s.round)
		}
	}
	s.round++
	_ = s.serveListener() // whose hello came before says nothing more that would wake the watch
	return all, nil
}

// silent names the tasks whose parts are missing.
func (s *standalone) silent() string {
	var tasks []int
	for _, p := range s.peers {
		if p != nil && len(p.parts) == 0 {
			tasks = append(tasks, p.task)
		}
	}
	return nameTasks(tasks)
}

// receive reads what a peer has sent, up to the end of its connection or process.
func (s *standalone) receive(p *peer) {
	if p.how != "" {
		return
	}
	// Looked at first: what the process sent before its end can be read after it.
	exited := p.exited()
	for {
		m, ok, err := p.conn.Receive(s.scratch)
		switch {
		case err == io.EOF && !exited:
			s.died(p, "closed its connection without LAPI_Term")
			return
		case err != nil && err != io.EOF:
			p.malformed = true
			s.died(p, fmt.Sprintf("cannot be understood: %v", err))
			return
		case err != nil || !ok:
			if exited {
				s.died(p, fmt.Sprintf("has ended (process %d)", p.pid))
			}
			return
		case m.Kind == wire.Part && p.rejoining:
			s.rejoined(p, m)
		case m.Kind == wire.Part:
			p.parts = append(p.parts, m)
		case m.Kind == wire.Leave:
			p.left = true
			m.CloseFiles()
		case m.Kind == wire.Ending:
			p.ending = true
			m.CloseFiles()
		default:
			m.CloseFiles()
		}
	}
}

// exited says whether the peer's process has ended, as far as the kernel tells.
func (p *peer) exited() bool {
	return p.process >= 0 && poll.Readable(p.process)
}

// died ends the use of a peer. It is news unless the peer said Leave, or has not given its part to
// a session that can do without, or that has not begun.
func (s *standalone) died(p *peer, how string) {
	p.how = how
	s.unwatch(p)
	missed := p.rejoining || s.rejoining && s.round == 0 && len(p.parts) == 0
	switch {
	case p.left || missed || s.wiring != nil:
	case p.ending:
		s.events = append(s.events, Event{Kind: TaskEnded, Task: p.task,
			Text: "exited with status 0"})
	default:
		s.events = append(s.events, Event{Kind: TaskDied, Task: p.task, Text: how})
	}
}

func (s *standalone) Tasks() []int    { return slices.Clone(s.members) }
func (s *standalone) Descriptor() int { return s.watch.fd }

// Poll costs one system call if there is no event, and allocates nothing then.
func (s *standalone) Poll() (Event, bool) {
	for len(s.events) == 0 {
		task, ok := s.watch.ready()
		if !ok {
			return Event{}, false
		}
		if task == listenerTag {
			_ = s.serveListener()
			continue
		}
		p := s.peers[task]
		s.receive(p)
		if p.how != "" && (s.unwatched || len(s.pending) > 0) {
			_ = s.serveListener() // perhaps its successor waits
		}
	}
	e := s.events[0]
	s.events = s.events[1:]
	return e, true
}

func (s *standalone) Leave() {
	for _, p := range s.peers {
		if p != nil && p.how == "" {
			sendLast(p.conn)
		}
	}
}

func (s *standalone) ExitNotice() (record []byte, sockets []int) {
	for _, p := range s.peers {
		if p != nil && p.how == "" {
			sockets = append(sockets, p.conn.Fd())
		}
	}
	return wire.Record(wire.Ending), sockets
}

func (s *standalone) Close() error {
	if s.wiring != nil {
		s.wiring.end()
	}
	s.shut()
	for _, p := range s.peers {
		if p != nil {
			p.close()
		}
	}
	for _, e := range s.events {
		closeAll(e.Part.Files)
	}
	s.watch.close()
	return nil
}
