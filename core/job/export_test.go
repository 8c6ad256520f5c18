package job

import (
	"os"
	"strconv"
	"time"
)

// TaskName is the abstract socket of a task, for tests that are not in this package.
func TaskName(c *Config, task int) string { return slotName(c, strconv.Itoa(task), 0) }

// HubName is that of the hub.
func HubName(c *Config) string {
	return slotName(c, (&handHub{members: membersOf(c)}).hubName(), 0)
}

// LimitWireUp says how long this process waits for others, and returns how long it did.
func LimitWireUp(limit time.Duration) (before time.Duration) {
	before, wireUpLimit = wireUpLimit, limit
	return before
}

// WireUpWithin is an exchange with another limit.
func WireUpWithin(c *Config, limit time.Duration) error {
	s, err := openByHand(c, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	s.(*byHandSession).limit, hubAnswer = limit, limit
	_, err = s.Exchange(Part{})
	s.Leave() // as LAPI_Init does that has failed
	return err
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

// PassCards and AskForCards are the two sides of passing cards on within a node.
var (
	PassCards   = pass
	AskForCards = ask
)
