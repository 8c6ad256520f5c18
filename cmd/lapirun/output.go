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

// stdoutKind is what MP_STDOUTMODE asks for.
type stdoutKind uint8

const (
	unordered stdoutKind = iota // as it comes
	ordered                     // task by task
	single                      // of one task only
)

type stdoutMode struct {
	kind stdoutKind
	task int // of single
}

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
	mode   stdoutMode
	open   int // task whose unfinished line was written last; -1 if none
	turn   int // ordered: the task that writes now
	held   map[int]*heldOutput
	broken bool // nobody reads w any more
}

// heldOutput is what a task wrote before its turn.
type heldOutput struct {
	data  bytes.Buffer
	ended bool
}

func newSink(w *os.File, mode stdoutMode) *sink {
	return &sink{w: w, mode: mode, open: -1, held: make(map[int]*heldOutput)}
}

// stream is one task's output to a sink, used by one goroutine.
type stream struct {
	sink  *sink
	task  int
	label []byte // before each line; nil for none
	line  []byte // read, but not yet written
}

func newStream(s *sink, task, procs int, label bool) *stream {
	st := &stream{sink: s, task: task}
	if label {
		width := len(strconv.Itoa(procs - 1))
		st.label = fmt.Appendf(nil, "%*d:", width, task)
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
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = s.pass(len(s.line))
		case err != nil:
			_ = s.pass(len(s.line))
			s.sink.finish(s.task)
			return
		case len(s.line) > maxLine:
			err = s.pass(len(s.line))
		default:
			err = s.pass(bytes.LastIndexByte(s.line, '\n') + 1)
		}
		if err != nil {
			return // the task learns by SIGPIPE that nobody reads
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
	switch k.mode.kind {
	case single:
		if s.task != k.mode.task {
			return nil
		}
	case ordered:
		if s.task != k.turn {
			held := k.heldOf(s.task)
			held.data.Write(s.labelled(data, held.endsInside()))
			return nil
		}
	}
	return k.emit(s, data)
}

// emit writes data now. An unfinished line of another task is ended first. mu is held.
func (k *sink) emit(s *stream, data []byte) error {
	text := s.labelled(data, k.open == s.task)
	if k.open >= 0 && k.open != s.task {
		text = append([]byte{'\n'}, text...)
	}
	k.open = -1
	if data[len(data)-1] != '\n' {
		k.open = s.task
	}
	return k.put(text)
}

// say writes a line of lapirun's own.
func (k *sink) say(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open >= 0 {
		line = "\n" + line
		k.open = -1
	}
	_ = k.put([]byte(line)) // where should lapirun complain?
}

func (k *sink) put(text []byte) error {
	if k.broken {
		return os.ErrClosed
	}
	_, err := k.w.Write(text)
	k.broken = err != nil
	return err
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

func (k *sink) heldOf(task int) *heldOutput {
	h := k.held[task]
	if h == nil {
		h = &heldOutput{}
		k.held[task] = h
	}
	return h
}

func (h *heldOutput) endsInside() bool {
	b := h.data.Bytes()
	return len(b) > 0 && b[len(b)-1] != '\n'
}

// finish says that a task will write no more. In ordered mode the next one's turn comes.
func (k *sink) finish(task int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mode.kind != ordered {
		return
	}
	k.heldOf(task).ended = true
	for k.held[k.turn] != nil && k.held[k.turn].ended {
		delete(k.held, k.turn)
		k.turn++
		if h := k.held[k.turn]; h != nil && h.data.Len() > 0 {
			k.begin(h)
		}
	}
}

// begin writes what the task whose turn has come wrote before. mu is held.
func (k *sink) begin(h *heldOutput) {
	text := h.data.Bytes()
	if k.open >= 0 {
		text = append([]byte{'\n'}, text...)
	}
	k.open = -1
	if h.endsInside() {
		k.open = k.turn
	}
	_ = k.put(text) // later writes return the error
	h.data = bytes.Buffer{}
}
