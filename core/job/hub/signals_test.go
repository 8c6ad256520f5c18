package hub

import (
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// floodThreads sends SIGURG, which the runtime of Go sends its threads, too, to all threads of this
// process until the test ends.
func floodThreads(t *testing.T) {
	var stop atomic.Bool
	done := make(chan struct{})
	t.Cleanup(func() { stop.Store(true); <-done })
	go func() {
		defer close(done)
		for !stop.Load() {
			threads, _ := os.ReadDir("/proc/self/task")
			for range 100 {
				for _, thread := range threads {
					id, _ := strconv.Atoi(thread.Name())
					_ = unix.Tgkill(unix.Getpid(), id, unix.SIGURG)
				}
			}
		}
	}()
}

// A signal that comes while a hub looks whether a task's process lives ends no task.
func TestSignalsEndNoTask(t *testing.T) {
	const batch = 100
	floodThreads(t)
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		var links [batch]*link
		var theirs [batch]int
		for i := range links {
			mine, other, err := wire.Pair()
			if err != nil {
				t.Fatal(err)
			}
			theirs[i] = other
			if links[i], err = newLink(mine); err != nil {
				t.Fatal(err)
			}
			watchProcess(links[i])
		}
		time.Sleep(10 * time.Millisecond)
		for i, l := range links {
			ended := poll.Readable(theirs[i])
			if held := l.held(); ended || !held {
				t.Fatalf("a task that lives is taken for ended: %v, nobody has its socket: %v",
					ended, !held)
			}
			l.close()
			unix.Close(theirs[i])
		}
	}
}
