package job

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// launched is a session with a hub: lapirun's, or, by the keeper of this process, that of the node
// (nodehub.go). It has a socket of its own, of which the launcher gets the other end through the
// inherited socket: so sessions of several instances need not know of each other, and a session's
// end is seen when its process ends.
type launched struct {
	task, numTasks int
	server         string // what serves it, for messages
	conn           *wire.Conn
	watch          *watch
	scratch        *wire.Scratch
	round          uint32
	events         []Event
	departed       []int // what Departed returns next
	gone           bool  // the launcher has closed its end
	answers        bool  // Leave is answered: when it is known on all nodes
	// of a task that was started by hand (byhand.go)
	members  []int                    // the tasks that it reaches; nil: all
	deadline time.Time                // of an exchange; zero: none
	late     func() error             // what then; nil: an error ends the exchange
	more     func(wire.Message) error // takes other messages
}

// server names the process that has the hub, for messages.
func (c *Config) server() string {
	if c.Launched {
		return "lapirun"
	}
	return "the keeper of this process"
}

// LauncherProcess is the process from which the tasks of this node descend; 0: the task was started
// by hand, or that process is not visible here.
func (c *Config) LauncherProcess() int {
	if !c.Launched {
		return 0
	}
	return wire.PeerPID(c.launcherFD)
}

