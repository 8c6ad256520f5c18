package ibv

import (
	"errors"
	"fmt"
)

// ErrGone is the error of a device that is closed or gone.
var ErrGone = errors.New("verbs: the adapter is closed or gone")

// Status says how a request or receive has ended.
type Status uint8

// Statuses that this library decides by.
const (
	Success       Status = 0
	LocLenErr     Status = 1
	LocQPOpErr    Status = 2
	LocProtErr    Status = 4
	WRFlushErr    Status = 5 // the queue pair has failed before
	MWBindErr     Status = 6
	BadRespErr    Status = 7
	LocAccessErr  Status = 8
	RemInvReqErr  Status = 9
	RemAccessErr  Status = 10 // the peer's adapter refused the key or the range
	RemOpErr      Status = 11
	RetryExcErr   Status = 12 // the peer did not answer
	RNRRetryErr   Status = 13 // the peer had no receive
	FatalErr      Status = 19
	GeneralErr    Status = 21
	statusesKnown        = 24
)

var statuses = [statusesKnown]string{"SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR",
	"LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR",
	"REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR",
	"LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR", "INV_EECN_ERR",
	"INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR", "TM_ERR",
	"TM_RNDV_INCOMPLETE"}

// String is the name of the status in <infiniband/verbs.h>.
func (s Status) String() string {
	if int(s) < len(statuses) {
		return "IBV_WC_" + statuses[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// EventType is the type of an Event.
type EventType uint8

var eventTypes = [...]string{"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST",
	"SQ_DRAINED", "PATH_MIG", "PATH_MIG_ERR", "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR",
	"LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR", "SRQ_LIMIT_REACHED",
	"QP_LAST_WQE_REACHED", "CLIENT_REREGISTER", "GID_CHANGE", "WQ_FATAL"}

// String is the name of the type in <infiniband/verbs.h>.
func (t EventType) String() string {
	if int(t) < len(eventTypes) {
		return "IBV_EVENT_" + eventTypes[t]
	}
	return fmt.Sprintf("event %d", uint8(t))
}

// QPFatal is the type of the event of a queue pair that has failed, of an adapter made of messages.
const QPFatal EventType = 1

// Numbers of EventType.
const (
	cqErr           = 0
	commEstablished = 4
	portActive      = 9
	portErr         = 10
	srqErr          = 14
	lastReached     = 16
)

// OfQueue says whether e, which is Fatal, is of a queue: the device itself works.
func (e *Event) OfQueue() bool { return e.Type == cqErr || e.Type == srqErr }

// Report is e in one line, of a device. "": it is of another port, of a queue pair's usual life, or
// a limit that a program has set is reached.
func (e *Event) Report(i *Info) string {
	switch {
	case e.Kind == NoEvent, e.Kind == SRQLow, e.Type == commEstablished, e.Type == lastReached,
		e.Kind == Other && (e.Type == portActive || e.Type == portErr):
		return ""
	}
	text := fmt.Sprintf("%v of adapter %s, port %d", e.Type, i.Name, i.Port)
	if e.Kind == QPFailed {
		text += fmt.Sprintf(", queue pair %#x", e.QPN)
	}
	return text
}

var ops = map[Op]string{OpWrite: "RDMA write", OpWriteImmediate: "RDMA write with immediate data",
	OpSend: "send", OpRead: "RDMA read", OpCompareSwap: "compare and swap",
	OpFetchAdd: "fetch and add", OpBind: "bind of a window",
	OpSendInvalidate: "send with invalidation"}

// String is the name of the operation.
func (o Op) String() string { return ops[o] }

// Failure is the report of a request or receive that has failed. Addresses are 0 where there are
// none, or none is known.
type Failure struct {
	Status        Status
	VendorErr     uint32
	Device        string
	Port          uint8
	QPN           uint32
	Op            Op
	Receive       bool // it is no request: Op is not valid
	Local, Remote uint64
	N             uint64 // bytes
}

// Failed says whether c is a failure of its own: a request that was flushed has failed because
// another has.
func (c *Completion) Failed() bool { return c.Status != Success && c.Status != WRFlushErr }

// Report is c as a Failure, of a device. Its operation and addresses are the caller's to add.
func (i *Info) Report(c *Completion) Failure {
	return Failure{Status: c.Status, VendorErr: c.VendorErr, Device: i.Name, Port: i.Port, QPN: c.QPN}
}

// String has all of it in one line.
func (f *Failure) String() string {
	what := f.Op.String()
	if f.Receive {
		what = "receive"
	}
	text := fmt.Sprintf("%v, vendor_err %#x: %s", f.Status, f.VendorErr, what)
	if f.N != 0 {
		text += fmt.Sprintf(" of %d bytes", f.N)
	}
	if f.Local != 0 {
		text += fmt.Sprintf(", local address %#x", f.Local)
	}
	if f.Remote != 0 {
		text += fmt.Sprintf(", remote address %#x", f.Remote)
	}
	return text + fmt.Sprintf("; queue pair %#x of adapter %s, port %d", f.QPN, f.Device, f.Port)
}
