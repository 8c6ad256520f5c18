package job

import (
	"slices"
	"time"

	"lapi/core/job/hub"
)

// hubPatience is how long a task waits at most until other nodes know that it has left.
const hubPatience = 2 * time.Second

// spanning is a session of a job on several nodes: with those of the node, which pass descriptors
// and see each other's ends themselves, and by the node's hub with all.
type spanning struct {
	here   Session // of the node
	all    *launched
	onNode []bool // by task
	watch  *watch
	look   bool // something may be there that the watch does not tell
	// where this process has the node's hub: that, and what tells this session's Leave from
	// others
	hub            *hub.Hub
	task, instance int
}

func openSpanning(c *Config, instance int) (Session, error) {
	w, err := newWatch()
	if err != nil {
		return nil, err
	}
	s := &spanning{watch: w, hub: c.hub, task: c.Task, instance: instance, onNode: make([]bool, c.NumTasks)}
	for _, t := range append(slices.Clone(c.CommonTasks), c.Task) {
		s.onNode[t] = true
	}
	all, err := openLaunched(c, instance)
	if err == nil {
		s.all = all.(*launched)
		s.here, err = openNode(c, instance)
	}
	for _, part := range []Session{s.all, s.here} {
		if err == nil && part.Descriptor() >= 0 {
			err = w.add(part.Descriptor(), 0)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openNode is the session of a node's tasks.
func openNode(c *Config, instance int) (Session, error) {
	if len(c.CommonTasks) > 0 {
		return openStandalone(c, instance)
	}
	return &alone{task: c.Task, numTasks: c.NumTasks}, nil
}

// Exchange begins with all and with the node at the same time. Descriptors are from the node.
func (s *spanning) Exchange(part Part) ([]Part, error) {
	s.look = true
	if err := s.all.contribute(Part{Data: part.Data}); err != nil {
		return nil, err
	}
	here, err := s.here.Exchange(part)
	if err != nil {
		return nil, err
	}
	all, err := s.all.others()
	if err != nil {
		closeParts(here)
		return nil, err
	}
	for t, on := range s.onNode {
		if on {
			all[t] = here[t]
		}
	}
	return all, nil
}

func (s *spanning) Tasks() []int    { return s.all.Tasks() }
func (s *spanning) Descriptor() int { return s.watch.fd }

// Poll costs one system call if there is no event. What the hub says of tasks of this node they
// have said themselves. If the hub is gone, its task is, which was seen too: no more is heard of
// other nodes, and this task goes on.
func (s *spanning) Poll() (Event, bool) {
	if !s.look {
		if _, s.look = s.watch.ready(); !s.look {
			return Event{}, false
		}
	}
	if e, ok := s.here.Poll(); ok {
		return e, true
	}
	for {
		e, ok := s.all.Poll()
		switch {
		case !ok:
			s.look = false
			return e, false
		case e.Kind != LauncherGone && !s.onNode[e.Task]:
			return e, true
		}
	}
}

// Leave of the task that has the hub returns when the other nodes know it: its process may end now.
func (s *spanning) Leave() {
	times := 0
	if s.hub != nil {
		times = s.hub.TimesLeft(s.task, s.instance)
	}
	s.here.Leave()
	s.all.Leave()
	if s.hub != nil {
		s.hub.Left(s.task, s.instance, times+1, hubPatience)
		s.hub.Flush(hubPatience)
	}
}

// ExitNotice implements Session: both say it with the same record.
func (s *spanning) ExitNotice() ([]byte, []int) {
	record, sockets := s.all.ExitNotice()
	_, here := s.here.ExitNotice()
	return record, append(sockets, here...)
}

func (s *spanning) Close() error {
	s.watch.close()
	if s.all != nil {
		s.all.Close()
	}
	if s.here != nil {
		s.here.Close()
	}
	return nil
}