// connectLauncher sends Hello to the launcher and returns the connection; c has the job key then.
func connectLauncher(c *Config, purpose wire.Purpose, instance int) (*wire.Conn, error) {
	// Programs that the task starts later shall not hold the launcher's socket.
	unix.CloseOnExec(c.launcherFD)
	mine, theirs, err := wire.Pair()
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	conn, err := wire.NewConn(mine)
	if err != nil {
		unix.Close(theirs)
		return nil, err
	}
	g := wire.Greeting{Purpose: purpose, Task: c.Task, NumTasks: c.NumTasks, Instance: instance,
		PID: os.Getpid()}
	err = wire.SendTo(c.launcherFD, wire.Message{Kind: wire.Hello, Data: g.Encode(),
		Files: []int{theirs}})
	unix.Close(theirs)
	var m wire.Message
	if err == nil {
		m, err = await(conn, new(wire.Scratch))
	}
	switch {
	case err == io.EOF:
		err = fmt.Errorf("%s has ended", c.server())
	case err != nil:
	case m.Kind == wire.Refuse:
		err = fmt.Errorf("%s refuses: %s", c.server(), m.Data)
	case m.Kind != wire.Welcome || c.Launched != (len(m.Data) == KeySize):
		err = fmt.Errorf("%s answers with a message that this release does not know", c.server())
	}
	if err == nil && c.Launched && c.key == nil {
		if c.key, err = secretMemory(KeySize); err == nil {
			copy(c.key, m.Data)
		}
	}
	wire.Wipe(m.Data)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// leaveLimit is how long a task waits at most until other nodes know that it has left.
const leaveLimit = 3 * time.Second

// await returns the next message, however long it takes; the launcher answers or ends.
func await(conn *wire.Conn, scratch *wire.Scratch) (wire.Message, error) {
	for {
		m, ok, err := conn.Receive(scratch)
		if err != nil || ok {
			return m, err
		}
		if _, err := poll.Until([]unix.PollFd{{Fd: int32(conn.Fd()), Events: unix.POLLIN}},
			time.Time{}); err != nil {
			return m, err
		}
	}
}

func fetchKey(c *Config) error {
	conn, err := connectLauncher(c, wire.Ask, 0)
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}

func openLaunched(c *Config, instance int) (Session, error) {
	s, err := openSession(c, instance)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openSession(c *Config, instance int) (*launched, error) {
	conn, err := connectLauncher(c, wire.Join, instance)
	if err != nil {
		return nil, err
	}
	w, err := newWatch()
	if err == nil {
		if err = w.add(conn.Fd(), 0); err != nil {
			w.close()
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &launched{task: c.Task, numTasks: c.NumTasks, server: c.server(), conn: conn, watch: w,
		scratch: new(wire.Scratch), answers: c.kept}, nil
}

// Exchange waits without limit, because a task of the job may call LAPI_Init hours after another;
// it ends when a task that it waits for dies.
func (s *launched) Exchange(part Part) ([]Part, error) {
	if err := s.contribute(part); err != nil {
		return nil, err
	}
	return s.others()
}

// contribute begins an exchange: it sends as much as can be sent at once.
func (s *launched) contribute(part Part) error {
	s.conn.Queue(wire.Message{Kind: wire.Part, Number: s.round, Data: part.Data, Files: part.Files})
	_, err := flush(s.conn)
	return err
}

// others waits for all parts.
func (s *launched) others() ([]Part, error) {
	for {
		sent, err := flush(s.conn)
		if err != nil {
			return nil, err
		}
		m, ok, err := s.conn.Receive(s.scratch)
		switch {
		case err == io.EOF:
			s.launcherGone()
			return nil, fmt.Errorf("%s has ended", s.server)
		case err != nil:
			return nil, err
		case !ok:
			set := []unix.PollFd{{Fd: int32(s.conn.Fd()), Events: readiness(sent)}}
			happened, err := poll.Until(set, s.deadline)
			if err == nil && !happened {
				err = s.late()
			}
			if err != nil {
				return nil, err
			}
		case m.Kind == wire.Parts && m.Number == s.round:
			s.round++
			return s.unpack(m)
		case m.Kind == wire.Failed && m.Number == s.round:
			return nil, fmt.Errorf("%s", m.Data)
		default:
			if err := s.note(m); err != nil {
				return nil, err
			}
		}
	}
}

func (s *launched) unpack(m wire.Message) ([]Part, error) {
	all, err := wire.DecodeParts(m.Data, m.Files, s.numTasks)
	if err != nil || len(all) != s.numTasks && s.members == nil {
		m.CloseFiles()
		return nil, fmt.Errorf("contributions of %d tasks instead of %d (%v)", len(all), s.numTasks,
			err)
	}
	parts := make([]Part, s.numTasks)
	for _, c := range all {
		parts[c.Task] = Part{Data: c.Data, Files: c.Files}
	}
	return parts, nil
}

// note keeps a message's news about the job for Poll. An error ends an exchange.
func (s *launched) note(m wire.Message) error {
	kind := TaskDied
	if m.Kind == wire.Ended {
		kind = TaskEnded
	}
	switch {
	case (m.Kind == wire.Died || m.Kind == wire.Ended) && int64(m.Number) < int64(s.numTasks):
		s.events = append(s.events, Event{Kind: kind, Task: int(m.Number), Text: string(m.Data)})
	case m.Kind == wire.Moved && int64(m.Number) < int64(s.numTasks):
		s.events = append(s.events, Event{Kind: TaskMoved, Task: int(m.Number),
			Part: Part{Data: m.Data}})
	case m.Kind == wire.Left:
		s.noteLeft(m.Data)
	case s.more != nil:
		return s.more(m)
	}
	m.CloseFiles()
	return nil
}

// noteLeft takes in a list of tasks that have left.
func (s *launched) noteLeft(tasks []byte) {
	for ; len(tasks) >= 4; tasks = tasks[4:] {
		t := binary.LittleEndian.Uint32(tasks)
		if int64(t) < int64(s.numTasks) && int(t) != s.task {
			s.departed = append(s.departed, int(t))
		}
	}
}

// Departed implements Departures.
func (s *launched) Departed() []int {
	tasks := s.departed
	s.departed = nil
	return tasks
}

func (s *launched) launcherGone() {
	if !s.gone {
		s.gone = true
		s.watch.remove(s.conn.Fd()) // else the descriptor would stay readable for ever
		s.events = append(s.events, Event{Kind: LauncherGone, Text: s.server + " has ended"})
	}
}

func (s *launched) Tasks() []int {
	if s.members != nil {
		return slices.Clone(s.members)
	}
	all := make([]int, s.numTasks)
	for t := range all {
		all[t] = t
	}
	return all
}

func (s *launched) Descriptor() int { return s.watch.fd }

// Poll costs one system call if there is no event, and allocates nothing then.
func (s *launched) Poll() (Event, bool) {
	if len(s.events) == 0 {
		if _, ok := s.watch.ready(); ok {
			s.receive()
		}
	}
	if len(s.events) == 0 {
		return Event{}, false
	}
	e := s.events[0]
	s.events = s.events[1:]
	return e, true
}

func (s *launched) receive() {
	for {
		m, ok, err := s.conn.Receive(s.scratch)
		if err != nil {
			s.launcherGone()
			return
		}
		if !ok {
			return
		}
		_ = s.note(m) // there is no exchange
	}
}

func (s *launched) Publish(address []byte) {
	sendSoon(s.conn, wire.Message{Kind: wire.Moved, Data: address})
}

func (s *launched) Leave() {
	sendLast(s.conn)
	for end := time.Now().Add(leaveLimit); s.answers; {
		m, ok, err := s.conn.Receive(s.scratch)
		switch {
		case err != nil || m.Kind == wire.Left && len(m.Data) == 0: // the answer names no task
			return
		case ok:
			_ = s.note(m)
			continue
		}
		set := []unix.PollFd{{Fd: int32(s.conn.Fd()), Events: unix.POLLIN}}
		if ok, err := poll.Until(set, end); !ok || err != nil {
			return
		}
	}
}

func (s *launched) ExitNotice() ([]byte, []int) {
	return wire.Record(wire.Ending),
		[]int{s.conn.Fd()}
}

// sendLast sends Leave: without it the others would take this task for dead.
func sendLast(conn *wire.Conn) { sendSoon(conn, wire.Message{Kind: wire.Leave}) }

// sendSoon sends m and waits for it to go, a second at most.
func sendSoon(conn *wire.Conn, m wire.Message) {
	conn.Queue(m)
	deadline := time.Now().Add(time.Second)
	for {
		sent, err := conn.Flush()
		if sent || err != nil {
			return
		}
		if ok, _ := poll.Until([]unix.PollFd{{Fd: int32(conn.Fd()), Events: unix.POLLOUT}},
			deadline); !ok {
			return
		}
	}
}

func (s *launched) Close() error {
	s.watch.close()
	s.conn.Close()
	return nil
}
