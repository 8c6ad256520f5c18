package main

import (
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// inputs is the tasks that read lapirun's standard input. A file or pipe goes to a single reader as
// it is; a terminal cannot, as it stops readers outside of its foreground process group, and tasks
// have groups of their own.
type inputs struct {
	null    *os.File
	direct  int // task that inherits standard input itself, or -1
	feed    *feed
	readers []*os.File // the tasks' ends of pipes; closed once they have started
}

func newInputs(mode int, say func(format string, args ...any)) (in *inputs, err error) {
	in = &inputs{direct: -1}
	if in.null, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	switch {
	case mode == stdinNone:
	case mode == stdinAll || isTerminal(0):
		in.feed, err = newFeed(say)
	default:
		in.direct = mode
	}
	return in, err
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
	in.feed.to(w)
	return r, nil
}

// started closes the tasks' ends and begins to read.
func (in *inputs) started() {
	for _, r := range in.readers {
		r.Close()
	}
	in.null.Close()
	if in.feed != nil {
		go in.feed.read(0)
	}
}

// feed copies one input to several tasks, each at its own pace. Data that the slowest task has not
// read yet is kept in a file and not in memory, so that a task that never reads takes no memory and
// delays no other.
type feed struct {
	say   func(format string, args ...any)
	spool *os.File // without a name
	mu    sync.Mutex
	more  *sync.Cond // size has grown, or ended is set
	size  int64      // bytes read so far
	ended bool
	// needed is the byte from which on each task still needs the spool, freed the byte up to which
	// the spool was freed.
	needed map[*os.File]int64
	freed  int64
}

// freeStep is the number of bytes by which the beginning of the spool is freed.
const freeStep = 1 << 20

func newFeed(say func(format string, args ...any)) (*feed, error) {
	f := &feed{say: say, needed: make(map[*os.File]int64)}
	f.more = sync.NewCond(&f.mu)
	var err error
	if f.spool, err = os.CreateTemp("", "lapirun-stdin-"); err == nil {
		err = os.Remove(f.spool.Name())
	} else if fd, e := unix.MemfdCreate("lapirun-stdin", unix.MFD_CLOEXEC); e == nil {
		f.spool, err = os.NewFile(uintptr(fd), "standard input"), nil // there is no disk to use
	}
	return f, err
}

// read copies an input to the spool.
func (f *feed) read(fd int) {
	terminal := isTerminal(fd)
	chunk := make([]byte, 32<<10)
	for {
		if terminal {
			awaitForeground(fd)
		}
		n, err := unix.Read(fd, chunk)
		if err == unix.EINTR || err == unix.EAGAIN {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if n > 0 {
			if _, err = f.spool.Write(chunk[:n]); err != nil {
				f.say("standard input ends early: %v", err)
				n = 0
			}
		}
		f.mu.Lock()
		f.size, f.ended = f.size+int64(max(n, 0)), n <= 0
		f.more.Broadcast()
		f.mu.Unlock()
		if n <= 0 {
			return
		}
	}
}

// to begins to give the input to a task. It closes w at the end, or when the task has closed its
// standard input.
func (f *feed) to(w *os.File) {
	f.wants(w, 0)
	go func() {
		defer w.Close()
		chunk := make([]byte, 32<<10)
		for at := int64(0); ; {
			n := f.await(at, len(chunk))
			_, err := f.spool.ReadAt(chunk[:n], at)
			if n > 0 && err == nil {
				_, err = w.Write(chunk[:n])
			}
			if n == 0 || err != nil {
				f.wants(w, math.MaxInt64)
				return
			}
			at += int64(n)
			f.wants(w, at)
		}
	}()
}

// await returns how many bytes there are from at on, and no more than most; 0: no more will come.
func (f *feed) await(at int64, most int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at == f.size && !f.ended {
		f.more.Wait()
	}
	return int(min(f.size-at, int64(most)))
}

// wants notes that w needs nothing before at any more, and frees the part of the spool that no task
// needs.
func (f *feed) wants(w *os.File, at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.needed[w] = at
	oldest := f.size
	for _, at := range f.needed {
		oldest = min(oldest, at)
	}
	if free := oldest - f.freed; free >= freeStep {
		// a file system that cannot do it keeps all
		_ = unix.Fallocate(int(f.spool.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
			f.freed, free)
		f.freed = oldest
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
