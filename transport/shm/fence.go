package shm

import (
	"sync"

	"golang.org/x/sys/unix"
)

const (
	membarrierGlobalExpedited         = 1 << 1 // MEMBARRIER_CMD_GLOBAL_EXPEDITED
	membarrierRegisterGlobalExpedited = 1 << 2
)

func membarrier(command uintptr) bool {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, command, 0, 0)
	return errno == 0
}

// fenceAll is a full fence in every thread of every registered process, where the kernel permits it.
func fenceAll() bool { return membarrier(membarrierGlobalExpedited) }

// CanFenceAll says whether fenceAll works when it is first asked. Who cannot tells the peers so, and they fence for themselves.
var CanFenceAll = sync.OnceValue(fenceAll)

// BeFenced registers this process with the kernel, so that peers' fenceAll reaches it. False: this process must store what peers
// look for with fences of its own; it cannot use the lane.
var BeFenced = sync.OnceValue(func() bool { return membarrier(membarrierRegisterGlobalExpedited) })

// lookAgainNs bounds the sleeps of a task that the peers do not fence for, though it cannot either: nanoseconds, longer than any processor
// keeps a store to itself.
const lookAgainNs = 10_000_000

// orderPeers is what lies between this task's store, of a word that says that it will not look, and its last look: whatever a peer stored
// before it loads that word is seen by the look, else the peer sees the word. False if it is not so: the program has installed a filter
// of system calls since the peers were told that they need not fence.
func (l *Link) orderPeers() bool {
	if l.fencing && !l.unordered && !l.fenceAll() {
		l.unordered = true
	}
	return !l.unordered
}
