package job

import (
	"os"
	"time"
)

// SlotName is the abstract socket of a task, for tests that are not in this package.
func SlotName(c *Config, instance, task int) string {
	return newWireUp(c, instance, nil).address(task, 0)
}

// WireUpWithin is the waiting of Open, with another limit.
func WireUpWithin(c *Config, limit time.Duration) error {
	w, err := newWatch()
	if err != nil {
		return err
	}
	s := &standalone{c: c, watch: w, peers: make([]*peer, c.NumTasks)}
	up := newWireUp(c, 0, s)
	s.listener = up.listener
	defer s.Close()
	defer up.closeDialed()
	up.limit = limit
	return up.run()
}

// SetPlace has this process be on a host of that name.
func SetPlace(host string) {
	met.place = func() (place, error) {
		return place{text: host, network: "machine", host: host}, nil
	}
}

// ListeningAncestor is the process that a PMIx server's address in the environment leads to, or
// nil.
func ListeningAncestor() *os.File {
	r := &reader{getenv: os.LookupEnv}
	return listeningAncestor(r.pmixPort())
}
