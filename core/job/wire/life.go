package wire

import "crypto/rand"

// Life names one session of a task that was started by hand, among all that the task ever has. It
// is random. It stands in front of what the session gives to its first exchange, so a task that has
// got that can check whether it knows the session. By it a new hub recognises the session that the
// last hub was about to readmit. The zero value names no session.
type Life [8]byte

// NewLife returns a life that no other session has.
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
