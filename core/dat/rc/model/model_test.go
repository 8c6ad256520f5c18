package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"lapi/core/dat/rc"
	user "lapi/transport/memory"
)

// checkLoudness: a waiting thread sees what is solicited, and all failures.
func (w *world) checkLoudness(e *end, received []event, heard loudness) {
	want, next := silent, e.arrived
	for _, v := range received {
		if v.status != rc.Success || !e.solicited {
			want = loud
		} else if m := e.peer().messages; next < len(m) {
			if m[next].solicited {
				want = loud
			}
			next++
		}
	}
	if len(received) > 0 && heard != unknown && heard != want {
		w.errorf("%v: %d receives are %d, want %d", e, len(received), heard, want)
	}
}

// checkRequest checks the event of a request.
func (w *world) checkRequest(e *end, v event) {
	for uint64(e.done) < v.number && e.done < len(e.requests) {
		if r := e.requests[e.done]; !r.suppress {
			w.errorf("%v: request %d completes before %d", e, v.number, r.number)
			return
		}
		w.succeed(e)
	}
	if v.number != uint64(e.done) || e.done >= len(e.requests) {
		w.errorf("%v: an event of request %d, where %d of %d is next", e, v.number, e.done,
			len(e.requests))
		return
	}
	r := e.requests[e.done]
	switch {
	case v.bind != (r.op == rc.Bind):
		w.errorf("%v: request %d has the event of another", e, v.number)
	case v.status != rc.Success:
		if !e.failed {
			e.failed, e.failedAt, e.failedBy = true, e.done, v.status
		}
		e.done++
		w.total.failed++
		if why := w.mayFail(e, r, v.status); why != nil {
			w.errorf("%v: %v has status %d: %v", e, r, v.status, why)
		}
	case r.suppress:
		w.errorf("%v: %v has an event", e, r)
	default:
		if !v.bind && v.n != r.n {
			w.errorf("%v: %v: %d bytes", e, r, v.n)
		}
		w.succeed(e)
	}
}

// checkSuppressed: requests are complete that have no event.
func (w *world) checkSuppressed(e *end) {
	pending, _ := w.pending(e)
	for !e.failed && e.done < len(e.requests)-pending && e.requests[e.done].suppress {
		w.succeed(e)
	}
	if e.done != len(e.requests)-pending && w.giving != e {
		w.errorf("%v: of %d requests %d are pending, %d have completed", e, len(e.requests),
			pending, e.done)
	}
}

// succeed: the oldest request is complete.
func (w *world) succeed(e *end) {
	r := e.requests[e.done]
	e.done++
	w.total.done++
	if e.failed {
		w.errorf("%v: %v succeeds behind a failure", e, r)
	}
	if r.failing != nothing || r.late && !w.isDead(e.peer()) {
		w.errorf("%v: %v succeeds with %v, late %v", e, r, r.failing, r.late)
	}
	if err := w.checkDone(e, r); err != nil {
		w.errorf("%v: %v: %v", e, r, err)
	}
}

func (w *world) checkDone(e *end, r *request) error {
	p := e.peer()
	if r.takes() {
		i := e.acknowledged
		e.acknowledged++
		w.total.messages++
		if !p.shared && (i >= len(p.receives) || p.receives[i].n < r.n && r.op == rc.Send) {
			return errors.New("there is no such receive")
		}
	}
	switch {
	case r.op == rc.Write && r.place >= 0 && !w.isDead(p):
		list := p.writes[r.place]
		if list[len(list)-1] != int(r.number) {
			return nil
		}
		for i, b := range r.remote.at {
			if b != dataOf(e, r.number, i) {
				return fmt.Errorf("byte %d is %#x, want %#x", i, b, dataOf(e, r.number, i))
			}
		}
	case r.op == rc.Read && r.expect != nil && !e.overwritten(r):
		if got := gathered(r.local); !bytes.Equal(got, r.expect) {
			return fmt.Errorf("%d bytes were read, and differ from byte %d on", len(got),
				differ(got, r.expect))
		}
	case r.op == rc.FetchAdd || r.op == rc.CompareSwap:
		got := binary.LittleEndian.Uint64(gathered(r.local))
		if r.common {
			o := w.procs[p.process].word
			if got >= o.added || o.seen[got] {
				return fmt.Errorf("%d was there, of %d, or twice", got, o.added)
			}
			o.seen[got] = true
		} else if got != r.want {
			return fmt.Errorf("%d was there, want %d", got, r.want)
		}
	}
	return nil
}

