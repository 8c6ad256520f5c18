// Package faults reports errors: it queues calls of the user's error handler, prints messages, and
// notifies the task that named a bad address.
package faults

import (
	"fmt"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/transport"
)

// textBytes bounds the text of an event: it is cshim_error's, in C.
const textBytes = 240

// ownStatics is the remedy where a program names a target's address that is only its own: on AIX a
// static variable has one address in all tasks.
const ownStatics = "; static variables have one address in all tasks only with -no-pie"

// Event is a call of the user's error handler that is due (guide, Chapter 5): code, kind of
// operation, this task, the task concerned. Handler 0: none was registered, print Text and end the
// task.
type Event struct {
	Handler  transport.Addr
	Code     codes.Code
	Type     codes.ErrType
	Task, Of int
	// Failed is the operation of this task that has failed by it, and makes no more changes.
	Failed Failed
	Text   string
	// Patience is how long a task without a handler waits for the launcher to end it.
	Patience time.Duration
}

// Failed names an operation of this task by an address: Type of the event is its kind.
type Failed struct {
	Is   bool           // false: none has
	Peer int            // the task that it moves data to or from
	Addr transport.Addr // one of its addresses
	Here bool           // Addr is of this task's memory, not of the peer's
}

// Config is what a Reporter needs of others.
type Config struct {
	Me      int
	Handler transport.Addr // the user's error handler, or 0
	Host    *host.Host     // looked at for each message
	Wake    *progress.Block
	Send    func(p *peer.Peer, h wire.Fault)
	Traced  func(code codes.Code, kind codes.ErrType, of int)
	// Patience is that of events of a task's death (job.Config).
	Patience time.Duration
}

// Reporter is that of one context.
type Reporter struct {
	cfg    Config
	events []Event
}

// New is a Reporter without events.
func New(cfg Config) *Reporter { return &Reporter{cfg: cfg} }

// Pending is how many events no thread has taken.
func (r *Reporter) Pending() int { return len(r.events) }

// Next takes the oldest event.
func (r *Reporter) Next() (e Event, ok bool) {
	if len(r.events) == 0 {
		return e, false
	}
	e = r.events[0]
	r.events = append(r.events[:0], r.events[1:]...)
	return e, true
}

// Message prints a message at MP_INFOLEVEL level.
func (r *Reporter) Message(level int, format string, args ...any) {
	(*r.cfg.Host).Message(level, fmt.Sprintf("task %d: ", r.cfg.Me)+fmt.Sprintf(format, args...))
}

// Attention prints the message of an attention code (guide, Table 33) with what is particular to
// this case.
func (r *Reporter) Attention(level int, code codes.Code, format string, args ...any) {
	text, _ := codes.String(int(code))
	r.Message(level, "%d: %s %s", code, text, fmt.Sprintf(format, args...))
}

// Raise queues an error for the error handler and prints it at MP_INFOLEVEL 1.
func (r *Reporter) Raise(code codes.Code, kind codes.ErrType, of int, what string) {
	text := fmt.Sprintf("task %d: %s (%d): %s", r.cfg.Me, codes.Name(code), code, what)
	if code == codes.ErrTgtAddrNull {
		text += ownStatics
	}
	if len(text) >= textBytes {
		text = text[:textBytes-1]
	}
	if r.cfg.Handler != 0 {
		(*r.cfg.Host).Message(1, text)
	}
	r.cfg.Traced(code, kind, of)
	r.events = append(r.events, Event{Handler: r.cfg.Handler, Code: code, Type: kind,
		Task: r.cfg.Me, Of: of, Text: text})
	r.cfg.Wake.Kick()
	r.cfg.Wake.Changed()
}

// RaiseLoss is Raise of a task that is lost. A launcher ends a job for that, with the status of the
// first task whose end it notices: it shall not be this one's.
func (r *Reporter) RaiseLoss(code codes.Code, kind codes.ErrType, of int, what string) {
	r.Raise(code, kind, of, what)
	r.events[len(r.events)-1].Patience = r.cfg.Patience
}

// Local raises code for an address of this task that could not be accessed. src is the task that
// named it.
func (r *Reporter) Local(err error, code codes.Code, kind codes.ErrType, src int) {
	addr := uint64(badAddr(err))
	r.Message(0, "%s: address %#x, named by task %d, cannot be accessed in task %d", kind, addr,
		src, r.cfg.Me)
	r.Raise(code, kind, src,
		fmt.Sprintf("%s: address %#x, named by task %d, cannot be accessed; check the address "+
			"and its length", kind, addr, src))
}

func badAddr(err error) transport.Addr {
	if f, ok := err.(*transport.FaultError); ok {
		return f.Addr
	}
	return 0
}

