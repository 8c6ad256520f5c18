package lapi

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// sizes around every boundary: nothing, a slot, the copy size, a fragment, direct transfers.
var sizes = []int{0, 1, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 4095, 4096, 4097, 8192, 16383,
	16384, 16385, 65535, 65536, 65537, 300000}

func pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// overPaths runs f for two tasks over each path, with and without direct copies, and for one task
// to itself.
func overPaths(t *testing.T, f func(t *testing.T, j *testJob, tgt uint32)) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) { f(t, newJob(t, 2, env), 1) })
	}
	t.Run("shm without direct copies", func(t *testing.T) {
		j := newJob(t, 2, paths["shm"])
		for _, k := range j.tasks {
			for i := range k.peers {
				k.peers[i].SingleCopy = false
			}
		}
		f(t, j, 1)
	})
	t.Run("shm while all compute", func(t *testing.T) {
		j := newJob(t, 2, paths["shm"])
		noteAway(j, true)
		f(t, j, 1)
	})
	t.Run("self", func(t *testing.T) { f(t, newJob(t, 1, nil), 0) })
	t.Run("small datagrams", func(t *testing.T) {
		f(t, newJob(t, 2, map[string]string{"LAPI_USE_SHM": "no", "MP_UDP_PACKET_SIZE": "1024"}), 1)
	})
}

func TestPut(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, n := range sizes {
			src, dst := pattern(n, uint64(n)), make([]byte, n+1)
			var org, target, cmpl int32
			var from, to transport.Addr
			if n > 0 {
				from, to = at(&src[0]), at(&dst[0])
			}
			j.ok(j.tasks[0].Put(tgt, uint64(n), to, from, at(&target), at(&org), at(&cmpl)))
			j.until("the counters of a put", func() bool {
				return org == 1 && target == 1 && cmpl == 1
			})
			if !bytes.Equal(dst[:n], src) || dst[n] != 0 {
				t.Fatalf("put of %d bytes arrived damaged", n)
			}
		}
	})
}

// TestCompletionWaitsForTarget: however often the origin dispatches, target and completion counter
// stay until the target does.
func TestCompletionWaitsForTarget(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 2, env)
			for _, n := range []int{0, 8, 3000, 100000} { // whole, fragments, direct
				src, dst := pattern(n+1, 1), make([]byte, n+1)
				var warm, target, cmpl int32
				j.ok(j.tasks[0].Put(1, 0, 0, 0, 0, 0, at(&warm))) // the links have met
				j.until("a first put", func() bool { return warm == 1 })
				j.ok(j.tasks[0].Put(1, uint64(n), at(&dst[0]), at(&src[0]), at(&target), 0,
					at(&cmpl)))
				for range 200 {
					j.tasks[0].Dispatch(0)
				}
				if target != 0 || cmpl != 0 {
					t.Fatalf("put of %d bytes: target counter %d, completion counter %d before the target has done anything",
						n, target, cmpl)
				}
				j.until("the counters", func() bool { return target == 1 && cmpl == 1 })
			}
		})
	}
}

func TestGet(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, n := range sizes {
			src, dst := pattern(n, uint64(n)), make([]byte, n+1)
			var org, target int32
			var from, to transport.Addr
			if n > 0 {
				from, to = at(&src[0]), at(&dst[0])
			}
			j.ok(j.tasks[0].Get(tgt, uint64(n), from, to, at(&target), at(&org)))
			j.until("the counters of a get", func() bool { return org == 1 && target == 1 })
			if !bytes.Equal(dst[:n], src) || dst[n] != 0 {
				t.Fatalf("get of %d bytes arrived damaged", n)
			}
		}
	})
}

// TestAmsend covers every combination of user header and data sizes, with the handler refusing the
// message now and then.
func TestAmsend(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		const handler, completed = 0x1000, 0x2000
		k := j.tasks[tgt]
		var dst, uhdr []byte
		var drops, ran int
		k.handlers[completed] = func(info transport.Addr) { ran += int(info) }
		for i, n := range sizes {
			for _, h := range []int{0, 1, 4, 8, 100, 999, wire.MaxUhdrSize} {
				src, head := pattern(n, uint64(n)), pattern(h, uint64(h))
				dst, uhdr, drops, ran = make([]byte, n+1), nil, i%3, 0
				inline := (i+h)%2 == 0
				k.headers[handler] = func(c *headerCall, r *HeaderResult) {
					if drops > 0 {
						drops--
						r.CtlFlags = host.CtlDrop
						return
					}
					if c.MsgLen != uint64(n) || c.Src != 0 {
						t.Errorf("header handler got length %d from %d", c.MsgLen, c.Src)
					}
					uhdr = bytes.Clone(c.uhdr)
					r.Buffer, r.Completion, r.Info = at(&dst[0]), completed, 7
					if inline {
						r.RetFlags = host.RetSendReply
					}
				}
				var org, target, cmpl int32
				j.ok(j.tasks[0].Amsend(tgt, handler, addrOf(head), uint32(h), addrOf(src),
					uint64(n), at(&target), at(&org), at(&cmpl)))
				j.until("the counters of an active message", func() bool {
					return org == 1 && target == 1 && cmpl == 1
				})
				if !bytes.Equal(dst[:n], src) || dst[n] != 0 || !bytes.Equal(uhdr, head) ||
					ran != 7 || drops != 0 {
					t.Fatalf("active message of %d+%d bytes arrived damaged", h, n)
				}
			}
		}
	})
}

