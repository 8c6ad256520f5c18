package hub

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"lapi/core/job/wire"
)

// Keeper stands between the sessions of a process and its node's hub, in whichever process that is.
// To the sessions it is the hub. It passes on what they and the hub say, and keeps what another hub
// has to know (see Successors above).
//
// Its mutex guards everything; it is not held while sockets are read or written. Its goroutines
// live as long as the process, or until there is no hub to be had.
type Keeper struct {
	task, numTasks int
	reach          func() (int, error)
	answered       func() // may be nil

	mu     sync.Mutex
	opened [wire.MaxInstances]int
	lost   []groupID
	all    []*kept
	hub    *outlet // the control socket; nil while there is no hub
}

// kept is a session, seen from its keeper. Guarded by Keeper.mu, but for the outlet.
type kept struct {
	*outlet // to the task
	keeper  *Keeper
	id      groupID
	round   uint32
	part    *wire.Message // of that round, while it is not answered; descriptors: until it is sent
	leaving bool          // it has said Leave
	ending  bool          // it has said Ending
	gone    bool          // its socket has ended
	over    bool          // no hub needs to hear of it any more
	known   [numKnown][]bool
	way     *keptWay // to the hub; nil: it is told of this session when there is one
}

// keptWay is how a session is connected to one hub.
type keptWay struct {
	*outlet
	ended chan struct{} // closed when all that the hub has said is taken in
}

// comeAgain is between two tries to come to a hub: who is found may be about to end, too.
const comeAgain = time.Millisecond

// Keep begins a keeper for a task of so many. Reach connects to the hub of the node and returns the
// socket, however long it takes; an error: there will be none. It is called anew whenever the hub
// has ended, in a goroutine. Answered, which may be nil, is called for each Ending of a session
// that a hub has answered. Control is what sessions say Hello on.
func Keep(task, numTasks int, reach func() (int, error), answered func()) (control int,
	err error) {
	socket, err := reach()
	if err != nil {
		return -1, err
	}
	control, mine, err := wire.Pair()
	if err != nil {
		closeFiles([]int{socket})
		return -1, err
	}
	front, err := newLink(mine)
	if err != nil {
		closeFiles([]int{socket, control})
		return -1, err
	}
	k := &Keeper{task: task, numTasks: numTasks, reach: reach, answered: answered}
	go k.serve(front)
	go k.run(socket, front)
	return control, nil
}

// run keeps to one hub after another, until one refuses this task: to the others it has ended.
func (k *Keeper) run(socket int, front *link) {
	var err error
	for refused := false; err == nil && !refused; {
		if control, err := newLink(socket); err == nil {
			refused = k.follow(control)
		}
		if !refused {
			time.Sleep(comeAgain)
			socket, err = k.reach()
		}
	}
	front.shutdown()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.all { // behind what the last hub has said
		s.send(wire.Message{}, s.link.shutdown)
	}
}

// follow comes to a hub, and returns when that has ended, or has refused this task.
func (k *Keeper) follow(control *link) (refused bool) {
	defer control.close()
	watchProcess(control)
	if k.come(control) == nil {
		var err error
		for err == nil {
			var m wire.Message
			m, err = control.receive()
			m.CloseFiles()
			refused = refused || err == nil && m.Kind == wire.Refuse
		}
	}
	k.mu.Lock()
	if k.hub != nil {
		k.hub.endQueue()
		k.hub = nil
	}
	var ways []*keptWay
	for _, s := range k.all {
		if s.way != nil {
			ways = append(ways, s.way)
		}
	}
	k.mu.Unlock()
	for _, w := range ways { // what the hub has said can still be read
		w.link.shutdown()
		<-w.ended
	}
	return refused
}

// come tells a hub how things stand.
func (k *Keeper) come(control *link) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	stands := standing{opened: k.opened, lost: k.lost}
	var theirs []int
	for _, s := range k.all {
		s.way = nil
		fd, err := s.begin()
		if err != nil {
			closeFiles(theirs)
			return err
		}
		theirs = append(theirs, fd)
		stands.goOn = append(stands.goOn, s.standing())
		s.repeat()
	}
	k.hub = newOutlet(control)
	go k.hub.writeAll()
	g := wire.Greeting{Purpose: wire.Join, Task: k.task, NumTasks: k.numTasks, PID: os.Getpid()}
	k.hub.send(wire.Message{Kind: wire.Hello, Data: stands.encode(g.Encode()), Files: theirs},
		func() { closeFiles(theirs) })
	return nil
}

// begin makes the way of a session to a hub, and returns the hub's end. mu is held.
func (s *kept) begin() (theirs int, err error) {
	mine, theirs, err := wire.Pair()
	if err != nil {
		return -1, err
	}
	l, err := newLink(mine)
	if err != nil {
		closeFiles([]int{theirs})
		return -1, err
	}
	s.way = &keptWay{newOutlet(l), make(chan struct{})}
	go s.way.writeAll()
	go s.hear(s.way)
	return theirs, nil
}

// standing is what a hub is to know of it. mu is held.
func (s *kept) standing() going {
	g := going{id: s.id, round: s.round}
	for i, tasks := range s.known {
		for t, yes := range tasks {
			if yes {
				g.known[i] = append(g.known[i], t)
			}
		}
	}
	return g
}

