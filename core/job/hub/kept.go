package hub

import (
	"encoding/binary"
	"io"
	"slices"

	"lapi/core/job/wire"
	"lapi/descriptor"
	"lapi/invariant"
)

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
	over    bool          // no hub needs to know of it any more
	known   [numKnown][]bool
	expects []int             // what it has said by Expect
	asks    []uint32          // what it has asked by Settle
	lives   map[int]wire.Life // of the others, as it has them
	moved   []byte            // its latest address, if that has changed
	way     *keptWay          // to the hub; nil: the next hub learns of this session when it comes
}

// keptWay is how a session is connected to one hub.
type keptWay struct {
	*outlet
	ended chan struct{} // closed when all that the hub has said is taken in
}

// end ends a session that no hub serves, after the last hub's messages. mu is held.
func (s *kept) end() {
	if why := s.keeper.why; s.part != nil && why != "" {
		s.send(wire.Message{Kind: wire.Failed, Number: s.part.Number, Data: []byte(why)}, nil)
	}
	s.send(wire.Message{}, s.link.shutdown)
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
	way := s.way
	invariant.Go(way.writeAll)
	invariant.Go(func() { s.hear(way) })
	return theirs, nil
}

// standing is what a hub has to know of the session. mu is held.
func (s *kept) standing() going {
	g := going{id: s.id, round: s.round, lives: s.lives}
	if s.keeper.Mates != nil && s.part != nil && s.round == 0 {
		g.life, _, _ = wire.CutLife(s.part.Data)
	}
	if s.keeper.Mates != nil && s.leaving {
		return g // a session that leaves is not notified of tasks that have come back
	}
	for i, tasks := range s.known {
		for t, yes := range tasks {
			if yes {
				g.known[i] = append(g.known[i], t)
			}
		}
	}
	return g
}

// repeat sends a new hub the requests that the last hub has not answered. mu is held.
func (s *kept) repeat() {
	if s.part != nil {
		m := *s.part
		s.part.Files = s.copies(m.Files)
		s.pass(m)
	}
	for _, t := range s.expects {
		s.way.send(wire.Message{Kind: wire.Expect, Number: uint32(t)}, nil)
	}
	for _, t := range s.asks {
		s.way.send(wire.Message{Kind: wire.Settle, Number: t}, nil)
	}
	if s.moved != nil {
		s.way.send(wire.Message{Kind: wire.Moved, Data: s.moved}, nil)
	}
	if s.ending {
		s.way.send(wire.Message{Kind: wire.Ending}, nil)
	}
	if s.leaving {
		s.way.send(wire.Message{Kind: wire.Leave}, nil)
	}
}

// copies duplicates the descriptors of a part, for another hub. Only tasks that were started by
// hand need that: in other jobs an exchange fails if a hub ends in it.
func (s *kept) copies(files []int) (all []int) {
	if s.keeper.Mates == nil {
		return nil
	}
	for _, fd := range files {
		dup, err := descriptor.Own(descriptor.Dup(fd))
		if err == nil {
			all = append(all, dup)
		}
	}
	return all
}

// readAll takes the task's messages until its socket ends.
func (s *kept) readAll() {
	for {
		m, err := s.link.receive()
		if err != nil || s.said(m) != nil {
			break
		}
	}
	s.keeper.mu.Lock()
	s.gone = true
	if s.part != nil {
		s.part.CloseFiles()
	}
	if !s.leaving {
		s.over = true
		s.keeper.lose(s.id)
	}
	s.release()
	s.keeper.mu.Unlock()
	s.endQueue()
	s.link.close()
}

// release drops a session that is over on both sides. mu is held.
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