// checkVisible: where a byte of a write's last word is there, of a write that is not complete, all
// of it is, and what was written before. Only writes say so to whose place no other is under way.
func (w *world) checkVisible(e *end) {
	if e.forgotten || e.peer().forgotten {
		return
	}
	busy := map[int]int{}
	for _, r := range e.requests[e.done:] {
		if r.place >= 0 && r.op == rc.Write {
			busy[r.place]++
		}
	}
	var before *request
	for _, r := range e.requests[e.done:] {
		if r.op != rc.Write || r.n == 0 || busy[r.place] > 1 || r.failing != nothing {
			continue
		}
		last := (uint64(user.AddrOf(r.remote.at)) + uint64(r.n) - 1) % 8
		tail := min(int(last)+1, int(r.n))
		seen := false
		for i := int(r.n) - tail; i < int(r.n); i++ {
			seen = seen || r.remote.at[i] != r.under[i]
		}
		if !seen {
			before = r
			continue
		}
		if got := r.remote.at; !bytes.Equal(got, gathered(r.local)) {
			w.errorf("%v: of %v the last word is there, and differs from byte %d on", e, r,
				differ(got, gathered(r.local)))
		}
		if before != nil && !bytes.Equal(before.remote.at, gathered(before.local)) {
			w.errorf("%v: of %v the last word is there before %v", e, r, before)
		}
	}
}

// checkReceive checks the event of a receive.
func (w *world) checkReceive(e *end, v event) {
	r, slot := w.completed(e, v)
	if r == nil {
		return
	}
	p := e.peer()
	if v.status != rc.Success {
		e.receiveFailed = true
		if why := w.mayFailReceive(e, r, v.status); why != nil {
			w.errorf("%v: receive %d has status %d: %v", e, r.number, v.status, why)
		}
		if !e.shared && int(r.number) >= len(p.messages) {
			if err := r.check(slot, p, 0, 0); err != nil {
				w.errorf("%v: receive %d, of no message: %v", e, r.number, err)
			}
		}
		return
	}
	if e.receiveFailed || e.arrived >= len(p.messages) {
		w.errorf("%v: receive %d of %d messages, failed %v", e, e.arrived, len(p.messages),
			e.receiveFailed)
		return
	}
	m := p.messages[e.arrived]
	e.arrived++
	n := m.n
	if m.op == rc.Write {
		n = 0
	}
	if v.n != m.n || v.immediate != m.immediate || m.immediate && v.data != m.data ||
		v.invalid != m.invalidate || m.invalidate && v.context != m.context {
		w.errorf("%v: receive %d is %+v, of %v", e, r.number, v, m)
	}
	if r.n < n || m.failing != nothing {
		w.errorf("%v: receive %d of %d bytes has %v, %v", e, r.number, r.n, m, m.failing)
	} else if err := r.check(slot, p, m.number, n); err != nil {
		w.errorf("%v: receive %d, of %v: %v", e, r.number, m, err)
	}
}

// completed is the receive of an event, and its memory; nil: it cannot be.
func (w *world) completed(e *end, v event) (*receive, []byte) {
	if !e.shared {
		if v.number != uint64(e.received) || e.received >= len(e.receives) {
			w.errorf("%v: receive %d completes, %d of %d is next", e, v.number, e.received,
				len(e.receives))
			return nil, nil
		}
		e.received++
		return e.receives[v.number], slot(e.inboxes, v.number)
	}
	s := w.procs[e.process].shared
	r := s.waiting[v.number]
	if r == nil {
		w.errorf("%v: shared receive %d completes, which is not posted", e, v.number)
		return nil, nil
	}
	delete(s.waiting, v.number)
	s.latest = max(s.latest, v.number)
	return r, slot(s.memory, v.number)
}

