package job

import (
	"os"
	"time"
)

// SlotName is the abstract socket of a task, for tests that are not in this package.
func SlotName(c *Config, instance, task int) string { return slotName(c, instance, task, 0) }

// WireUpWithin is the waiting of Open, with another limit.
func WireUpWithin(c *Config, limit time.Duration) error {
	s, err := newStandalone(c, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	s.wiring.limit = limit
	return s.wiring.run()
}

// NeverLookAgain has this process leave it to the others to dial.
func NeverLookAgain() { comesPause = time.Hour }

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
