package job

import "fmt"

// Open begins the wire-up of one LAPI instance (0 to 15, equal in all tasks): by lapirun, or by the
// hub of those that Meet has found, or, for tasks started by hand whose program names the peers,
// among CommonTasks of this node if they share memory, else with this task alone. Tasks may open an
// instance at different times; the n-th session that each opens of an instance belong together.
//
// Among tasks started by hand Open waits until all have come, a minute at most; the error then
// names the missing tasks. There is no limit with c.NoTimeout, or after Meet: then all tasks have
// begun. Several instances may be opened at a time, by several threads, but not with one Config.
func Open(c *Config, instance int) (Session, error) {
	if instance < 0 || instance >= maxInstances {
		return nil, fmt.Errorf("instance %d is not in 0 to %d", instance, maxInstances-1)
	}
	s, err := open(c, instance)
	if err != nil || c.daemon == nil {
		return s, err
	}
	return attend(s, c.daemon)
}

func open(c *Config, instance int) (Session, error) {
	switch {
	case c.Launched, c.kept:
		return openLaunched(c, instance)
	case c.sharesByHand():
		return openByHand(c, instance)
	}
	return &alone{task: c.Task, numTasks: c.NumTasks}, nil
}

// sharesByHand says whether this task was started by hand and finds others on its node.
func (c *Config) sharesByHand() bool {
	return c.Shm != ShmNo && len(c.CommonTasks) > 0 && c.start == byHand
}

// alone is the session of a task that reaches no other by way of this package.
type alone struct{ task, numTasks int }

func (s *alone) Exchange(part Part) ([]Part, error) {
	files, err := duplicate(part.Files)
	if err != nil {
		return nil, err
	}
	all := make([]Part, s.numTasks)
	all[s.task] = Part{Data: part.Data, Files: files}
	return all, nil
}

func (s *alone) Tasks() []int        { return []int{s.task} }
func (s *alone) Descriptor() int     { return -1 }
func (s *alone) Poll() (Event, bool) { return Event{}, false }
func (s *alone) Publish([]byte)      {}
func (s *alone) Leave()              {}

// ExitNotice is for nobody: there is no other task to notify.
func (s *alone) ExitNotice() ([]byte, []int) { return nil, nil }
func (s *alone) Close() error                { return nil }
