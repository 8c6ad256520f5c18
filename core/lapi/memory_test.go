package lapi

import (
	"fmt"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/wireup"
	"lapi/tests/heap"
	"lapi/transport/layout"
)

// crowd is a job.Session of more tasks than this process could hold: each has the card of the only
// task that is there.
type crowd struct {
	seat
	tasks int
}

func (s *crowd) Exchange(p job.Part) ([]job.Part, error) {
	parts := make([]job.Part, s.tasks)
	for i := range parts {
		if i != s.me {
			parts[i] = job.Part{Data: append([]byte(nil), p.Data...)}
		}
	}
	return parts, nil
}

func (s *crowd) Poll() (job.Event, bool) { return job.Event{}, false }

// inCrowd is the context of task 0 of n, of which the others are not there.
func inCrowd(t *testing.T, n int) *testTask {
	k := newTestTask()
	vars := map[string]string{"MP_MSG_API": "lapi", "MP_CHILD": "0", "MP_PROCS": fmt.Sprint(n),
		"MP_PARTITION": "test", "MP_LAPI_INET_ADDR": "@1:127.0.0.1,lo", "LAPI_USE_SHM": "no"}
	var code codes.Code
	k.Context, code = New(&Options{Shared: new(layout.Context), Host: k, Instance: 1,
		Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Hooks: wireup.Hooks{
			Key: func(*job.Config) ([]byte, bool, error) {
				return []byte("a key that all tasks of this job have"), true, nil
			},
			OpenSession: func(c *job.Config, _ int) (job.Session, error) {
				c.Launched = true
				return &crowd{tasks: n}, nil
			},
		}})
	if code != codes.Success {
		t.Fatalf("LAPI_Init: %s %q", codes.Name(code), k.messages)
	}
	return k
}

// TestMemoryOfPeers: a task holds little for each of the others that it never talks to.
func TestMemoryOfPeers(t *testing.T) {
	if !heap.Alone(t) {
		return
	}
	held := func(n int) int64 {
		before := heap.InUse()
		k := inCrowd(t, n)
		defer k.TermEnd()
		return heap.InUse() - before
	}
	const n = 16384
	held(2) // what is made once for the process
	small, large := held(2), held(n)
	each := (large - small) / n
	t.Logf("%d bytes for each of %d tasks", each, n)
	if each > 200 {
		t.Error("more than 200")
	}
}