// said passes a message of the task on.
func (s *kept) said(m wire.Message) error {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	switch m.Kind {
	case wire.Part:
		if s.part != nil { // it does not wait for the answer: that is for the hub to refuse
			s.part.CloseFiles()
		}
		s.part = &wire.Message{Kind: wire.Part, Number: m.Number, Data: m.Data}
		if s.way != nil {
			s.part.Files = s.copies(m.Files)
		}
	case wire.Expect:
		if t := int(m.Number); !slices.Contains(s.expects, t) {
			s.expects = append(s.expects, t)
		}
	case wire.Settle:
		if !slices.Contains(s.asks, m.Number) {
			s.asks = append(s.asks, m.Number)
		}
	case wire.Answer, wire.Missing: // of what the hub has said, or says
	case wire.Moved:
		s.moved = m.Data
	case wire.Leave:
		s.leaving = true
	case wire.Ending:
		s.ending = true
	default:
		m.CloseFiles()
		return io.ErrUnexpectedEOF
	}
	if s.keeper.over {
		m.CloseFiles()
		s.end()
	} else if s.way != nil {
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

// hear receives the hub's messages until the hub has ended.
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

// heard passes a message of the hub on to the task, unless the task knows it already.
func (s *kept) heard(m wire.Message) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	files := m.Files
	switch m.Kind {
	case wire.Parts, wire.Failed:
		if s.part == nil || m.Number != s.part.Number {
			break
		}
		s.part.CloseFiles()
		s.part = nil
		if m.Kind == wire.Parts {
			s.round++
		}
		s.send(m, func() { closeFiles(files) })
		return
	case wire.Died, wire.Ended:
		t := int64(m.Number)
		if t < int64(s.keeper.NumTasks) && !s.known[knownDead][t] && !s.known[knownLeft][t] {
			s.known[knownDead][t] = true
			delete(s.lives, int(t))
			s.send(m, nil)
		}
	case wire.Left, wire.Ending:
		s.noted(m)
	case wire.Refuse:
		s.link.shutdown()
	case wire.Welcome:
		s.begun(&m)
	case wire.Rejoined:
		s.rejoined(&m)
		s.send(m, func() { closeFiles(files) })
		return
	case wire.Settle:
		s.asks = slices.DeleteFunc(s.asks, func(t uint32) bool { return t == m.Number })
		s.send(m, nil)
	case wire.Missing, wire.Moved:
		s.send(m, nil)
	}
	closeFiles(files)
}

// begun takes in the session's group, where groups are not counted, and the other tasks in it. mu
// is held.
func (s *kept) begun(m *wire.Message) {
	k, incarnation := s.keeper, int(m.Number)
	if k.Mates == nil || incarnation >= 1<<30 {
		return
	}
	s.id.incarnation = incarnation
	k.opened[s.id.instance] = max(k.opened[s.id.instance], incarnation+1)
	n := &numbers{b: m.Data}
	s.lives = n.livesOf(len(n.b)/12, k.NumTasks)
}

// rejoined discards what is known of a task's last process. mu is held.
func (s *kept) rejoined(m *wire.Message) {
	task := int(m.Number)
	if task >= s.keeper.NumTasks {
		return
	}
	for i := range s.known {
		s.known[i][task] = false
	}
	if s.lives == nil {
		s.lives = make(map[int]wire.Life)
	}
	s.lives[task], _, _ = wire.CutLife(m.Data)
	s.expects = slices.DeleteFunc(s.expects, func(t int) bool { return t == task })
}

// noted takes in which tasks have left or said Ending. If it names this task it is an answer. mu is
// held.
func (s *kept) noted(m wire.Message) {
	what := knownEnding
	if m.Kind == wire.Left {
		what = knownLeft
	}
	for b := m.Data; len(b) >= 4; b = b[4:] {
		t := int(binary.LittleEndian.Uint32(b))
		switch {
		case t == s.keeper.Task:
			s.over = s.over || m.Kind == wire.Left
			if m.Kind == wire.Ending && s.keeper.Answered != nil {
				s.keeper.Answered()
			}
			s.send(wire.Message{Kind: m.Kind}, nil)
			s.release()
		case t < s.keeper.NumTasks:
			if m.Kind == wire.Left && !s.known[what][t] {
				s.send(notice(wire.Left, t), nil)
			}
			s.known[what][t] = true
		}
	}
}
