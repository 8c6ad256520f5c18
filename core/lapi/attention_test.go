package lapi

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/layout"
)

// said says whether a task printed the message of an attention code.
func (k *testTask) said(code codes.Code) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, _ := codes.String(int(code))
	for _, m := range k.messages {
		if strings.Contains(m, fmt.Sprintf("%d: %s", code, text)) {
			return true
		}
	}
	return false
}

func TestStartIsAnnounced(t *testing.T) {
	for _, k := range newJob(t, 2, paths["udp"]).tasks {
		if !k.said(codes.AttVersion) || !k.said(codes.AttPortStart) {
			t.Errorf("task %d: no version or no port in %q", k.me, k.messages)
		}
	}
	for _, k := range newJob(t, 2, paths["shm"]).tasks {
		if !k.said(codes.AttVersion) || k.said(codes.AttPortStart) {
			t.Errorf("task %d: no version, or a port although there is none, in %q",
				k.me, k.messages)
		}
	}
}

// Each level of MP_INFOLEVEL from 2 to 6 says something that those below do not.
func TestEachLevelAdds(t *testing.T) {
	for path, marks := range map[string]map[int]string{
		"udp": {2: "built ", 3: "by UDP/IP: 1;", 4: "task 1 is reached by UDP/IP at ",
			5: "UDP/IP: packets sent ", 6: "yields "},
		"shm": {2: "built ", 3: "by shared memory: 1,", 4: "task 1 is reached by shared memory",
			5: "shared memory: packets sent ", 6: "yields "},
	} {
		env := maps.Clone(paths[path])
		env["MP_INFOLEVEL"] = "4"
		j := newJob(t, 2, env)
		j.exercise(1, 0)
		j.settle()
		k := j.tasks[0]
		k.ended = true
		k.TermEnd()
		for level, mark := range marks {
			found := false
			for i, m := range k.messages {
				found = found || k.levels[i] == level && strings.Contains(m, mark)
			}
			if !found {
				t.Errorf("%s: nothing at level %d has %q in %q", path, level, mark, k.messages)
			}
		}
	}
}

// The udp link's own tests say when it reports a time-out; this tests what follows from it.
func TestTimeout(t *testing.T) {
	k := newJob(t, 2, paths["udp"]).tasks[0]
	k.peerFailed(1, transport.ErrTimeout)
	k.peerFailed(1, transport.ErrTimeout)
	e, ok := k.NextError()
	if !ok || e.Code != codes.ErrTimeout || e.Type != codes.IntErr || e.Task != 0 || e.Of != 1 {
		t.Errorf("error event %+v, %v", e, ok)
	}
	if e, ok = k.NextError(); ok {
		t.Errorf("a second event for one failure: %+v", e)
	}
	if !k.said(codes.AttCommTimeout) {
		t.Errorf("no message in %q", k.messages)
	}
}

// A time-out names the kind of the latest operation, also where no counter waits for it.
func TestTimeoutKind(t *testing.T) {
	for kind, begin := range map[codes.ErrType]func(k *testTask, a transport.Addr) codes.Code{
		codes.PutErr: func(k *testTask, a transport.Addr) codes.Code {
			return k.Put(1, 8, a, a, 0, 0, 0)
		},
		codes.GetErr: func(k *testTask, a transport.Addr) codes.Code {
			return k.Get(1, 8, a, a, 0, 0)
		},
		codes.AmErr: func(k *testTask, a transport.Addr) codes.Code {
			return k.Amsend(1, 1, 0, 0, a, 8, 0, 0, 0)
		},
		codes.RmwErr: func(k *testTask, a transport.Addr) codes.Code {
			return k.Rmw(4, wire.FetchAndAdd, 1, a, a, 0, 0)
		},
	} {
		k := newJob(t, 2, paths["udp"]).tasks[0]
		if code := begin(k, at(new(uint64))); code != codes.Success {
			t.Fatal(codes.Name(code))
		}
		k.peerFailed(1, transport.ErrTimeout)
		if e, ok := k.NextError(); !ok || e.Type != kind || e.Code != codes.ErrTimeout {
			t.Errorf("%v: error event %+v, %v", kind, e, ok)
		}
	}
}

// fileless is a session whose peer sends this task's own card, without the files.
type fileless struct{ *seat }

func (fileless) Exchange(p job.Part) ([]job.Part, error) {
	return []job.Part{{}, {Data: p.Data}}, nil
}

func TestSegmentThatCannotBeAttached(t *testing.T) {
	k := newTestTask()
	vars := map[string]string{"MP_MSG_API": "lapi", "MP_CHILD": "0", "MP_PROCS": "2",
		"MP_PARTITION": "test", "LAPI_USE_SHM": "only", "MP_COMMON_TASKS": "1:1"}
	_, code := New(&Options{Shared: new(layout.Context), Host: k, Instance: 1,
		Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Hooks: wireup.Hooks{OpenSession: func(*job.Config, int) (job.Session, error) {
			return fileless{new(seat)}, nil
		}}})
	if code != codes.ErrShmSetup {
		t.Errorf("code %d", code)
	}
	if !k.said(codes.AttShmAttFail) {
		t.Errorf("no message in %q", k.messages)
	}
}
