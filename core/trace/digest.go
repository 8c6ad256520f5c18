package trace

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lapi/transport/layout"
)

// Digest says where a job's time went, in tables instead of a picture. All times are sums of
// wall-clock time.
type Digest struct {
	Tasks []TaskTime
	Calls []CallTime // by total time, the longest first
	Waits []Wait     // likewise
	Pairs []Pair     // by bytes, the most first
}

// TaskTime is one task's.
type TaskTime struct {
	Task, Instance int
	Wall           time.Duration // from the first record to the last
	Calls          time.Duration // of the program's threads in calls of LAPI
	Waiting        time.Duration // within these
	Asleep         time.Duration // within that
	Handlers       time.Duration
	Threads        []string
}

// CallTime is of one name of a call, of all tasks.
type CallTime struct {
	Name             string
	Count            int
	Total, Longest   time.Duration
	LongestAt        int // the task
	Failed, Unending int // calls with a code other than LAPI_SUCCESS; that had not ended
}

// Wait is how long a task waited until it got a message of another, with which the wait ended, or, From
// -1, without any.
type Wait struct {
	Task, From int
	Count      int
	Total      time.Duration
}

// Pair is what went from one task to another by one link.
type Pair struct {
	From, To int
	By       string
	Messages int
	Copies   int    // straight between the two tasks' memory
	Bytes    uint64 // of both
}

var linkNames = [...]string{"?", layout.TraceBySelf: "self", layout.TraceByShm: "shared memory",
	layout.TraceByUDP: "UDP/IP", layout.TraceByRDMA: "RDMA"}

// Digests sums up the traces of one job.
func Digests(traces []*Trace) *Digest {
	d := &digester{calls: map[string]*CallTime{}, waits: map[[2]int]*Wait{},
		pairs: map[pairKey]*Pair{}}
	for _, t := range traces {
		d.task(t)
	}
	out := &Digest{Tasks: d.tasks}
	for _, c := range d.calls {
		out.Calls = append(out.Calls, *c)
	}
	for _, w := range d.waits {
		out.Waits = append(out.Waits, *w)
	}
	for _, p := range d.pairs {
		out.Pairs = append(out.Pairs, *p)
	}
	slices.SortFunc(out.Tasks, func(a, b TaskTime) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Task, b.Task))
	})
	slices.SortFunc(out.Calls, func(a, b CallTime) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(out.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Task, b.Task),
			cmp.Compare(a.From, b.From))
	})
	slices.SortFunc(out.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To), cmp.Compare(a.By, b.By))
	})
	return out
}

type pairKey struct {
	from, to int
	by       uint8
}

type digester struct {
	tasks []TaskTime
	calls map[string]*CallTime
	waits map[[2]int]*Wait
	pairs map[pairKey]*Pair
}

func (d *digester) task(t *Trace) {
	all := t.slices()
	sum := TaskTime{Task: t.Task, Instance: t.Instance}
	names := threadNames(t, all)
	for _, tid := range slices.Sorted(maps.Keys(names)) {
		sum.Threads = append(sum.Threads, names[tid])
	}
	first, last := ^uint64(0), uint64(0)
	var taken []slice // messages that were taken, in the order of their ends
	for i := range all {
		s := &all[i]
		first, last = min(first, s.record.Ns), max(last, s.end)
		if s.record.Kind == layout.TraceReceived|layout.TraceMessage && s.code == 0 {
			taken = append(taken, *s)
		}
	}
	slices.SortFunc(taken, func(a, b slice) int { return cmp.Compare(a.end, b.end) })
	if len(all) > 0 {
		sum.Wall = time.Duration(last - first)
	}
	copied := map[[2]uint64]bool{} // beginnings of copies, by thread and time
	for i := range all {
		d.slice(t, &all[i], &sum, taken, copied)
	}
	d.tasks = append(d.tasks, sum)
}

func (d *digester) slice(t *Trace, s *slice, sum *TaskTime, taken []slice,
	copied map[[2]uint64]bool) {
	r := &s.record
	length := time.Duration(s.end - min(r.Ns, s.end))
	began := [2]uint64{uint64(uint32(r.Thread)), r.Ns}
	switch r.Kind {
	case layout.TraceBegin | layout.TraceCall, layout.TraceComplete | layout.TraceCall:
		if s.top {
			sum.Calls += length
		}
		d.call(t, s, length)
	case layout.TraceBegin | layout.TraceWait:
		if text(r.Name[:]) == "asleep" {
			sum.Asleep += length
		} else if text(r.Name[:]) == "wait" {
			sum.Waiting += length
			d.waited(t.Task, s, length, taken)
		}
	case layout.TraceBegin | layout.TraceHandler:
		sum.Handlers += length
	case layout.TraceSent | layout.TraceMessage:
		// A copy's notice to the target is recorded as a message, too: its bytes went by the copy.
		if !copied[began] {
			p := d.pair(t.Task, int(r.Peer), s.by)
			p.Messages++
			p.Bytes += r.Size
		}
	case layout.TraceComplete | layout.TraceMessage:
		copied[began] = true
		from, to := t.Task, int(r.Peer)
		if name := text(r.Name[:]); name == "copy from task" || name == "get" {
			from, to = to, from
		}
		p := d.pair(from, to, s.by)
		p.Copies++
		p.Bytes += r.Size
	}
}

