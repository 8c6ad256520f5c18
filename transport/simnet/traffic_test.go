package simnet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"lapi/transport"
)

const msgID transport.MsgID = 3

// Codes of Net.Schedule: with the number of a task in the lower bits.
const (
	codeUser    int32 = iota << 8 // the task's user sends
	codeDisturb                   // something befalls the network
	codeRestart                   // a task is restarted
	codeTold                      // a task is notified of another's restart: see s.news
	codeLeave                     // the task flushes and leaves
	codeClose                     // it has waited long enough for the others' answers
	codeGone                      // the others are notified that it has left
)

// Bounds of a run; they only guard against runs that never end.
const (
	maxEvents = 3_000_000
	maxTime   = int64(time.Hour)
)

// run is traffic through a scenario's network, on the links themselves.
type run struct {
	sc     *Scenario
	net    *Net
	random *rand.Rand
	tasks  []*simTask

	messages  []message
	fragments []fragment
	owners    []*owner
	arena     []byte
	used      int
	header    []byte
	rubbish   []byte

	open     int // messages that must still be accepted
	undone   int // fragments whose memory the links still have
	refused  int
	flushes  int // not done
	events   int
	restarts int
	news     []news
	ending   bool
	closed   int // tasks
	closes   int // pairs of which one must have learned that the other has left
	failures []error
	stats    transport.Stats // of all links that are over
}

// simTask is one task of a run.
type simTask struct {
	link    *Link
	node    *Node
	life    int   // counts restarts
	view    []int // by task: the generation of it with which this one has its session
	pending []fifo
	waiting int   // fragments in pending
	sendMax []int // for each task, bytes that go to it in one packet; 0: as the link takes
	away    bool  // dead, not yet restarted
	leftAt  int64
}

