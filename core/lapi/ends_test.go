package lapi

import (
	"bytes"
	"runtime"
	"testing"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/counter"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// The cells of the table in docs/dev/ends.md: what waits for a peer, and how that ends.

// ending is a job of two tasks, of which task 1 ends while task 0 waits for it.
type ending struct {
	*testJob
	k           *testTask
	column      string
	word, other [4]uint64
	cntr        int32 // the counter that must not change
	sent        int   // calls of the send completion handler
}

// ends are the columns.
var ends = map[string]func(e *ending){
	"left":  func(e *ending) { e.tasks[1].leave() },
	"ended": func(e *ending) { tellEnd(e.k, 1); e.later(latePatience) },
	"killed": func(e *ending) {
		tell(e.k, job.Event{Kind: job.TaskDied, Task: 1, Text: "was killed"})
	},
}

// later puts task 0's clock forward.
func (e *ending) later(ns int64) {
	clock := e.k.clock
	e.k.clock = func() int64 { return clock() + ns }
}

// xfer begins a transfer whose send completion handler counts its calls.
func (e *ending) xfer(kind uint32, x Transfer) codes.Code {
	e.k.sends[0x500] = func(transport.Addr, int32, codes.Code) { e.sent++ }
	x.Tgt, x.Handler = 1, 0x500
	return e.k.Xfer(kind, &x)
}

// operation is one of leftOperations.
func operation(name string) func(e *ending) codes.Code {
	return func(e *ending) codes.Code {
		return leftOperations[name](e.k, &e.word[0], &e.other[0], &e.cntr)
	}
}

// underWay are the rows of operations.
var underWay = map[string]func(e *ending) codes.Code{
	"put": operation("put"),
	"am":  operation("am"),
	"get": operation("get"),
	"rmw": operation("rmw"),
	"putv": func(e *ending) codes.Code {
		from := describe(wire.VectorStrided, 2, []uint64{uint64(at(&e.other[0])), 8, 16}, nil)
		to := describe(wire.VectorStrided, 2, []uint64{uint64(at(&e.word[0])), 8, 16}, nil)
		defer runtime.KeepAlive([]any{from, to})
		return e.k.Xfer(XferPutv, &Transfer{Tgt: 1, OrgAddr: from.at(), TgtAddr: to.at(),
			CmplCntr: at(&e.cntr), Flags: UseTgtVecType})
	},
	"send handler, put": func(e *ending) codes.Code {
		return e.xfer(XferPut, Transfer{N: 8, OrgAddr: at(&e.other[0]), TgtAddr: at(&e.word[0]),
			CmplCntr: at(&e.cntr)})
	},
	"send handler, am": func(e *ending) codes.Code {
		return e.xfer(XferAm, Transfer{N: 8, OrgAddr: at(&e.other[0]), HdrHdl: 0x1000,
			CmplCntr: at(&e.cntr)})
	},
}

// eachEnd runs a row of the table: each column over each path.
func eachEnd(t *testing.T, row func(t *testing.T, e *ending, end func(e *ending))) {
	for path, env := range paths {
		for column, end := range ends {
			t.Run(column+", "+path, func(t *testing.T) {
				e := &ending{testJob: newJob(t, 2, env), column: column}
				e.k = e.tasks[0]
				e.ok(e.k.Put(1, 8, at(&e.word[0]), at(&e.other[0]), 0, 0, 0)) // a connection
				e.fence(0)
				row(t, e, end)
			})
		}
	}
}

// fences waits for one of task 0's.
func (e *ending) fences(t *testing.T, id uint64, want codes.Code) {
	t.Helper()
	e.until1(e.k, "the fence", func() bool { return e.k.tickets.Done(id) })
	if code := e.k.TicketResult(id); code != want {
		t.Errorf("fence: %s, want %s", codes.Name(code), codes.Name(want))
	}
}

// reported says that task 0's error handler is called once, and that a later operation fails.
func (e *ending) reported(t *testing.T) {
	t.Helper()
	e.until1(e.k, "the error", func() bool { return e.k.faults.Pending() > 0 })
	if all := e.k.events(); len(all) != 1 || all[0].Code != codes.ErrNoConnectivity ||
		all[0].Of != 1 {
		t.Errorf("errors %+v", all)
	}
	if code := underWay["put"](e); code != codes.ErrNoConnectivity {
		t.Errorf("a later put returns %s", codes.Name(code))
	}
	if all := e.k.events(); len(all) != 0 || e.cntr != 0 {
		t.Errorf("errors %+v, and the counter is %d", all, e.cntr)
	}
}

// TestEndDuringOperation: an operation under way with the peer ends with one error, no counter of
// it changes, and its send completion handler runs once. The next fence reports the loss, the one
// after it does not.
func TestEndDuringOperation(t *testing.T) {
	for name, begin := range underWay {
		t.Run(name, func(t *testing.T) {
			eachEnd(t, func(t *testing.T, e *ending, end func(e *ending)) {
				e.ok(begin(e))
				end(e)
				e.reported(t)
				for _, want := range []codes.Code{codes.ErrNoConnectivity, codes.Success} {
					id, code := e.k.FenceBegin()
					e.ok(code)
					e.fences(t, id, want)
				}
				if e.k.sends[0x500] != nil && e.sent != 1 {
					t.Errorf("%d calls of the send completion handler", e.sent)
				}
			})
		})
	}
}

// TestEndAfterCompletion: an operation whose counter has changed is over, so a fence after the
// peer's end returns success, and only a peer that did not leave by itself is an error.
func TestEndAfterCompletion(t *testing.T) {
	for name, begin := range underWay {
		t.Run(name, func(t *testing.T) {
			eachEnd(t, func(t *testing.T, e *ending, end func(e *ending)) {
				e.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
					r.Buffer = at(&e.word[0])
				}
				e.ok(begin(e))
				e.until("its completion", func() bool { return e.cntr == 1 })
				end(e)
				id, code := e.k.FenceBegin()
				e.ok(code)
				e.fences(t, id, codes.Success)
				p := &e.k.peers[1]
				e.until1(e.k, "the end", func() bool { return p.Dead() || e.k.hasLeft(p) })
				all := e.k.events()
				if (len(all) == 1) != (e.column == "killed") || len(all) > 1 {
					t.Errorf("errors %+v", all)
				}
			})
		})
	}
}

