package wire

import "crypto/rand"

// Life names one session of a task that was started by hand, among all that the task ever has. It
// is random. It stands in front of what the session gives to its first exchange, so who has that
// can tell whether he knows the session. A new hub tells by it whom the last one was about to
// readmit. The zero value names none.
type Life [8]byte

// NewLife returns one that no other session has.
func NewLife() (l Life) {
	rand.Read(l[:]) // never fails, says its documentation
	return l
}

// Before returns data with the life in front.
func (l Life) Before(data []byte) []byte {
	return append(append(make([]byte, 0, len(l)+len(data)), l[:]...), data...)
}

// CutLife takes a life off the front of data. False: there is none.
func CutLife(data []byte) (l Life, rest []byte, ok bool) {
	if len(data) < len(l) {
		return l, data, false
	}
	copy(l[:], data)
	return l, data[len(l):], l != Life{}
}
