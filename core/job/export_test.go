package job

import "time"

// MeetingName is the abstract socket of a task, for tests that are not in this package.
func MeetingName(c *Config, instance, task int) string {
	return newMeeting(c, instance, nil).address(task).Name
}

// MeetWithin is the waiting of Open, with another limit.
func MeetWithin(c *Config, limit time.Duration) error {
	w, err := newWatch()
	if err != nil {
		return err
	}
	s := &standalone{c: c, watch: w, peers: make([]*peer, c.NumTasks)}
	defer s.Close()
	m := newMeeting(c, 0, s)
	defer m.close()
	m.limit = limit
	return m.run()
}