// TestDataInPlaceIsNotLost: task 1 is killed before it takes the notice of a single copy, which has
// moved all data, so the next fence returns success.
func TestDataInPlaceIsNotLost(t *testing.T) {
	for name, begin := range map[string]func(e *ending, there, here []byte){
		"putv": func(e *ending, there, here []byte) {
			half := uint64(len(here) / 2)
			from := describe(wire.VectorStrided, 2, []uint64{uint64(at(&here[0])), half, half}, nil)
			to := describe(wire.VectorStrided, 2, []uint64{uint64(at(&there[0])), half, half}, nil)
			defer runtime.KeepAlive([]any{from, to})
			e.ok(e.k.Putv(1, to.at(), from.at(), false, 0, 0, 0, handlers.Callback{}))
			e.until1(e.k, "the put", func() bool { return bytes.Equal(there, here) })
		},
		"am, fetched by its target": func(e *ending, there, here []byte) {
			e.k.headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = at(&there[0]) }
			n := uint64(len(here))
			e.ok(e.tasks[1].Amsend(0, 0x1000, 0, 0, at(&here[0]), n, at(&e.cntr), 0, 0))
			e.until1(e.k, "the message", func() bool { return e.cntr == 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &ending{testJob: newJob(t, 2, paths["shm"]).compute()}
			if e.k = e.tasks[0]; !e.k.peers[1].SingleCopy {
				t.Skip("skipped: no single copies")
			}
			there, here := make([]byte, longTransfer), bytes.Repeat([]byte{7}, longTransfer)
			begin(e, there, here)
			ends["killed"](e)
			id, code := e.k.FenceBegin()
			e.ok(code)
			e.fences(t, id, codes.Success)
		})
	}
}

// TestEndDuringFence: a fence that covers an operation under way returns the loss.
func TestEndDuringFence(t *testing.T) {
	eachEnd(t, func(t *testing.T, e *ending, end func(e *ending)) {
		e.ok(underWay["rmw"](e))
		id, code := e.k.FenceBegin()
		e.ok(code)
		end(e)
		e.fences(t, id, codes.ErrNoConnectivity)
		e.reported(t)
	})
}

// TestEndDuringCollective: a collective call ends, as does a later one.
func TestEndDuringCollective(t *testing.T) {
	for name, begin := range map[string]func(k *testTask) (uint64, codes.Code){
		"gfence": func(k *testTask) (uint64, codes.Code) { return k.GfenceBegin() },
		"address_init": func(k *testTask) (uint64, codes.Code) {
			return k.AddressInitBegin(1, at(new([2]uint64)), 8)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEnd(t, func(t *testing.T, e *ending, end func(e *ending)) {
				id, code := begin(e.k)
				e.ok(code)
				end(e)
				e.fences(t, id, codes.ErrNoConnectivity)
				e.reported(t)
				if _, code := begin(e.k); code != codes.ErrNoConnectivity {
					t.Errorf("a later one returns %s", codes.Name(code))
				}
			})
		})
	}
}

// TestEndDuringNopollWait: threads in LAPI_Nopoll_wait are to look, and the loss concerns a
// counter, once.
func TestEndDuringNopollWait(t *testing.T) {
	eachEnd(t, func(t *testing.T, e *ending, end func(e *ending)) {
		e.ok(underWay["rmw"](e))
		end(e)
		e.until1(e.k, "the error", func() bool { return e.k.faults.Pending() > 0 })
		if !e.k.TakeLoss() {
			t.Error("waiting threads are not woken")
		}
		for i, want := range []int{counter.Purged, counter.Unlisted} {
			if got := e.k.CounterPurged(at(&e.cntr)); got != want {
				t.Errorf("asked %d times: %d, want %d", i+1, got, want)
			}
		}
	})
}
