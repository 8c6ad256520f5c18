// Package fence is what blocking calls wait for: tickets, LAPI_Fence, and the collective calls
// LAPI_Gfence and LAPI_Address_init.
//
//	fence.go       Ticket, Fences
//	collective.go  Collectives: rounds of messages among all tasks
//	delivery.go    when a task may return from one: its messages need it no more
package fence

import (
	"slices"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/send"
	"lapi/core/progress"
)

// ticket is a blocking call that a thread waits for in C.
type ticket struct {
	id   uint64
	done bool
	code codes.Code
}

// Tickets are those of one context.
type Tickets struct {
	all  []ticket
	last uint64
	wake *progress.Block
}

// NewTickets begins without tickets.
func NewTickets(wake *progress.Block) *Tickets { return &Tickets{wake: wake} }

// New is a new ticket.
func (t *Tickets) New() uint64 {
	t.last++
	t.all = append(t.all, ticket{id: t.last})
	return t.last
}

// Done says whether its call is over.
func (t *Tickets) Done(id uint64) bool {
	for i := range t.all {
		if t.all[i].id == id {
			return t.all[i].done
		}
	}
	return true
}

// Known says whether its call waits, or its result was not asked for.
func (t *Tickets) Known(id uint64) bool {
	return slices.ContainsFunc(t.all, func(k ticket) bool { return k.id == id })
}

// End ends its call.
func (t *Tickets) End(id uint64, code codes.Code) {
	for i := range t.all {
		if t.all[i].id == id {
			t.all[i].done, t.all[i].code = true, code
			t.wake.Changed()
		}
	}
}

// Drop forgets a ticket that no thread waits for: its call is over.
func (t *Tickets) Drop(id uint64) { _ = t.Result(id) }

// Result is the result of a ticket that is done; it is forgotten. Ticket 0 is of a call that was
// over when it began.
func (t *Tickets) Result(id uint64) codes.Code {
	if id == 0 {
		return codes.Success
	}
	for i, k := range t.all {
		if k.id == id {
			t.all = slices.Delete(t.all, i, i+1)
			return k.code
		}
	}
	return codes.ErrUnknown
}

// fence waits for every operation up to seq. It compares numbers, and counts the ends of its own flushes
// alone: so ends of operations that other threads issue meanwhile are not taken for those that it
// covers, as lapi_link_flush once did.
//
//	quiet (the links have all, answers are here) ──> every used task flushed ──> done
type fence struct {
	seq      uint64
	flushing bool
	looked   bool // Lost was called since the flush is over
	flush    send.Flush
	code     codes.Code
	over     bool
	done     func(code codes.Code)
}

// Config is what Fences need of others.
type Config struct {
	Out *send.Sender
	// Settle takes in what was issued by others, and sends what was put off until a fence.
	Settle func()
	// Quiet says whether nothing that was issued at seq or before waits for an answer.
	Quiet func(seq uint64) bool
	// Lost reports what is lost, as a task has left (Lose).
	Lost func()
}

// Fences are those under way.
type Fences struct {
	cfg  Config
	all  []*fence
	lost map[int]codes.Code // by task that is gone: of operations that no fence has covered yet
}

// New begins without fences.
func New(cfg Config) *Fences { return &Fences{cfg: cfg, lost: map[int]codes.Code{}} }

// Begin begins a fence; done is called when all operations issued before are complete at their
// targets, or lost: then with the code for that. over: that is so now, and done is not called.
func (s *Fences) Begin(done func(code codes.Code)) (over bool, code codes.Code) {
	s.cfg.Settle()
	f := &fence{seq: s.cfg.Out.Issued()}
	for _, f.code = range s.lost {
	}
	clear(s.lost)
	s.all = append(s.all, f)
	s.Advance()
	f.done = done
	return f.over, f.code
}

// Lose says that operations from number first to last are lost, as a task is gone: the fences under
// way that cover one of them return code, and if none covers all of them so does the next.
func (s *Fences) Lose(task int, code codes.Code, first, last uint64) {
	covered := false
	for _, f := range s.all {
		if f.seq >= first {
			f.code = code
			covered = covered || f.seq >= last
		}
	}
	if !covered {
		s.lost[task] = code
	}
}

// Forget drops the losses of a task: its user begins anew with it.
func (s *Fences) Forget(task int) { delete(s.lost, task) }

// HasLost says whether the next fence has a loss to report.
func (s *Fences) HasLost() bool { return len(s.lost) > 0 }

// UnderWay is how many there are.
func (s *Fences) UnderWay() int { return len(s.all) }

// Advance moves every fence on. It may be entered again from a fence's done function.
func (s *Fences) Advance() {
	for i := 0; i < len(s.all); {
		f := s.all[i]
		if !f.flushing && s.cfg.Quiet(f.seq) && s.cfg.Out.Quiet(f.seq) {
			f.flushing = true
			s.cfg.Out.Flush(&f.flush)
		}
		if !f.flushing || !f.flush.Done() {
			i++
			continue
		}
		if !f.looked { // a link accepts data that a leaving task does not take any more
			f.looked = true
			s.cfg.Lost()
			continue
		}
		s.all = slices.Delete(s.all, i, i+1)
		if f.flush.Lost() && f.code == codes.Success {
			f.code = codes.ErrNoConnectivity
		}
		if f.over = true; f.done != nil {
			f.done(f.code)
		}
	}
}
