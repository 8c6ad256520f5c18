package dat

import (
	"lapi/core/dat/cm"
	"lapi/core/dat/rc"
)

// counters count what an object has done, by the numbers of dat_ib_extensions.h. docs/dev/dat.md says
// which of them stay 0, and why.
type counters [numIACounters]uint64

// Of an adapter (DAT_IA_COUNTERS).
const (
	iaPZCreate      = 0
	iaPZFree        = 1
	iaLMRCreate     = 2
	iaLMRFree       = 3
	iaRMRCreate     = 4
	iaRMRFree       = 5
	iaPSPCreate     = 6
	iaPSPCreateAny  = 7
	iaPSPFree       = 8
	iaRSPCreate     = 9
	iaRSPFree       = 10
	iaEVDCreate     = 11
	iaEVDFree       = 12
	iaEPCreate      = 13
	iaEPFree        = 14
	iaSRQCreate     = 15
	iaSRQFree       = 16
	iaSPCR          = 17
	iaSPCRAccepted  = 18
	iaSPCRRejected  = 19
	iaMemAlloc      = 20
	iaMemAllocData  = 21
	iaMemFree       = 22
	iaAsyncError    = 23
	iaAsyncQPError  = 24
	iaAsyncCQError  = 25
	iaCMListen      = 26
	iaCMReqTX       = 27
	iaCMReqRX       = 28
	iaCMRepTX       = 29
	iaCMRepRX       = 30
	iaCMRtuTX       = 31
	iaCMRtuRX       = 32
	iaCMUserRejTX   = 33
	iaCMUserRejRX   = 34
	iaCMActiveEst   = 35
	iaCMPassiveEst  = 36
	iaCMAHReqTX     = 37
	iaCMAHReqRX     = 38
	iaCMAHResolved  = 39
	iaCMDreqTX      = 40
	iaCMDreqRX      = 41
	iaCMMraTX       = 44
	iaCMMraRX       = 45
	iaCMErr         = 47
	iaCMErrFullQ    = 48
	iaCMErrReqDup   = 49
	iaCMErrReqRetry = 50
	iaCMErrRepDup   = 51
	iaCMErrRepRetry = 52
	iaCMErrRtuDup   = 53
	iaCMErrRtuRetry = 54
	iaCMErrRefused  = 55
	iaCMErrTimeout  = 57
	iaCMErrRejTX    = 58
	iaCMErrRejRX    = 59
	iaCMErrMraDup   = 64
	iaCMErrMraRetry = 65
	iaCMUnexpected  = 66
	iaLinks         = 67 // the first of an interface's
	iaDiag          = 76 // the first of an adapter chip's
	numIACounters   = 85
)

// Of an endpoint (DAT_EP_COUNTERS). Behind most is one of bytes.
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
	epRecvUD       = 18
	epRecvRDMAImm  = 22
	numEPCounters  = 24
)

// Of an EVD (DAT_EVD_COUNTERS).
const (
	evdWait             = 0
	evdWaitBlocked      = 1
	evdWaitNotify       = 2
	evdDequeue          = 3
	evdDequeueFound     = 4
	evdDequeueNotFound  = 5
	evdDequeuePoll      = 6
	evdDequeuePollFound = 7
	evdConnCallback     = 8
	evdDTOCallback      = 9
	numEVDCounters      = 10
)

// count counts; those of the connection manager only while they run.
func (ia *IA) count(i int) {
	if i < iaCMListen || !ia.stopped {
		ia.counters[i]++
	}
}

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
	e.countData(epPostRecv, 0)
	for _, s := range r.Segments {
		e.counters[epPostRecv+1] += uint64(s.N)
	}
}

// countData counts what has n bytes.
func (e *EP) countData(i int, n uint32) {
	e.counters[i]++
	e.counters[i+1] += uint64(n)
}

// countFailure counts an attempt to connect, or to accept, that has come to nothing.
func (ia *IA) countFailure(why cm.Reason) {
	switch why {
	case cm.Rejected:
		ia.count(iaCMUserRejRX)
		return
	case cm.TimedOut:
		ia.count(iaCMErrTimeout)
	case cm.NobodyThere, cm.Unproved:
		ia.count(iaCMErrRejRX)
	}
	ia.count(iaCMErr)
}

// cmStats counts the connection manager's messages for an adapter. It implements cm.Stats.
type cmStats struct{ ia *IA }

// count counts a message: the first of its kind by one counter, others by another. 0: by none.
func (s cmStats) count(c *cm.Conn, again bool, first, other int) {
	i := first
	if again {
		i = other
	} else if u := ofDatagrams[i]; u != 0 && c.Service == ServiceUD {
		i = u
	}
	if i != 0 {
		s.ia.count(i)
	}
}

// messageCounters are the counters of each message of the connection manager: the first of a
// connection, and the same once more. 0: there is none.
var messageCounters = map[cm.Kind]struct{ sent, sentAgain, heard, heardAgain int }{
	cm.Request: {iaCMReqTX, iaCMErrReqRetry, iaCMReqRX, iaCMErrReqDup},
	cm.Wait:    {iaCMMraTX, iaCMErrMraRetry, iaCMMraRX, iaCMErrMraDup},
	cm.Accept:  {iaCMRepTX, iaCMErrRepRetry, iaCMRepRX, iaCMErrRepDup},
	cm.Ready:   {iaCMRtuTX, iaCMErrRtuRetry, iaCMRtuRX, iaCMErrRtuDup},
	cm.Refuse:  {0, 0, iaCMErrRefused, iaCMErrRefused},
}

// ofDatagrams is the counter to use for another where the connection is a UD endpoint's.
var ofDatagrams = map[int]int{iaCMReqTX: iaCMAHReqTX, iaCMReqRX: iaCMAHReqRX}

// Sent implements cm.Stats.
func (s cmStats) Sent(c *cm.Conn, kind cm.Kind, again bool) {
	n := messageCounters[kind]
	s.count(c, again, n.sent, n.sentAgain)
}

// Heard implements cm.Stats.
func (s cmStats) Heard(c *cm.Conn, kind cm.Kind, again bool) {
	n := messageCounters[kind]
	s.count(c, again, n.heard, n.heardAgain)
}

// Unexpected implements cm.Stats.
func (s cmStats) Unexpected(c *cm.Conn) { s.count(c, false, iaCMUnexpected, iaCMUnexpected) }

// Full implements cm.Stats.
func (s cmStats) Full() { s.ia.count(iaCMErrFullQ) }

// counted is an object that counts what it does.
type counted interface {
	// counted is the counters, as they are now, and how many of them the object has.
	counted() (c *counters, n int)
}

// Counters are those of an adapter, endpoint or EVD; nil of any other object. With reset they are 0
// afterwards: the one of that number, or all if there is none such.
func Counters(o Object, number int, reset bool) (list []uint64) {
	of, ok := o.(counted)
	if !ok {
		return nil
	}
	c, n := of.counted()
	list = append(list, c[:n]...)
	switch {
	case reset && number >= 0 && number < n:
		c[number] = 0
	case reset:
		*c = counters{}
	}
	return list
}