// newRun makes the memory that one run after the other uses.
func newRun() (*run, error) {
	arena, err := syscall.Mmap(-1, 0, arenaSize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	s := &run{arena: arena, messages: make([]message, 0, maxMessages),
		fragments: make([]fragment, 0, maxFragments), header: make([]byte, 4096)}
	s.rubbish = make([]byte, 4096)
	for i := range s.rubbish {
		s.rubbish[i] = 0xff
	}
	for i := range maxFragments {
		s.owners = append(s.owners, &owner{s, int32(i)})
	}
	return s, nil
}

func (s *run) fail(format string, a ...any) {
	err := fmt.Errorf("%v: %w", time.Duration(s.net.Now()), fmt.Errorf(format, a...))
	s.net.Note("FAILURE %v", err)
	if len(s.failures) < 20 {
		s.failures = append(s.failures, err)
	}
}

// simulate runs a scenario; the error says what promise was broken.
func (s *run) simulate(sc *Scenario, log io.Writer) error {
	*s = run{
		sc: sc, net: New(sc, log), random: rand.New(rand.NewPCG(sc.Seed, 3)), arena: s.arena,
		owners: s.owners, header: s.header, rubbish: s.rubbish,
		messages: s.messages[:0], fragments: s.fragments[:0],
	}
	s.net.Happen = s.happen
	s.net.Note("%v", sc)
	for i := range sc.Tasks {
		s.tasks = append(s.tasks, &simTask{node: s.net.Node(i), view: make([]int, sc.Tasks),
			pending: make([]fifo, sc.Tasks)})
	}
	for i := range s.tasks {
		s.start(i)
		s.net.Schedule(s.pause(sc.Think), codeUser|int32(i))
	}
	span := time.Duration(sc.Messages/sc.Tasks)*sc.Think/time.Duration(sc.Burst)*2 +
		20*time.Millisecond
	for range sc.Disturbances {
		s.net.Schedule(time.Duration(s.random.Int64N(int64(span))), codeDisturb)
	}
	for range sc.Restarts {
		s.net.Schedule(time.Duration(s.random.Int64N(int64(span))), codeRestart)
	}
	s.loop()
	for i := range s.tasks {
		s.retire(i)
	}
	s.checkSums()
	s.checkEffort()
	err := errors.Join(append(s.failures, s.net.Err())...)
	s.net.Close()
	if err != nil {
		err = fmt.Errorf("%v%w", sc, err)
	}
	return err
}

// start gives task i a link, connected to all others.
func (s *run) start(i int) {
	k := s.tasks[i]
	cfg := s.sc.Config(i)
	cfg.PeerFailed = func(ep transport.Endpoint, err error) { s.peerFailed(i, int(ep), err) }
	k.sendMax = make([]int, s.sc.Tasks)
	cfg.SendMaxChanged = func(ep transport.Endpoint, sendMax int) { k.sendMax[ep] = sendMax }
	l, err := NewLink(k.node, cfg)
	if err != nil {
		s.fail("task %d: %v", i, err)
		return
	}
	l.Handle(msgID, func(msg *transport.Msg) transport.Verdict { return s.handle(i, msg) })
	for j, other := range s.tasks {
		if j != i {
			if err := l.Connect(transport.Endpoint(j), other.node.Address()); err != nil {
				s.fail("task %d: Connect: %v", i, err)
			}
			k.view[j] = other.life
		}
	}
	k.link, k.away = l, false
	k.node.Attach(func() { s.turn(i) }, l.NextTimeout)
}

// pause draws a time with this mean.
func (s *run) pause(mean time.Duration) time.Duration {
	return time.Duration(s.random.ExpFloat64() * float64(mean))
}

func (s *run) turn(i int) {
	k := s.tasks[i]
	k.link.Progress(1 + s.random.IntN(64))
	if k.waiting > 0 {
		s.pump(i)
	}
	k.link.Push()
}

// pump gives the link of task i what it has room for.
func (s *run) pump(i int) {
	k := s.tasks[i]
	for to := range k.pending {
		q := &k.pending[to]
		for q.len() > 0 {
			n := q.items[q.head]
			if !s.give(n) {
				break
			}
			q.take()
			k.waiting--
		}
	}
}

func (s *run) happen(code int32) {
	i := int(code & 255)
	switch code &^ 255 {
	case codeUser:
		s.user(i)
	case codeDisturb:
		s.net.Disturb(s.sc.Disturbance(s.random))
	case codeRestart:
		s.restart()
	case codeTold:
		s.hear()
	case codeLeave:
		s.leave(i)
	case codeClose:
		s.close(i)
	case codeGone:
		s.gone(i)
	}
}

// user sends a burst, flushes perhaps, and thinks.
func (s *run) user(i int) {
	k := s.tasks[i]
	if len(s.messages) >= s.sc.Messages {
		return
	}
	if k.away || k.waiting > 64 {
		s.net.Schedule(s.pause(s.sc.Think+time.Millisecond), codeUser|int32(i))
		return
	}
	s.net.Schedule(s.pause(s.sc.Think), codeUser|int32(i))
	for range 1 + s.random.IntN(s.sc.Burst) {
		if len(s.messages) < s.sc.Messages {
			s.create(i, s.sc.Target(s.random, i))
		}
	}
	s.pump(i)
	if s.random.Float64() < s.sc.Flush {
		if to := s.random.IntN(s.sc.Tasks); to != i {
			s.flush(i, to)
		}
	}
	k.link.Push()
}

// flush checks that all that the link got before it is accepted when it is done.
func (s *run) flush(from, to int) {
	var before []int32
	for i := range s.fragments {
		f := &s.fragments[i]
		if m := &s.messages[f.message]; m.from == from && m.to == to && f.given && !f.accepted &&
			!m.maybe {
			before = append(before, int32(i))
		}
	}
	life := s.tasks[from].life
	done := func(err error) {
		s.flushes--
		if s.tasks[from].life != life { // its task is no more
			return
		}
		for _, i := range before {
			f := &s.fragments[i]
			m := &s.messages[f.message]
			switch {
			case m.maybe: // an end of it was restarted
			case err != nil:
				s.fail("flush from %d to %d: %v", from, to, err)
				return
			case !f.accepted:
				s.fail("a flush from %d to %d is done before message %d is accepted at %d", from,
					to, f.message, f.offset)
			}
		}
	}
	s.flushes++
	op := &transport.Op{Done: func(_ *transport.Op, err error) { done(err) }}
	status, err := s.tasks[from].link.Flush(transport.Endpoint(to), op)
	if err != nil || status == transport.Done {
		done(err)
	}
}

// loop lets everything happen until all messages have arrived and all tasks have left.
func (s *run) loop() {
	for ; len(s.failures) == 0; s.events++ {
		if s.events%1024 == 0 {
			s.checkUsage()
		}
		if !s.ending && s.finished() {
			s.end()
		}
		if s.closed == len(s.tasks) {
			s.checkEnd()
			return
		}
		if !s.net.Step() {
			s.fail("nothing happens any more; %s", s.state())
		}
		if s.events > maxEvents || s.net.Now() > maxTime {
			s.fail("no end after %d events; %s", s.events, s.state())
		}
	}
}

// finished says whether there is nothing left to wait for.
func (s *run) finished() bool {
	return s.open == 0 && s.flushes == 0 && len(s.messages) >= s.sc.Messages &&
		s.restarts == s.sc.Restarts && len(s.news) == 0 && s.settled()
}

// settled says whether all memory is the user's again.
func (s *run) settled() bool {
	for _, k := range s.tasks {
		if k.waiting > 0 || k.away {
			return false
		}
	}
	return s.undone == 0
}

func (s *run) state() string {
	text := fmt.Sprintf("%d of %d messages are open, %d flushes\n", s.open, len(s.messages),
		s.flushes)
	for i, k := range s.tasks {
		if k.link != nil {
			text += fmt.Sprintf("  task %d: %+v, %d fragments wait, %d packets at its socket, %d B in its sockets\n",
				i, k.link.Usage(), k.waiting, k.node.waiting(), k.node.inboxBytes)
		}
	}
	shown := 0
	for i := range s.fragments {
		if f := &s.fragments[i]; (!f.accepted && !s.messages[f.message].maybe || !f.done) &&
			shown < 10 {
			m := &s.messages[f.message]
			text += fmt.Sprintf("  message %d from %d to %d, at %d: given %v, accepted %v, done %v, refused %d times\n",
				f.message, m.from, m.to, f.offset, f.given, f.accepted, f.done, f.refusals)
			shown++
		}
	}
	return text
}
