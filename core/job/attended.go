package job

import (
	"fmt"
	"os"

	"lapi/core/job/wire"
)

// attended is a session of a task whose launcher's daemon on this node is watched: if the daemon is
// killed, nothing else ends the task. To watch the socket's end would not do, as MPI_Finalize
// closes the socket too.
type attended struct {
	Session
	watch   *watch
	process *os.File // of the daemon, readable when that has ended; nil: that was reported
	look    bool     // the session may have events that the watch does not show
}

const (
	tagSession = iota
	tagProcess
)

// daemonOf is the process that has made the other end of a launcher's socket: mpiexec.hydra's
// proxy, Slurm's step daemon. Nil: it is not visible here.
func daemonOf(socket int) *os.File {
	if wire.PeerPID(socket) == os.Getpid() {
		return nil
	}
	fd := wire.PeerProcess(socket)
	if fd < 0 {
		return nil
	}
	return os.NewFile(uintptr(fd), "launcher")
}

// attend watches that process for a session, which it closes if that fails.
func attend(s Session, process *os.File) (Session, error) {
	w, err := newWatch()
	if err == nil {
		if s.Descriptor() >= 0 {
			err = w.add(s.Descriptor(), tagSession)
		}
		if err == nil {
			err = w.add(int(process.Fd()), tagProcess)
		}
		if err == nil {
			return &attended{Session: s, watch: w, process: process, look: true}, nil
		}
		w.close()
	}
	s.Close()
	return nil, fmt.Errorf("watching the launcher: %w", err)
}

func (s *attended) Descriptor() int { return s.watch.fd }

// Exchange may keep events for Poll.
func (s *attended) Exchange(part Part) ([]Part, error) {
	s.look = true
	return s.Session.Exchange(part)
}

// Poll costs one system call if there is no event.
func (s *attended) Poll() (Event, bool) {
	if !s.look {
		switch tag, ok := s.watch.ready(); {
		case !ok:
			return Event{}, false
		case tag == tagProcess:
			s.watch.remove(int(s.process.Fd()))
			s.process = nil
			return Event{Kind: LauncherGone, Text: "its process on this node"}, true
		}
	}
	e, ok := s.Session.Poll()
	s.look = ok
	return e, ok
}

func (s *attended) Close() error {
	s.watch.close()
	return s.Session.Close()
}
