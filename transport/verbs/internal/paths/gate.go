package paths

import (
	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

// The gate is one descriptor that stands for those of all adapters: these change when an adapter is
// opened again, while a waiting thread has asked for the link's descriptors once.

// openGate makes the descriptor that stands for those of all adapters, where these can change.
func (s *Set) openGate() (err error) {
	if s.cfg.Reopen == nil {
		return nil
	}
	if s.gate, err = descriptor.Own(descriptor.Epoll()); err != nil {
		return err
	}
	for _, pt := range s.ports {
		s.watch(pt)
	}
	return nil
}

func (s *Set) closeGate() {
	if s.gate > 0 {
		_ = unix.Close(s.gate)
		s.gate = 0
	}
}

// watch has the gate become readable when pt's adapter has something.
func (s *Set) watch(pt *Port) {
	for _, file := range pt.adapter.Files() {
		if s.gate > 0 {
			// It fails for lack of memory only; then Arm's look and the timers remain.
			_ = unix.EpollCtl(s.gate, unix.EPOLL_CTL_ADD, file,
				&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(file)})
		}
	}
}

// unwatch ends that. A file of an adapter that is gone is readable for ever.
func (s *Set) unwatch(pt *Port) {
	for _, file := range pt.adapter.Files() {
		if s.gate > 0 {
			_ = unix.EpollCtl(s.gate, unix.EPOLL_CTL_DEL, file, nil)
		}
	}
}
