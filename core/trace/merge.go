package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lapi/transport/layout"
)

// Event is an event of the Chrome trace format. Times are microseconds since the job's first event.
type Event struct {
	Name     string         `json:"name,omitempty"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"` // of phase X
	PID      int            `json:"pid"`
	TID      int32          `json:"tid"`
	ID       uint64         `json:"id,omitempty"` // of flows
	Bind     string         `json:"bp,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// Summary counts what a merged trace shows.
type Summary struct {
	Tasks    int            `json:"tasks"`
	Records  int            `json:"records"`
	Lost     uint64         `json:"lost"`     // for which files were too small
	Broken   uint64         `json:"broken"`   // half-written or unknown
	Sent     int            `json:"sent"`     // messages
	Received int            `json:"received"` // messages, refusals not counted
	Refused  int            `json:"refused"`  // messages that were offered again later
	Arrows   int            `json:"arrows"`   // messages found at both ends
	Calls    map[string]int `json:"calls"`
}

// Merged is a whole job's trace.
type Merged struct {
	Events  []Event
	Summary Summary
}

// end of a message, in one of the traces.
type end struct {
	at  float64 // microseconds
	pid int
	tid int32
}

// key is what both ends know of a message.
type key struct {
	origin, target, instance int
	header, size             uint64
}

type merger struct {
	Merged
	zero  uint64 // ns on the first machine's clock: time 0 of the result
	sent  map[key][]end
	names map[key]string
	got   map[key][]end
	order []key // of sent, by first appearance
}

// Merge puts the traces of one job into one. Messages are joined by header: the nth message of some
// header, origin and target is the nth of these that the target accepted. Arrows are left out where
// an end is missing. The traces' partitions must agree.
func Merge(traces []*Trace) (*Merged, error) {
	if len(traces) == 0 {
		return nil, fmt.Errorf("no traces")
	}
	sorted := slices.Clone(traces)
	slices.SortStableFunc(sorted, func(a, b *Trace) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Task, b.Task))
	})
	for i, t := range sorted {
		if t.Partition != sorted[0].Partition || t.NumTasks != sorted[0].NumTasks {
			return nil, fmt.Errorf("traces of different jobs: %v; %v", &sorted[0].Head, &t.Head)
		}
		if i > 0 && t.Task == sorted[i-1].Task && t.Instance == sorted[i-1].Instance {
			return nil, fmt.Errorf("two traces of %v", &t.Head)
		}
	}
	m := &merger{sent: map[key][]end{}, names: map[key]string{}, got: map[key][]end{}}
	m.Summary.Calls = map[string]int{}
	shifts := alignMachines(sorted)
	m.zero = earliest(sorted, shifts)
	for i, t := range sorted {
		m.add(t, shifts[i])
	}
	m.joinMessages()
	slices.SortStableFunc(m.Events, byTime)
	return &m.Merged, nil
}

// byTime puts metadata first, and the longer of two slices that begin together.
func byTime(a, b Event) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Time, b.Time),
		cmp.Compare(length(b), length(a)))
}

func rank(e Event) int {
	if e.Phase == "M" {
		return 0
	}
	return 1
}

func length(e Event) float64 {
	if e.Duration == nil {
		return 0
	}
	return *e.Duration
}

// alignMachines gives for each trace what to add to its times (modulo 2^64). Traces of one machine
// share its clock. All tasks leave the exchange of LAPI_Init at nearly the same time; so machines
// are aligned by the last of their tasks to note it.
func alignMachines(traces []*Trace) []uint64 {
	last := map[[16]byte]uint64{}
	for _, t := range traces {
		last[t.Machine] = max(last[t.Machine], t.OpenedNs)
	}
	shifts := make([]uint64, len(traces))
	for i, t := range traces {
		shifts[i] = last[traces[0].Machine] - last[t.Machine]
	}
	return shifts
}

func earliest(traces []*Trace, shifts []uint64) uint64 {
	first := ^uint64(0)
	for i, t := range traces {
		for j := range t.Records {
			first = min(first, t.Records[j].Ns+shifts[i])
		}
	}
	return first
}

// micros converts a time of a trace. The difference is signed: alignment may put a machine's events
// before the first.
func (m *merger) micros(ns, shift uint64) float64 { return float64(int64(ns+shift-m.zero)) / 1e3 }

// pid numbers the tasks of the first instance as LAPI does, others behind them.
func pid(t *Trace) int { return (t.Instance-1)*t.NumTasks + t.Task }

func (m *merger) add(t *Trace, shift uint64) {
	m.Summary.Tasks++
	m.Summary.Records += len(t.Records)
	m.Summary.Lost += t.Lost
	m.Summary.Broken += t.Broken
	m.describe(t)
	all := t.slices()
	m.nameThreads(t, all)
	for _, s := range all {
		m.slice(t, &s, shift)
	}
}

// describe names a task and its threads.
func (m *merger) describe(t *Trace) {
	name := fmt.Sprintf("task %d (process %d)", t.Task, t.PID)
	if t.Instance > 1 {
		name = fmt.Sprintf("task %d, instance %d (process %d)", t.Task, t.Instance, t.PID)
	}
	m.Events = append(m.Events,
		Event{Name: "process_name", Phase: "M", PID: pid(t), Args: map[string]any{"name": name}},
		Event{Name: "process_sort_index", Phase: "M", PID: pid(t),
			Args: map[string]any{"sort_index": pid(t)}})
}

// nameThreads names a task's threads by what they do: a call that is inside nothing is the program's.
func (m *merger) nameThreads(t *Trace, all []slice) {
	names := threadNames(t, all)
	for _, tid := range slices.Sorted(maps.Keys(names)) {
		m.Events = append(m.Events, Event{Name: "thread_name", Phase: "M", PID: pid(t), TID: tid,
			Args: map[string]any{"name": names[tid]}})
	}
}

// threadNames returns a name for each thread that has a record: main, thread N (the program's, in the
// order in which they appear), service and completion handlers (the library's).
func threadNames(t *Trace, all []slice) map[int32]string {
	calls, handlers := map[int32]bool{}, map[int32]bool{}
	var order []int32
	for i := range all {
		r := &all[i].record
		if !slices.Contains(order, r.Thread) {
			order = append(order, r.Thread)
		}
		category := r.Kind &^ 0xff
		calls[r.Thread] = calls[r.Thread] || category == layout.TraceCall && all[i].top
		handlers[r.Thread] = handlers[r.Thread] || category == layout.TraceHandler && all[i].top
	}
	names := map[int32]string{}
	programs := 0
	for _, tid := range order {
		switch {
		case int(tid) == t.PID:
			names[tid] = "main"
		case calls[tid]:
			programs++
			names[tid] = fmt.Sprintf("thread %d", programs)
		case handlers[tid]:
			names[tid] = "completion handlers"
		default:
			names[tid] = "service"
		}
	}
	return names
}

var categories = map[uint32]string{
	layout.TraceCall: "call", layout.TraceMessage: "message", layout.TraceHandler: "handler",
	layout.TraceWait: "wait", layout.TracePacket: "packet", layout.TraceTurn: "dispatcher",
	layout.TraceError: "error", layout.TraceCounter: "counter",
}

// slice adds what a slice or moment shows, and notes the ends of messages.
func (m *merger) slice(t *Trace, s *slice, shift uint64) {
	r := &s.record
	e := Event{Name: text(r.Name[:]), Category: categories[r.Kind&^0xff], Phase: "X",
		Time: m.micros(r.Ns, shift), PID: pid(t), TID: r.Thread}
	e.Args = arguments(s)
	if s.instant {
		e.Phase, e.Scope = "i", "t"
	} else {
		length := float64(s.end-min(r.Ns, s.end)) / 1e3
		e.Duration = &length
	}
	switch r.Kind {
	case layout.TraceSent | layout.TraceMessage:
		m.messageSent(t, r, &e)
	case layout.TraceReceived | layout.TraceMessage:
		m.messageReceived(t, s, &e)
	case layout.TraceBegin | layout.TraceCall, layout.TraceComplete | layout.TraceCall:
		m.Summary.Calls[e.Name]++
	}
	m.Events = append(m.Events, e)
}

func arguments(s *slice) map[string]any {
	r := &s.record
	args := map[string]any{}
	if r.Peer >= 0 {
		args["task"] = r.Peer
	}
	if r.Size > 0 {
		args["size"] = r.Size
	}
	switch category, phase := r.Kind&^0xff, r.Kind&0xff; {
	case category == layout.TraceCall && phase != layout.TraceComplete && !s.open:
		args["code"] = s.code
	case category == layout.TraceCounter, category == layout.TraceHandler && r.Id != 0:
		args["address"] = fmt.Sprintf("%#x", r.Id)
	case category == layout.TraceError:
		args["code"] = r.Code
	}
	if s.open {
		args["ended"] = false
	}
	if len(args) == 0 {
		return nil
	}
	return args
}

func (m *merger) messageSent(t *Trace, r *layout.TraceRecord, e *Event) {
	m.Summary.Sent++
	k := key{t.Task, int(r.Peer), t.Instance, r.Id, r.Size}
	if _, known := m.names[k]; !known {
		m.names[k] = e.Name
		m.order = append(m.order, k)
	}
	m.sent[k] = append(m.sent[k], end{e.Time, e.PID, e.TID})
	e.Name = "send " + e.Name
}

func (m *merger) messageReceived(t *Trace, s *slice, e *Event) {
	if s.code != 0 {
		m.Summary.Refused++
		e.Name += " (refused)"
		return
	}
	m.Summary.Received++
	k := key{int(s.record.Peer), t.Task, t.Instance, s.record.Id, s.record.Size}
	m.got[k] = append(m.got[k], end{e.Time, e.PID, e.TID})
}

// joinMessages draws the arrows. Viewers bind an arrow's ends to the slices that they lie in.
func (m *merger) joinMessages() {
	for _, k := range m.order {
		from, to := m.sent[k], m.got[k]
		for i := range min(len(from), len(to)) {
			m.Summary.Arrows++
			e := Event{Name: m.names[k], Category: "message", ID: uint64(m.Summary.Arrows)}
			e.Phase, e.Time, e.PID, e.TID = "s", from[i].at, from[i].pid, from[i].tid
			m.Events = append(m.Events, e)
			e.Phase, e.Time, e.PID, e.TID, e.Bind = "f", to[i].at, to[i].pid, to[i].tid, "e"
			m.Events = append(m.Events, e)
		}
	}
}
