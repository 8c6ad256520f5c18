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

// fenceAll is a full fence in every thread of every registered process, where the kernel permits it: CanFenceAll. Who cannot tells
// the peers so, and they fence for themselves.
func fenceAll() { membarrier(membarrierGlobalExpedited) }

// CanFenceAll says whether fenceAll works.
var CanFenceAll = sync.OnceValue(func() bool { return membarrier(membarrierGlobalExpedited) })

// BeFenced registers this process with the kernel, so that peers' fenceAll reaches it. False: this process must store what peers
// look for with fences of its own; it cannot use the lane.
var BeFenced = sync.OnceValue(func() bool { return membarrier(membarrierRegisterGlobalExpedited) })
