package job

import "time"

// MeetingName is the abstract socket of a task, for tests that are not in this package.
func MeetingName(c *Config, instance, task int) string {
	return newMeeting(c, instance, nil).address(task, 0).Name
}

// MeetWithin is the waiting of Open, with another limit.
func MeetWithin(c *Config, limit time.Duration) error {
	w, err := newWatch()
	if err != nil {
		return err
	}
	s := &standalone{c: c, watch: w, peers: make([]*peer, c.NumTasks)}
	m := newMeeting(c, 0, s)
	s.place = m.place
	defer s.Close()
	defer m.hangUp()
	m.limit = limit
	return m.run()
}