func addrOf(b []byte) transport.Addr {
	if len(b) == 0 {
		return 0
	}
	return at(&b[0])
}

func TestRmw(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		word, in, prev := uint64(5), [2]uint64{}, uint64(0)
		do := func(op uint32, a, b, wantPrev, wantWord uint64) {
			t.Helper()
			in = [2]uint64{a, b}
			var org int32
			prev = 99
			j.ok(j.tasks[0].Rmw(8, op, tgt, at(&word), at(&in[0]), at(&prev), at(&org)))
			j.until("the counter of a read-modify-write", func() bool { return org == 1 })
			if prev != wantPrev || word != wantWord {
				t.Fatalf("operation %d: previous %d word %d, want %d %d",
					op, prev, word, wantPrev, wantWord)
			}
		}
		do(wire.FetchAndAdd, 3, 0, 5, 8)
		do(wire.FetchAndOr, 7, 0, 8, 15)
		do(wire.Swap, 1<<40, 0, 15, 1<<40)
		do(wire.CompareAndSwap, 1, 2, 0, 1<<40)
		do(wire.CompareAndSwap, 1<<40, 2, 1, 2)
		var org int32
		j.ok(j.tasks[0].Rmw(8, wire.FetchAndAdd, tgt, at(&word), at(&in[0]), 0, at(&org)))
		j.until("a read-modify-write without previous value", func() bool { return org == 1 })
	})
}

// TestFenceCovers puts many messages under way and checks that after a fence all data is there,
// though no counter is used.
func TestFenceCovers(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(1, 2))
		for round := range 20 {
			const messages = 100
			var src, dst [messages][]byte
			for i := range messages {
				n := 1 + r.IntN(3000)
				if i%25 == 0 {
					n = 100000
				}
				src[i], dst[i] = pattern(n, uint64(i)), make([]byte, n)
				j.ok(j.tasks[0].Put(tgt, uint64(n), addrOf(dst[i]), addrOf(src[i]), 0, 0, 0))
			}
			id, code := j.tasks[0].FenceBegin()
			j.ok(code)
			j.until("a fence", func() bool { return j.tasks[0].tickets.Done(id) })
			j.ok(j.tasks[0].TicketResult(id))
			for i := range messages {
				if !bytes.Equal(src[i], dst[i]) {
					t.Fatalf("round %d: put %d of %d bytes not there after the fence",
						round, i, len(src[i]))
				}
			}
		}
	})
}

func TestCollectives(t *testing.T) {
	for name, env := range paths {
		for _, n := range []int{1, 2, 3, 5, 8} {
			t.Run(name, func(t *testing.T) {
				if n == 1 && name == "shm" {
					t.Skip(
						"skipped: one task shares no memory; self is covered by udp with one task")
				}
				j := newJob(t, n, env)
				for round := range 50 {
					tickets := make([]uint64, n)
					tables := make([][]uint64, n)
					for i, k := range j.tasks {
						var code codes.Code
						if round%3 == 0 {
							tickets[i], code = k.GfenceBegin()
						} else {
							tables[i] = make([]uint64, n)
							tickets[i], code = k.AddressInitBegin(uint64(round*100+i),
								at(&tables[i][0]), 8)
						}
						j.ok(code)
					}
					j.until("a collective", func() bool {
						for i, k := range j.tasks {
							if !k.tickets.Done(tickets[i]) {
								return false
							}
						}
						return true
					})
					for i, k := range j.tasks {
						j.ok(k.TicketResult(tickets[i]))
						for from, v := range tables[i] {
							if v != uint64(round*100+from) {
								t.Fatalf("round %d: task %d has %d from task %d", round, i, v, from)
							}
						}
					}
				}
			})
		}
	}
}

// TestSmallBuffersAreFree: data up to BUF_CP_SIZE may be overwritten on return, however much is
// under way.
func TestSmallBuffersAreFree(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		const messages = 5000
		dst := make([]uint64, messages)
		var word uint64
		for i := range messages {
			word = uint64(i) + 1
			j.ok(j.tasks[0].Put(tgt, 8, at(&dst[i]), at(&word), 0, 0, 0))
			word = 0
		}
		id, _ := j.tasks[0].FenceBegin()
		j.until("a fence", func() bool { return j.tasks[0].tickets.Done(id) })
		for i := range messages {
			if dst[i] != uint64(i)+1 {
				t.Fatalf("word %d is %d", i, dst[i])
			}
		}
	})
}

// TestSteadyStateAllocatesNothing covers put, get, active message and read-modify-write of 8 bytes.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		const handler = 0x1000
		var src, dst, in, prev uint64
		var org, want int32
		j.tasks[tgt].headers[handler] = func(_ *headerCall, r *HeaderResult) { r.Buffer = at(&dst) }
		k := j.tasks[0]
		once := func() {
			want += 4
			k.Put(tgt, 8, at(&dst), at(&src), 0, 0, at(&org))
			k.Get(tgt, 8, at(&dst), at(&src), 0, at(&org))
			k.Amsend(tgt, handler, 0, 0, at(&src), 8, 0, 0, at(&org))
			k.Rmw(8, wire.FetchAndAdd, tgt, at(&dst), at(&in), at(&prev), at(&org))
			for org < want {
				for _, k := range j.tasks {
					k.Dispatch(0)
				}
			}
		}
		for range 100 {
			once()
		}
		if n := testing.AllocsPerRun(200, once); n >= 1 {
			t.Errorf("%.1f allocations for four operations", n)
		}
	})
}
