package lapi

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport/layout"
)

// The context block's words that C threads sleep on are futexes of this process only.
const futexWake = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG

func wake(word *uint32, n int) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(n), 0, 0, 0)
}

// noteEvent publishes that a counter, message state or ticket changed. cshim_notify, which every entry point calls before it lets go
// of the lock, sees the number change and wakes whose wait is over (cshim/progress/sleep.c).
func noteEvent(s *layout.Context) { atomic.AddUint32(&s.Progress.EventSeq, 1) }

// noteCompletion tells a handler thread of one more queued completion handler (cshim/handlers/completion.c).
func noteCompletion(s *layout.Context) {
	atomic.AddUint32(&s.CompletionSeq, 1)
	wake(&s.CompletionSeq, 1)
}

// kick ends the sleep of the poller, if any.
func kick(s *layout.Context) {
	if p := &s.Progress; atomic.LoadUint32(&p.Poller) != 0 {
		one := [8]byte{1}
		unix.RawSyscall(unix.SYS_WRITE, uintptr(p.Descriptors[0]), uintptr(unsafe.Pointer(&one[0])), 8)
	}
}

// openShared fills the block's constants and its descriptors: an eventfd of this process, then the links' and the session's.
func openShared(s *layout.Context, task, numTasks, spin, yield int, descriptors []int) error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return err
	}
	s.Task, s.NumTasks = int32(task), int32(numTasks)
	p := &s.Progress
	p.SpinCalls, p.Yields = uint32(spin), uint32(yield)
	p.Descriptors[0] = int32(fd)
	p.NumDescriptors = 1
	for _, d := range descriptors {
		if d >= 0 && int(p.NumDescriptors) < len(p.Descriptors) {
			p.Descriptors[p.NumDescriptors] = int32(d)
			p.NumDescriptors++
		}
	}
	setInterrupt(s, true)
	return nil
}

func closeShared(s *layout.Context) {
	p := &s.Progress
	if p.NumDescriptors > 0 {
		unix.Close(int(p.Descriptors[0]))
	}
	p.NumDescriptors = 0
}

func setInterrupt(s *layout.Context, on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	atomic.StoreUint32(&s.Progress.Interrupts, v)
}
