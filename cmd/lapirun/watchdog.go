package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchdogName is argument 0 of the watchdog, and its name in ps, so that killing by the name
// lapirun spares it.
const watchdogName = "lapi-watchdog"

// order is a request of lapirun to the watchdog. An order to start a task comes with the task's
// files.
type order struct {
	Verb verb
	Task int
	Path string // of the program, or of the command of --on
	Args []string
	Env  []string
	Dir  string // ""; lapirun's
	// Processors are those that the task may run on; nil: all of lapirun's
	Processors *unix.CPUSet
}

type verb int

const (
	startTask verb = iota // answered by a report of its process, or of the error
	killAll               // kills all that descends from the tasks; answered when nothing is left
	letGo                 // the watchdog ends and leaves what runs alone
)

// report is a message from the watchdog to lapirun: the answer to an order, or the end of a task.
type report struct {
	Ended bool
	Task  int
	Pid   int
	Errno syscall.Errno // 0: the order was carried out
	Death death
}

// watchdog is lapirun's end of the watchdog process, which is the parent of the tasks.
type watchdog struct {
	conn    *net.UnixConn
	process *os.Process
	buffer  bytes.Buffer
	encoder *gob.Encoder // into buffer
	answers chan report
	deaths  chan report // each task's end; closed when the watchdog is gone
}

// startWatchdog starts the watchdog of a job of procs tasks. Should the watchdog be killed, lapirun
// inherits its children.
func startWatchdog(procs int) (*watchdog, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("becoming a child subreaper: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "watchdog"),
		os.NewFile(uintptr(pair[1]), "lapirun")
	defer mine.Close()
	defer theirs.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// A process group of its own keeps it out of reach of the terminal's signals, and of a
	// signal to lapirun's group. The session is lapirun's, since the tasks inherit it.
	p, err := os.StartProcess("/proc/self/exe", []string{watchdogName}, &os.ProcAttr{
		Env: []string{}, Files: []*os.File{null, null, null, theirs},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	w := &watchdog{
		conn: conn.(*net.UnixConn), process: p,
		answers: make(chan report), deaths: make(chan report, procs),
	}
	w.encoder = gob.NewEncoder(&w.buffer)
	go w.listen()
	return w, nil
}

// listen receives reports until the watchdog is gone.
func (w *watchdog) listen() {
	defer close(w.deaths)
	defer close(w.answers)
	for decoder := gob.NewDecoder(w.conn); ; {
		var r report
		if decoder.Decode(&r) != nil {
			return
		}
		if r.Ended {
			w.deaths <- r
		} else {
			w.answers <- r
		}
	}
}

var errWatchdog = errors.New("the watchdog is gone")

// ask sends an order with its files, and waits for the answer.
func (w *watchdog) ask(o order, files ...*os.File) (report, error) {
	if err := w.send(o, files...); err != nil {
		return report{}, fmt.Errorf("%w: %w", errWatchdog, err)
	}
	r, ok := <-w.answers
	if !ok {
		return r, errWatchdog
	}
	return r, nil
}

func (w *watchdog) send(o order, files ...*os.File) error {
	w.buffer.Reset()
	if err := w.encoder.Encode(o); err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	n, _, err := w.conn.WriteMsgUnix(w.buffer.Bytes(), rights, nil)
	if err != nil {
		return err
	}
	_, err = w.conn.Write(w.buffer.Bytes()[n:])
	return err
}

// start starts a task and returns its process.
func (w *watchdog) start(o order, stdin, stdout, stderr, control *os.File) (pid int, err error) {
	r, err := w.ask(o, stdin, stdout, stderr, control)
	if err != nil {
		return 0, err
	}
	if r.Errno != 0 {
		return 0, &os.PathError{Op: "starting", Path: o.Path, Err: r.Errno}
	}
	return r.Pid, nil
}

// killAll kills the tasks and all that descends from them, whatever they did to get away. When the
// watchdog is gone, they are lapirun's children, also those of a task that it has not reported.
func (w *watchdog) killAll() {
	if _, err := w.ask(order{Verb: killAll}); err == nil {
		return
	}
	_ = w.process.Kill()
	_, _ = w.process.Wait()
	killChildren(nil, func() {
		for _, pid := range ownChildren() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	})
}

// dismiss ends the watchdog; the tasks have ended.
func (w *watchdog) dismiss() {
	_ = w.send(order{Verb: letGo})
	w.conn.Close()
	_, _ = w.process.Wait()
}

// received is an order as the watchdog gets it.
type received struct {
	order
	files []int
}

// receive decodes orders until lapirun is gone.
func receive(conn *net.UnixConn, orders chan<- received) {
	defer close(orders)
	from := &fileReader{conn: conn}
	for decoder := gob.NewDecoder(from); ; {
		var next order
		if decoder.Decode(&next) != nil {
			return
		}
		files := from.files
		from.files = nil
		orders <- received{next, files}
	}
}

// fileReader reads a socket, and keeps the files that come with what it reads. They all belong to
// one order, since the next is sent only when that is answered.
type fileReader struct {
	conn  *net.UnixConn
	files []int
}

func (r *fileReader) Read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(taskFiles*4))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(p, oob)
	if err != nil {
		return 0, err // n may be negative
	}
	if n == 0 {
		return 0, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return n, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return n, err
		}
		r.files = append(r.files, fds...)
	}
	return n, nil
}
