package lapi

import "lapi/transport"

// This file decides which way large data takes between tasks of one node.
//
// A target that attends to its messages, because its user polls, gets data in messages: both ends copy at once (the pipeline), several
// times as fast as one process copying between two by a system call. One that does not, because it computes or sleeps, is not
// waited for: its memory is accessed directly, where the kernel permits that. Where it does not, messages carry everything.

const (
	directPutMin   = 4 << 10  // bytes from which a put on one node may be copied straight between the tasks' memory; measured: equal at 2 to 4 KiB
	directAmMin    = 16 << 10 // bytes from which an active message's data may be: below, it comes whole, and its handler sees it at once
	directBlockMin = 512      // mean bytes of a vector's blocks from which it is copied straight; measured: the kernel takes 0.15 us a block, as long as messages of 512 bytes
	pipelineGetMin = 4 << 10  // bytes from which a get is answered in messages by a target that attends: reading less costs less than asking
)

// attender is a link that knows whether a peer looks at its messages, and the best size of parts.
type attender interface {
	Attends(ep transport.Endpoint) bool
	PartSize(n uint64) int
}

// pipelines says whether data is best sent to t, or asked for, in messages.
func (t *task) pipelines() bool { return t.attender != nil && t.attender.Attends(t.ep) }

// putsDirect says whether a put of n bytes to t is copied straight to its memory.
func (t *task) putsDirect(n uint64) bool { return n >= directPutMin && t.direct && !t.pipelines() }

// getsDirect says whether n bytes are read straight from t's memory.
func (t *task) getsDirect(n uint64) bool {
	return n > 0 && t.direct && (n < pipelineGetMin || !t.pipelines())
}

// fetchesDirect says whether t shall read an active message's n bytes of data by itself.
func (t *task) fetchesDirect(n uint64) bool { return n >= directAmMin && t.direct && !t.pipelines() }

// partSize is in parts of how many bytes n bytes go to t.
func (t *task) partSize(n uint64) uint64 {
	if t.attender == nil {
		return uint64(t.sendMax)
	}
	return uint64(t.attender.PartSize(n))
}