// repeat says to another hub what the last one has not answered. mu is held.
func (s *kept) repeat() {
	if s.part != nil {
		s.pass(*s.part)
		s.part.Files = nil // a second time it cannot succeed
	}
	if s.ending {
		s.way.send(wire.Message{Kind: wire.Ending}, nil)
	}
	if s.leaving {
		s.way.send(wire.Message{Kind: wire.Leave}, nil)
	}
}

// serve takes the sessions' hellos.
func (k *Keeper) serve(front *link) {
	for {
		m, err := front.receive()
		if err != nil {
			return
		}
		g, err := wire.ParseGreeting(m.Data)
		if m.Kind != wire.Hello || len(m.Files) != 1 || err != nil {
			m.CloseFiles()
			continue
		}
		if l, err := newLink(m.Files[0]); err == nil {
			k.open(l, g)
		}
	}
}

// open begins a session.
func (k *Keeper) open(l *link, g wire.Greeting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &kept{outlet: newOutlet(l), keeper: k,
		id: groupID{g.Instance, k.opened[g.Instance]}}
	for i := range s.known {
		s.known[i] = make([]bool, k.numTasks)
	}
	k.opened[g.Instance]++
	k.all = append(k.all, s)
	s.send(wire.Message{Kind: wire.Welcome}, nil)
	go s.writeAll()
	go s.readAll()
	if k.hub == nil {
		return
	}
	theirs, err := s.begin()
	if err == nil {
		files := []int{theirs}
		k.hub.send(wire.Message{Kind: wire.Hello, Data: g.Encode(), Files: files},
			func() { closeFiles(files) })
		return
	}
	s.link.shutdown()
}

// readAll takes what the task says, until its socket ends.
func (s *kept) readAll() {
	for {
		m, err := s.link.receive()
		if err != nil || s.said(m) != nil {
			break
		}
	}
	s.keeper.mu.Lock()
	s.gone = true
	if !s.leaving {
		s.over = true
		if s.part != nil {
			s.part.CloseFiles()
		}
		s.keeper.lost = append(s.keeper.lost, s.id)
	}
	s.release()
	s.keeper.mu.Unlock()
	s.endQueue()
	s.link.close()
}

// release lets go of a session that is over on both sides. mu is held.
func (s *kept) release() {
	if !s.gone || !s.over {
		return
	}
	k := s.keeper
	if i := slices.Index(k.all, s); i >= 0 {
		k.all = slices.Delete(k.all, i, i+1)
	}
	if s.way != nil {
		// Behind what is still to be sent: a link that ends takes that along.
		s.way.send(wire.Message{}, s.way.link.shutdown)
	}
}

// said passes on what the task says.
func (s *kept) said(m wire.Message) error {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	switch m.Kind {
	case wire.Part:
		if s.part != nil { // it does not wait for the answer: that is for the hub to refuse
			s.part.CloseFiles()
		}
		s.part = &wire.Message{Kind: wire.Part, Number: m.Number, Data: m.Data}
	case wire.Leave:
		s.leaving = true
	case wire.Ending:
		s.ending = true
	default:
		m.CloseFiles()
		return io.ErrUnexpectedEOF
	}
	if s.way != nil {
		s.pass(m)
	} else if m.Kind == wire.Part {
		s.part.Files = m.Files
	} else {
		m.CloseFiles()
	}
	return nil
}

// pass sends a message, and with it its descriptors. mu is held.
func (s *kept) pass(m wire.Message) { s.way.send(m, func() { m.CloseFiles() }) }

// hear takes what the hub says, until that has ended.
func (s *kept) hear(w *keptWay) {
	defer close(w.ended)
	for {
		m, err := w.link.receive()
		if err != nil {
			break
		}
		s.heard(m)
	}
	w.endQueue()
	w.link.close()
}

// heard passes on what the hub says, and what the task does not know yet.
func (s *kept) heard(m wire.Message) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	files := m.Files
	switch m.Kind {
	case wire.Parts, wire.Failed:
		if s.part == nil || m.Number != s.part.Number {
			break
		}
		s.part = nil
		if m.Kind == wire.Parts {
			s.round++
		}
		s.send(m, func() { closeFiles(files) })
		return
	case wire.Died, wire.Ended:
		t := int64(m.Number)
		if t < int64(s.keeper.numTasks) && !s.known[knownDead][t] && !s.known[knownLeft][t] {
			s.known[knownDead][t] = true
			s.send(m, nil)
		}
	case wire.Left, wire.Ending:
		s.noted(m)
	case wire.Refuse:
		s.link.shutdown()
	}
	closeFiles(files)
}

// noted takes in who has left or said Ending. Of the task itself it is an answer. mu is held.
func (s *kept) noted(m wire.Message) {
	what := knownEnding
	if m.Kind == wire.Left {
		what = knownLeft
	}
	for b := m.Data; len(b) >= 4; b = b[4:] {
		t := int(binary.LittleEndian.Uint32(b))
		switch {
		case t == s.keeper.task:
			s.over = s.over || m.Kind == wire.Left
			if m.Kind == wire.Ending && s.keeper.answered != nil {
				s.keeper.answered()
			}
			s.send(wire.Message{Kind: m.Kind}, nil)
			s.release()
		case t < s.keeper.numTasks:
			s.known[what][t] = true
		}
	}
}
