// Package dump explains why a job does not go on: it asks the tasks of this node what their threads
// wait for, reads what the kernel knows of them, and describes it in words (docs/dev/dump.md).
//
//	dump.go     a task, its threads and peers
//	parse.go    what a task answers
//	find.go     the tasks of a job on this node, by their processes
//	ask.go      a task's socket
//	verdict.go  all tasks together: which task waits for which
//	text.go     a task in words
//	own.go      this process in words, for LAPI_DEBUG_SIGNAL
package dump

import "fmt"

// How a task has answered.
const (
	Answered = "answered"
	Stopped  = "stopped"   // by a signal or a debugger: it cannot
	Silent   = "no answer" // it runs, and has not within the bound
	Outside  = "outside"   // it has no context of LAPI: before LAPI_Init or after LAPI_Term
)

// Task is a process of a job. It goes from host to host as JSON.
type Task struct {
	Job         string
	Task, Tasks int // -1: the process has no task's number, as with uDAPL
	Process     int
	Host        string
	Program     string
	State       string
	Threads     []Thread
	Locks       []Lock
	Peers       []Peer
	Needs       []int // tasks that a collective under way here still needs something of
	More, Quiet int   // tasks that are not in Peers: something waits for them, nothing does
	Missing     int   // threads that wait and have no record
	Notes       []string
}

// Thread is a thread of a task; Call is "" if it does not wait in a call.
type Thread struct {
	ID      int
	Name    string
	State   byte // as in /proc: R, S, D, T, t
	Call    string
	Millis  int64
	Counter string // address; "": it waits for no counter
	Value   string // "": it could not be read
	Wanted  int64
}

// Lock is a context's lock that could not be had.
type Lock struct {
	Thread  int  // that has it
	Handler bool // a handler of the program's runs
	Moves   bool // it was given up and taken again meanwhile
	Millis  int64
}

// Peer is another task as a task sees it.
type Peer struct {
	Task                         int
	Link, State, Unit            string
	Sent, Acknowledged, Unsent   uint64
	Messages, Bytes, Gets, Rooms int64
	SilentMillis                 int64
	Paths                        []string
}

// inside says whether a thread is one of the library's.
func (t *Thread) inside() bool {
	for _, name := range []string{"lapi-service", "lapi-compl", "lapi-dump", "dat-service"} {
		if len(t.Name) >= len(name) && t.Name[:len(name)] == name {
			return true
		}
	}
	return false
}

// pending says whether the peer has still to take, or to answer, something.
func (p *Peer) pending() bool {
	return p.Messages+p.Gets+p.Rooms > 0 || p.Unsent > 0 || p.Sent != p.Acknowledged
}

// period is a time in words.
func period(millis int64) string {
	switch s := float64(millis) / 1000; {
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 600:
		return fmt.Sprintf("%.0f s", s)
	default:
		return fmt.Sprintf("%.0f min", s/60)
	}
}