func (d *digester) call(t *Trace, s *slice, length time.Duration) {
	name := text(s.record.Name[:])
	c := d.calls[name]
	if c == nil {
		c = &CallTime{Name: name, LongestAt: t.Task}
		d.calls[name] = c
	}
	c.Count++
	c.Total += length
	if length > c.Longest {
		c.Longest, c.LongestAt = length, t.Task
	}
	switch {
	case s.open:
		c.Unending++
	case s.code != 0:
		c.Failed++
	}
}

// waited charges a wait to the origin of the last message that was taken before it ended.
func (d *digester) waited(task int, s *slice, length time.Duration, taken []slice) {
	from := -1
	if i, _ := slices.BinarySearchFunc(taken, s.end+1, func(m slice, ns uint64) int {
		return cmp.Compare(m.end, ns)
	}); i > 0 && taken[i-1].end >= s.record.Ns && !s.open {
		from = int(taken[i-1].record.Peer)
	}
	k := [2]int{task, from}
	if d.waits[k] == nil {
		d.waits[k] = &Wait{Task: task, From: from}
	}
	d.waits[k].Count++
	d.waits[k].Total += length
}

func (d *digester) pair(from, to int, by uint8) *Pair {
	k := pairKey{from, to, by}
	if d.pairs[k] == nil {
		d.pairs[k] = &Pair{From: from, To: to, By: linkNames[by]}
	}
	return d.pairs[k]
}

// WriteText writes the digest as tables, of at most rows lines each; 0: all.
func (d *Digest) WriteText(w io.Writer, rows int) error {
	var b strings.Builder
	b.WriteString("Time of each task (waiting is within calls, asleep within waiting)\n")
	fmt.Fprintf(&b, "%6s %12s %12s %5s %12s %5s %12s %12s  threads\n", "task", "wall", "in calls", "",
		"waiting", "", "asleep", "handlers")
	for _, t := range d.Tasks[:shown(len(d.Tasks), rows)] {
		name := fmt.Sprint(t.Task)
		if t.Instance > 1 {
			name += fmt.Sprintf("/%d", t.Instance)
		}
		fmt.Fprintf(&b, "%6s %12s %12s %5s %12s %5s %12s %12s  %s\n", name, brief(t.Wall), brief(t.Calls),
			percent(t.Calls, t.Wall), brief(t.Waiting), percent(t.Waiting, t.Wall), brief(t.Asleep),
			brief(t.Handlers), strings.Join(t.Threads, ", "))
	}
	more(&b, len(d.Tasks), rows)
	fmt.Fprintf(&b, "\nCalls\n%-24s %9s %12s %12s %12s  %s\n", "call", "count", "total", "mean", "longest",
		"")
	for _, c := range d.Calls[:shown(len(d.Calls), rows)] {
		fmt.Fprintf(&b, "%-24s %9d %12s %12s %12s  in task %d", c.Name, c.Count, brief(c.Total),
			brief(c.Total/time.Duration(c.Count)), brief(c.Longest), c.LongestAt)
		if c.Failed > 0 {
			fmt.Fprintf(&b, ", %d failed", c.Failed)
		}
		if c.Unending > 0 {
			fmt.Fprintf(&b, ", %d not ended", c.Unending)
		}
		b.WriteByte('\n')
	}
	more(&b, len(d.Calls), rows)
	b.WriteString("\nWaits, by the origin of the message with which each ended\n")
	if len(d.Waits) == 0 {
		b.WriteString("  none recorded (MP_LAPI_TRACE_LEVEL 3 and more has them)\n")
	}
	for _, x := range d.Waits[:shown(len(d.Waits), rows)] {
		from := fmt.Sprintf("task %d", x.From)
		if x.From < 0 {
			from = "no message"
		}
		fmt.Fprintf(&b, "  task %-6d for %-12s %9d times %12s\n", x.Task, from, x.Count, brief(x.Total))
	}
	more(&b, len(d.Waits), rows)
	b.WriteString("\nData between tasks\n")
	if len(d.Pairs) == 0 {
		b.WriteString("  none recorded (MP_LAPI_TRACE_LEVEL 2 and more has it)\n")
	}
	for _, p := range d.Pairs[:shown(len(d.Pairs), rows)] {
		fmt.Fprintf(&b, "  %6d -> %-6d %-14s %9d messages %9d copies %15d bytes\n", p.From, p.To, p.By,
			p.Messages, p.Copies, p.Bytes)
	}
	more(&b, len(d.Pairs), rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func shown(n, rows int) int {
	if rows == 0 {
		return n
	}
	return min(n, rows)
}

func more(b *strings.Builder, n, rows int) {
	if rows > 0 && n > rows {
		fmt.Fprintf(b, "  and %d more (-rows 0 shows all)\n", n-rows)
	}
}

// brief has three digits and a unit.
func brief(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g us", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d < 1000*time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}
