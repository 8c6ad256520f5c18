// Package medium says what a medium does with packets to send, in words that the protocol and the
// sockets share without knowing each other.
package medium

// Outcome is what became of a packet handed to a medium.
type Outcome uint8

// Outcomes.
const (
	Sent     Outcome = iota // on its way, or lost, which is the same to the origin
	Full                    // not taken for lack of room; to be tried again later
	Fault                   // the user memory could not be read; nothing was sent
	Gathered                // waits for others to go with, until Push
)

// Bounce is a gathered packet that was not sent after all.
type Bounce struct {
	Tag     int     // its number among those gathered since the last Push, from 0
	Outcome Outcome // Full or Fault
}
