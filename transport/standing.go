package transport

import "time"

// Standing is the state of a link towards one peer, for a dump of what a task waits for.
type Standing struct {
	State        string        // a word: open, handshaking, left
	Unit         string        // the unit of the next three: packets, slots
	Sent         uint64        // since the session began
	Acknowledged uint64        // of these
	Unsent       uint64        // wait for room or for a first transmission
	Silent       time.Duration // for how long an answer has been due; 0: none is
	Paths        []string      // the ways to the peer, each without blanks
}

// Standings is a link that can tell. It changes nothing.
type Standings interface {
	Standing(ep Endpoint) Standing
}