// Here is Local for an address that this task itself named, in a call that returns an error.
func (r *Reporter) Here(err error, code codes.Code, kind codes.ErrType) {
	r.Local(err, code, kind, r.cfg.Me)
}

// Origin is Here for an operation to or from p that a call has accepted.
func (r *Reporter) Origin(p *peer.Peer, err error, kind codes.ErrType) {
	r.Here(err, codes.ErrOrgAddrNull, kind)
	r.failed(p, badAddr(err), true)
}

// RaiseHere is Raise about this task itself.
func (r *Reporter) RaiseHere(code codes.Code, kind codes.ErrType, what string) {
	r.Raise(code, kind, r.cfg.Me, what)
}

// Target is Local for data that came from src; src is notified too. token, if not 0, ends a get of
// src's.
func (r *Reporter) Target(err error, kind codes.ErrType, src *peer.Peer, token uint64) {
	r.Local(err, codes.ErrTgtAddrNull, kind, src.ID)
	if src.IsSelf && token == 0 {
		r.failed(src, badAddr(err), false)
		return // one call of the handler is enough
	}
	r.Tell(src, codes.ErrTgtAddrNull, kind, badAddr(err), token)
}

// Remote is about an address in p's memory that an operation of this task could not access.
func (r *Reporter) Remote(p *peer.Peer, addr transport.Addr, kind codes.ErrType) {
	r.raiseRemote(p, addr, codes.ErrTgtAddrNull, kind)
	r.failed(p, addr, false)
}

// Fetch is about an address in p's memory that p's active message names as its data.
func (r *Reporter) Fetch(p *peer.Peer, addr transport.Addr) {
	r.raiseRemote(p, addr, codes.ErrOrgAddrNull, codes.AmErr)
	r.Tell(p, codes.ErrOrgAddrNull, codes.AmErr, addr, 0)
}

func (r *Reporter) raiseRemote(p *peer.Peer, addr transport.Addr, code codes.Code,
	kind codes.ErrType) {
	r.Raise(code, kind, p.ID,
		fmt.Sprintf("%s: address %#x cannot be accessed in task %d; check the address and its "+
			"length", kind, uint64(addr), p.ID))
}

// failed notes that the last event is of an operation of this task.
func (r *Reporter) failed(p *peer.Peer, a transport.Addr, here bool) {
	r.events[len(r.events)-1].Failed = Failed{Is: true, Peer: p.ID, Addr: a, Here: here}
}

// SingleCopy is about a copy straight between this task's memory and p's: p is notified of an
// address that is bad there.
func (r *Reporter) SingleCopy(p *peer.Peer, f *transport.FaultError, kind codes.ErrType) {
	if !f.Remote {
		r.Origin(p, f, kind)
		return
	}
	r.Remote(p, f.Addr, kind)
	if !p.IsSelf {
		r.Tell(p, codes.ErrTgtAddrNull, kind|namedHere, f.Addr, 0)
	}
}

// namedHere, in a Fault's Kind: the operation is its sender's.
const namedHere codes.ErrType = 1 << 8

// Tell sends MsgFault.
func (r *Reporter) Tell(p *peer.Peer, code codes.Code, kind codes.ErrType, addr transport.Addr,
	token uint64) {
	r.cfg.Send(p, wire.Fault{Code: uint32(code), Kind: uint32(kind), Addr: addr, Token: token})
}

// Heard raises what a peer's MsgFault says: it could not access an address in its memory that an
// operation of this task named; a single-copy put of the peer's named a bad address in ours; or the
// peer has no such header handler.
func (r *Reporter) Heard(p *peer.Peer, h *wire.Fault) {
	named := codes.ErrType(h.Kind)&namedHere != 0
	kind := min(codes.ErrType(h.Kind)&^namedHere, codes.TmrErr)
	what := fmt.Sprintf("%s: address %#x was not accessible at the target", kind, uint64(h.Addr))
	switch codes.Code(h.Code) {
	case codes.ErrDataLen:
		what = fmt.Sprintf("%s: longer than task %d, which has 32 bits, can take; send it in parts",
			kind, p.ID)
	case codes.ErrHdrHndlrNull:
		what = fmt.Sprintf("%s: task %d has no header handler of index %d; LAPI_Addr_set there "+
			"registers one", kind, p.ID, uint64(h.Addr))
	case codes.ErrDgsp, codes.ErrDgspCtl, codes.ErrDgspOther, codes.ErrDgspBranch:
		what = fmt.Sprintf("%s: the DGSP that the header handler named in task %d cannot be used",
			kind, p.ID)
	}
	r.Raise(codes.Code(h.Code), kind, p.ID, what)
	if !named {
		r.failed(p, h.Addr, codes.Code(h.Code) == codes.ErrOrgAddrNull)
	}
}