// checkEnd: an end is over, and nothing of it is left.
func (w *world) checkEnd(e *end) {
	e.ended = true
	e.ending, _ = w.over(e)
	requests, receives := w.pending(e)
	if requests > 0 || receives > 0 || e.done != len(e.requests) || e.received != len(e.receives) {
		w.errorf("%v is over with %d requests, %d receives; events of %d of %d and %d of %d", e,
			requests, receives, e.done, len(e.requests), e.received, len(e.receives))
	}
	if why := w.mayEnd(e); why != nil {
		w.errorf("%v is over by %d: %v", e, e.ending, why)
	}
}

// bound implements core: all before it is complete, and nothing behind it has begun.
func (w *world) bound(e *end, number uint64, steady bool) bool {
	r := e.requests[number]
	if steady {
		w.checkTurn(e, r)
	}
	if r.failing != nothing {
		return false
	}
	w.unbind(e)
	e.window = r.bind
	w.publish(e.process, e.window)
	return true
}

// checkTurn: it is a bind's turn.
func (w *world) checkTurn(e *end, r *request) {
	w.collect(e.connection)
	p := e.peer()
	before := 0
	for _, m := range e.messages {
		if m.number < r.number {
			before++
		}
	}
	if p.arrived > before && !w.isDead(p) {
		w.errorf("%v: %v has its turn, when %d messages have arrived of %d before it", e, r,
			p.arrived, before)
	}
	if uint64(e.done) != r.number {
		w.errorf("%v: %v has its turn, when %d are complete", e, r, e.done)
	}
}

// unbind ends what a window names.
func (w *world) unbind(e *end) {
	if e.window != nil {
		e.useless[e.window.number] = true
		w.publish(e.process, &context{number: e.window.number})
		e.window = nil
	}
}

// invalidated implements core: the peer may invalidate the window.
func (w *world) invalidated(e *end, number uint32) bool {
	if e.window == nil || e.window.number != number {
		return false
	}
	w.unbind(e)
	return true
}

// finalCheck: what the places hold, where all has succeeded.
func (w *world) finalCheck(c *connection) {
	for _, e := range c.ends {
		if e.failed || e.done != len(e.requests) || w.isDead(e) || w.isDead(e.peer()) {
			continue
		}
		p := e.peer()
		for i := range places {
			if !bytes.Equal(p.place(i), p.expected[i]) {
				w.errorf("%v: place %d of the peer's differs from byte %d on", e, i,
					differ(p.place(i), p.expected[i]))
			}
		}
		if got := binary.LittleEndian.Uint64(p.words); got != p.adds {
			w.errorf("%v: the word is %d, want %d", e, got, p.adds)
		}
		if got := binary.LittleEndian.Uint64(p.words[8:]); got != p.swapped {
			w.errorf("%v: the swapped word is %d, want %d", e, got, p.swapped)
		}
	}
}

func (e *end) String() string { return fmt.Sprintf("end %d.%d", e.index, e.side) }

func differ(a, b []byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// overwritten says whether a later write may have changed what a read has read, as no fence keeps
// it back.
func (e *end) overwritten(r *request) bool {
	if r.place < 0 {
		return false
	}
	for _, later := range e.requests[r.number+1:] {
		if later.fence {
			return false
		}
		if later.op == rc.Write && later.place == r.place {
			return true
		}
	}
	return false
}

func (r *request) String() string {
	names := []string{rc.Send: "send", rc.Write: "write", rc.Read: "read",
		rc.CompareSwap: "compare-swap", rc.FetchAdd: "fetch-add", rc.Bind: "bind"}
	text := fmt.Sprintf("request %d, %s of %d in %d", r.number, names[r.op], r.n, len(r.local))
	for _, f := range []struct {
		set  bool
		name string
	}{{r.immediate, "immediate"}, {r.invalidate, "invalidate"}, {r.solicited, "solicited"},
		{r.fence, "fence"}, {r.suppress, "suppress"}, {r.window, "to RMR"},
		{r.common, "common"}} {
		if f.set {
			text += ", " + f.name
		}
	}
	if r.place >= 0 {
		text += fmt.Sprintf(", place %d", r.place)
	}
	if r.failing != nothing {
		text += ", " + r.failing.String()
	}
	return text
}
