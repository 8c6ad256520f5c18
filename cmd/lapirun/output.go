package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// Values of MP_STDOUTMODE that are no task.
const (
	unordered = -1 // lines as they come
	ordered   = -2 // task by task
)

const (
	// partialDelay is how long an unfinished line waits for its end before it is shown; a
	// prompt should not wait longer.
	partialDelay = 100 * time.Millisecond
	// maxLine is how much of an unfinished line is kept at most.
	maxLine = 1 << 20
)

// sink is lapirun's standard output or standard error, where the lines of all tasks meet.
type sink struct {
	mu     sync.Mutex
	w      *os.File
	mode   int            // unordered, ordered, or the only task whose output is shown
	open   int            // task whose unfinished line was written last; nobody: there is none
	turn   int            // ordered: the task that writes now
	held   map[int][]byte // ordered: what tasks wrote before their turn
	ended  map[int]bool   // ordered: tasks that will write no more
	broken bool           // no process reads w any more
}

const nobody = -1

func newSink(w *os.File, mode int) *sink {
	return &sink{w: w, mode: mode, open: nobody, held: make(map[int][]byte),
		ended: make(map[int]bool)}
}

// stream is one task's output to a sink, used by one goroutine.
type stream struct {
	sink  *sink
	task  int
	label []byte // before each line; nil for none
	line  []byte // read, but not yet written
}

func newStream(s *sink, task int, o *options) *stream {
	st := &stream{sink: s, task: task}
	if o.hosted {
		name, _ := os.Hostname()
		st.label = append([]byte(name), ':')
	}
	if o.label {
		st.label = fmt.Appendf(st.label, "%*d:", len(strconv.Itoa(o.procs-1)), task)
	}
	return st
}

// copyFrom copies a task's output line by line until its end, and closes r.
func (s *stream) copyFrom(r *os.File) {
	defer r.Close()
	buffer := make([]byte, 32<<10)
	for {
		var deadline time.Time
		if len(s.line) > 0 {
			deadline = time.Now().Add(partialDelay)
		}
		_ = r.SetReadDeadline(deadline) // pipes have deadlines
		n, err := r.Read(buffer)
		s.line = append(s.line, buffer[:n]...)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded), err == nil && len(s.line) > maxLine:
			err = s.pass(len(s.line))
		case err != nil:
			_ = s.pass(len(s.line))
			s.sink.finish(s.task)
			return
		default:
			err = s.pass(bytes.LastIndexByte(s.line, '\n') + 1)
		}
		if err != nil {
			return // the task learns by SIGPIPE that its output is not read
		}
	}
}

// pass writes the first n bytes of what was read.
func (s *stream) pass(n int) error {
	if n == 0 {
		return nil
	}
	err := s.sink.write(s, s.line[:n])
	s.line = s.line[:copy(s.line, s.line[n:])]
	return err
}

func (k *sink) write(s *stream, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.mode >= 0 && s.task != k.mode:
		return nil
	case k.mode == ordered && s.task != k.turn:
		before := k.held[s.task]
		k.held[s.task] = append(before, s.labelled(data, unfinished(before))...)
		return nil
	}
	return k.emit(s.task, s.labelled(data, k.open == s.task))
}

// unfinished says whether text ends inside a line.
func unfinished(text []byte) bool { return len(text) > 0 && text[len(text)-1] != '\n' }

// emit writes a task's text now. An unfinished line of another task is ended first. mu is held.
func (k *sink) emit(task int, text []byte) error {
	if k.open != nobody && k.open != task {
		text = append([]byte{'\n'}, text...)
	}
	k.open = nobody
	if unfinished(text) {
		k.open = task
	}
	if k.broken {
		return os.ErrClosed
	}
	_, err := k.w.Write(text)
	k.broken = err != nil
	return err
}

// say writes a line of lapirun's own.
func (k *sink) say(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.emit(nobody, []byte(line)) // where should lapirun complain?
}

// labelled puts the label before each line of data; not before the first if that continues one.
func (s *stream) labelled(data []byte, continued bool) []byte {
	if s.label == nil {
		return data
	}
	out := make([]byte, 0, len(data)+len(s.label)*(1+bytes.Count(data, []byte{'\n'})))
	for len(data) > 0 {
		if !continued {
			out = append(out, s.label...)
		}
		continued = false
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			n = len(data)
		}
		out = append(out, data[:n]...)
		data = data[n:]
	}
	return out
}

// finish says that a task will write no more. In ordered mode the next task's turn comes, and its
// earlier output is written.
func (k *sink) finish(task int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended[task] = true
	for k.mode == ordered && k.ended[k.turn] {
		k.turn++
		if text := k.held[k.turn]; text != nil {
			_ = k.emit(k.turn, text) // later writes return the error
			delete(k.held, k.turn)
		}
	}
}
