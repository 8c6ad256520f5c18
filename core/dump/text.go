package dump

import (
	"fmt"
	"strings"
)

// taskThreads bounds how many threads of a task are shown.
const taskThreads = 16

// doing is what the kernel says of a thread.
func doing(state byte) string {
	switch state {
	case 'R':
		return "runs"
	case 'S':
		return "sleeps"
	case 'D':
		return "waits in the kernel"
	case 'T':
		return "is stopped"
	case 't':
		return "is stopped by a debugger"
	}
	return "is in an unknown state"
}

// where is the call or place in which a thread waits.
func (t *Thread) where() string {
	if t.Call == "lock" {
		return "waiting for LAPI's lock"
	}
	if t.Counter == "" {
		return "in " + t.Call
	}
	value := "?"
	if t.Value != "" {
		value = t.Value
	}
	return fmt.Sprintf("in %s on %s (%s of %d)", t.Call, t.Counter, value, t.Wanted)
}

func (t *Thread) text() string {
	s := fmt.Sprintf("thread %d (%s): ", t.ID, t.Name)
	if t.Call == "" {
		return s + doing(t.State)
	}
	return s + fmt.Sprintf("%s for %s; %s", t.where(), period(t.Millis), doing(t.State))
}

func (p *Peer) text() string {
	s := fmt.Sprintf("task %d by %s, %s", p.Task, p.Link, p.State)
	if p.Unit != "" {
		s += fmt.Sprintf(": %d %s sent, %d acknowledged", p.Sent, p.Unit, p.Acknowledged)
		if p.Unsent > 0 {
			s += fmt.Sprintf(", %d not sent yet", p.Unsent)
		}
	}
	if p.Gets > 0 {
		s += fmt.Sprintf("; %d gets or read-modify-writes without an answer", p.Gets)
	}
	if p.Messages > 0 {
		s += fmt.Sprintf("; %d messages wait for room (%d KiB)", p.Messages, (p.Bytes+1023)/1024)
	}
	if p.Rooms > 0 {
		s += fmt.Sprintf("; %d calls wait for room", p.Rooms)
	}
	if p.SilentMillis > 0 {
		s += fmt.Sprintf("; an answer has been due for %s", period(p.SilentMillis))
	}
	if len(p.Paths) > 0 {
		s += "; paths " + strings.Join(p.Paths, ", ")
	}
	return s
}

// name is a task's name in texts.
func (t *Task) name() string {
	if t.Task < 0 {
		return fmt.Sprintf("process %d", t.Process)
	}
	return fmt.Sprintf("task %d", t.Task)
}

// lockText is about a lock that could not be had; "" if all could.
func (t *Task) lockText() string {
	if len(t.Locks) == 0 {
		return ""
	}
	l := t.Locks[0]
	th := t.thread(l.Thread)
	what := "LAPI's lock is held by thread %d (%s)"
	switch {
	case l.Handler:
		what = "LAPI's lock is held by a handler of the program's in thread %d (%s)"
	case l.Moves:
		what = "LAPI's lock is in use all the time, now by thread %d (%s)"
	}
	return fmt.Sprintf(what, l.Thread, th.Name) + ", which " + doing(th.State)
}

// Text is a task in words: some lines, the first without a blank in front.
func (t *Task) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", t.name())
	if t.Tasks > 0 {
		fmt.Fprintf(&b, " of %d", t.Tasks)
	}
	fmt.Fprintf(&b, ", process %d on %s (%s)", t.Process, t.Host, t.Program)
	if t.State != Answered {
		fmt.Fprintf(&b, ": %s", t.describeState())
	}
	b.WriteByte('\n')
	if s := t.lockText(); s != "" {
		fmt.Fprintf(&b, "  %s; what follows was read without it\n", s)
	}
	shown, asleep := 0, 0
	for i := range t.Threads {
		th := &t.Threads[i]
		if th.Call == "" && i > 0 && (th.State == 'S' || th.inside()) {
			asleep++
			continue
		}
		if shown++; shown <= taskThreads {
			fmt.Fprintf(&b, "  %s\n", th.text())
		}
	}
	if more := shown - taskThreads + t.Missing; more > 0 {
		fmt.Fprintf(&b, "  %d more threads wait or run\n", more)
	}
	if asleep > 0 {
		fmt.Fprintf(&b, "  %d more threads, the library's among them, wait in no call\n", asleep)
	}
	if len(t.Needs) > 0 {
		fmt.Fprintf(&b, "  its LAPI_Gfence or LAPI_Address_init needs %s\n", taskList(t.Needs))
	}
	for i := range t.Peers {
		fmt.Fprintf(&b, "  %s\n", t.Peers[i].text())
	}
	if t.More+t.Quiet > 0 {
		fmt.Fprintf(&b, "  %d more tasks with something under way, %d without\n", t.More, t.Quiet)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}

func (t *Task) describeState() string {
	switch t.State {
	case Stopped:
		return "it is stopped, by a signal or a debugger"
	case Silent:
		return "it does not answer"
	case Outside:
		return "it has not called LAPI_Init, or has called LAPI_Term"
	}
	return t.State
}

// taskList is "task 1", "tasks 1 and 2", "tasks 0, 2 and 5 to 9".
func taskList(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		if last-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d to %d", all[i], all[last]))
		} else {
			for k := i; k <= last; k++ {
				parts = append(parts, fmt.Sprint(all[k]))
			}
		}
		i = last + 1
	}
	switch n := len(parts); {
	case len(all) == 1:
		return "task " + parts[0]
	case n == 1:
		return "tasks " + parts[0]
	default:
		return "tasks " + strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}
