package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Other programs on the machine spoil a result as surely as a slow state of its memory does. Their
// processor time during a trial is that of all processes less that of the trial itself.

const (
	// tick is the unit of /proc/stat on Linux.
	tick = 10 * time.Millisecond
	// lookFor is how long a look at the machine takes: a few ticks of each processor.
	lookFor = 60 * time.Millisecond
)

// busyTime is how long all processors together have worked since the machine started; 0 if the
// kernel does not tell.
func busyTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseBusy(string(text))
}

// parseBusy adds up the first line of /proc/stat, without idle and waiting time.
func parseBusy(text string) time.Duration {
	line, _, _ := strings.Cut(text, "\n")
	var user, nice, system, idle, wait, irq, soft, steal int64
	if n, _ := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait,
		&irq, &soft, &steal); n != 8 {
		return 0
	}
	return time.Duration(user+nice+system+irq+soft+steal) * tick
}

// othersCores is how many processors others used on average: busy is what all processors worked
// during elapsed, own what the trial did. Two ticks are within the resolution.
func othersCores(busy, own, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return max(0, float64(busy-own-2*tick)/float64(elapsed))
}

// waitQuiet waits until the machine is quiet, at most an eighth of *patience, from which it takes
// what it used: so a long busy phase leaves some for later trials.
func waitQuiet(ctx context.Context, patience *time.Duration) {
	for least := *patience * 7 / 8; *patience > least && ctx.Err() == nil; {
		start, busy := time.Now(), busyTime()
		time.Sleep(lookFor)
		elapsed := time.Since(start)
		if float64(busyTime()-busy) <= quietCores*float64(elapsed)+float64(tick) {
			return
		}
		*patience -= elapsed
	}
}

// quietCores is how much of a processor others may use while the machine counts as quiet. A
// variable for tests.
var quietCores = 0.15
