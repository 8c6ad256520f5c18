package lapi

import "lapi/transport"

// A target that attends to its messages, because its user polls, gets large data in messages: both ends copy at once (the pipeline), several
// times as fast as one process copying between two by a system call. One that does not, because it computes or sleeps, is not
// waited for: its memory is accessed directly, where the kernel permits that. direct.go decides.

// attender is a link that knows whether a peer looks at its messages, and the best size of parts.
type attender interface {
	Attends(ep transport.Endpoint) bool
	PartSize(n uint64) int
}

// pipelines says whether data is best sent to t, or asked for, in messages.
func (t *task) pipelines() bool { return t.attender != nil && t.attender.Attends(t.ep) }

// partSize is in parts of how many bytes n bytes go to t.
func (t *task) partSize(n uint64) uint64 {
	if t.attender == nil {
		return uint64(t.sendMax)
	}
	return uint64(t.attender.PartSize(n))
}
