package dat

import "lapi/core/dat/rc"

// counters count what an object has done, by the numbers of dat_ib_extensions.h.
type counters [numIACounters]uint64

// Of an adapter (DAT_IA_COUNTERS), those that something here counts.
const (
	iaPZCreate     = 0
	iaPZFree       = 1
	iaLMRCreate    = 2
	iaLMRFree      = 3
	iaRMRCreate    = 4
	iaRMRFree      = 5
	iaPSPCreate    = 6
	iaPSPFree      = 8
	iaRSPCreate    = 9
	iaRSPFree      = 10
	iaEVDCreate    = 11
	iaEVDFree      = 12
	iaEPCreate     = 13
	iaEPFree       = 14
	iaSRQCreate    = 15
	iaSRQFree      = 16
	iaSPCR         = 17
	iaSPCRAccepted = 18
	iaSPCRRejected = 19
	iaAsyncError   = 23
	iaCMListen     = 26
	numIACounters  = 85
)

// Of an endpoint (DAT_EP_COUNTERS).
const (
	epConnect      = 0
	epDisconnect   = 1
	epPostSend     = 2
	epPostSendUD   = 4
	epPostRecv     = 6
	epPostWrite    = 8
	epPostWriteImm = 10
	epPostRead     = 12
	epPostCmpSwap  = 14
	epPostFetchAdd = 15
	epRecv         = 16
	epRecvData     = 17
	epRecvUD       = 18
	numEPCounters  = 24
)

// Of an EVD (DAT_EVD_COUNTERS).
const (
	evdWait            = 0
	evdDequeue         = 3
	evdDequeueFound    = 4
	evdDequeueNotFound = 5
	numEVDCounters     = 10
)

func (ia *IA) count(i int) { ia.counters[i]++ }

// countPost counts a request and its bytes.
func (e *EP) countPost(op rc.Op, n uint64, immediate bool) {
	i := [...]int{rc.Send: epPostSend, rc.Write: epPostWrite, rc.Read: epPostRead,
		rc.CompareSwap: epPostCmpSwap, rc.FetchAdd: epPostFetchAdd}[op]
	if immediate {
		i = epPostWriteImm
	}
	e.counters[i]++
	if op < rc.CompareSwap {
		e.counters[i+1] += n
	}
}

func (e *EP) countReceive(r *rc.Receive) {
	e.counters[epPostRecv]++
	for _, s := range r.Segments {
		e.counters[epPostRecv+1] += uint64(s.N)
	}
}

// Counters are those of an object that has some, and are zero afterwards if reset is true.
func Counters(o any, reset bool) (list []uint64, ok bool) {
	var c *counters
	n := 0
	switch o := o.(type) {
	case *IA:
		c, n = &o.counters, numIACounters
	case *EP:
		c, n = &o.counters, numEPCounters
	case *EVD:
		c, n = &o.counters, numEVDCounters
	default:
		return nil, false
	}
	list = append(list, c[:n]...)
	if reset {
		*c = counters{}
	}
	return list, true
}
