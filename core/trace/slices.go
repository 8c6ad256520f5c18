package trace

import "lapi/transport/layout"

// slice is a piece of a thread's time, or (begin == end, instant) a moment.
type slice struct {
	record  layout.TraceRecord // what began it
	end     uint64             // ns, on the machine's clock
	code    int32              // of the end
	open    bool               // no end was recorded
	instant bool
	top     bool  // not inside another slice of its thread
	by      uint8 // the link of a message
}

// slices pairs the beginnings and ends of each thread. A slice without an end ends with the trace;
// an end without beginning is ignored.
func (t *Trace) slices() []slice {
	all := make([]slice, 0, len(t.Records))
	stacks := map[int32][]int{} // by thread: open slices, as indices in all
	last := uint64(0)
	for i, r := range t.Records {
		last = max(last, r.Ns)
		s := slice{record: r, end: r.Ns, top: len(stacks[r.Thread]) == 0}
		if i < len(t.By) {
			s.by = t.By[i]
		}
		switch r.Kind & 0xff {
		case layout.TraceBegin, layout.TraceReceived:
			s.open = true
			stacks[r.Thread] = append(stacks[r.Thread], len(all))
		case layout.TraceEnd:
			stacks[r.Thread] = closeLatest(all, stacks[r.Thread], r)
			continue
		case layout.TraceComplete:
			s.end += min(r.Id, 1<<62)
		case layout.TraceSent:
			s.end += uint64(max(r.Code, 0))
		default:
			s.instant = true
		}
		last = max(last, s.end)
		all = append(all, s)
	}
	for i := range all {
		if all[i].open {
			all[i].end = max(last, all[i].record.Ns)
		}
	}
	return all
}

// closeLatest ends the latest open slice of r's category and what was begun inside it; it returns
// what stays open.
func closeLatest(all []slice, stack []int, r layout.TraceRecord) []int {
	for i := len(stack) - 1; i >= 0; i-- {
		s := &all[stack[i]]
		if (s.record.Kind^r.Kind)&^0xff != 0 {
			continue
		}
		s.code = r.Code
		for _, inner := range stack[i:] {
			all[inner].end, all[inner].open = max(r.Ns, all[inner].record.Ns), false
		}
		return stack[:i]
	}
	return stack
}
