package main

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// inputs is who reads lapirun's standard input. A file or pipe goes to a single reader as it is; a
// terminal cannot, as it stops readers outside of its foreground process group, and tasks have
// groups of their own.
type inputs struct {
	null    *os.File
	direct  int // task that inherits standard input itself, or -1
	feed    *feed
	readers []*os.File // the tasks' ends of pipes; closed once they have started
}

func newInputs(mode, procs int) (*inputs, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	in := &inputs{null: null, direct: -1}
	switch {
	case mode == stdinNone:
	case mode == stdinAll || isTerminal(0):
		in.feed = newFeed()
	default:
		in.direct = mode
	}
	return in, nil
}

// of returns what becomes a task's standard input.
func (in *inputs) of(task, mode int) (*os.File, error) {
	switch {
	case in.direct == task:
		return os.Stdin, nil
	case in.feed == nil || (mode != stdinAll && mode != task):
		return in.null, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in.readers = append(in.readers, r)
	go in.feed.writeTo(w)
	return r, nil
}

// started lets go of the tasks' ends and begins to read.
func (in *inputs) started() {
	for _, r := range in.readers {
		r.Close()
	}
	in.null.Close()
	if in.feed != nil {
		go in.feed.read(0)
	}
}

// feed copies one input to several tasks, each at its own pace; what the slowest has not read yet
// is kept in memory.
type feed struct {
	mu     sync.Mutex
	more   *sync.Cond // chunks has grown, or ended is set
	chunks [][]byte
	ended  bool
}

func newFeed() *feed {
	f := &feed{}
	f.more = sync.NewCond(&f.mu)
	return f
}

func (f *feed) read(fd int) {
	terminal := isTerminal(fd)
	for {
		if terminal {
			awaitForeground(fd)
		}
		chunk := make([]byte, 32<<10)
		n, err := unix.Read(fd, chunk)
		if err == unix.EINTR || err == unix.EAGAIN {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		f.mu.Lock()
		if n > 0 {
			f.chunks = append(f.chunks, chunk[:n])
		} else {
			f.ended = true
		}
		f.more.Broadcast()
		f.mu.Unlock()
		if n <= 0 {
			return
		}
	}
}

func (f *feed) writeTo(w *os.File) {
	defer w.Close()
	for i := 0; ; i++ {
		f.mu.Lock()
		for i == len(f.chunks) && !f.ended {
			f.more.Wait()
		}
		if i == len(f.chunks) {
			f.mu.Unlock()
			return
		}
		chunk := f.chunks[i]
		f.mu.Unlock()
		if _, err := w.Write(chunk); err != nil {
			return // the task has closed its standard input
		}
	}
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// awaitForeground returns when there is input and this process may read it; reading in the
// background would stop lapirun.
func awaitForeground(fd int) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
		if err != nil || n == 0 {
			continue
		}
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err != nil || group == unix.Getpgrp() {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
