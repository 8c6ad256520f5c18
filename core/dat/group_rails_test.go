package dat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// railed is members on adapters, each alone on its node.
func railed(t testing.TB, f *fake.Fabric, seed uint64, n int, short bool) (*world, []*simMember) {
	w := newWorldOver(t, f, seed, n, lossy)
	for _, p := range w.procs {
		p.l.groups.short = short
	}
	return w, w.membersOfAdapters(n, false)
}

// device is the adapter of a process.
func (p *proc) device() *fake.Device { return p.l.devices[0].d.(*fake.Device) }

// post posts an operation as C does.
func (m *simMember) post(a *coll.Args) codes.Return {
	if !m.g.short() {
		return m.g.Post(a)
	}
	span := func(s coll.Span) layout.DatSpan { return layout.DatSpan{Addr: uint64(s.Addr), N: s.N} }
	o := layout.DatGroupOp{Kind: uint32(a.Kind), Root: uint32(a.Root), Op: uint32(a.Op),
		Type: uint32(a.Type), Context: a.Context, N: a.Send.One.N, Send: span(a.Send.One),
		Recv: span(a.Recv.One), Check: a.Check | uint64(a.Kind), SendStride: a.Send.Stride,
		RecvStride: a.Recv.Stride}
	if a.Kind == coll.SetClock {
		o.N = a.Clock
	}
	if !m.g.view.Enqueue(&o) {
		return codes.InsufficientResources.With(codes.ResourceMemory)
	}
	m.p.l.Push()
	return codes.Success
}

// at is a place of the process's memory.
func (p *proc) at(at int) transport.Addr { return memory.AddrOf(p.memory) + transport.Addr(at) }

// number is the number at a place of the member's memory.
func (m *simMember) number(at int) uint64 { return binary.LittleEndian.Uint64(m.p.memory[at:]) }

// broadcast is one of n bytes at a place, of which the first 8 are value at the root.
func (m *simMember) broadcast(rank, root, n, at int, value uint64) *coll.Args {
	clear(m.p.memory[at : at+n])
	if rank == root {
		binary.LittleEndian.PutUint64(m.p.memory[at:], value)
		binary.LittleEndian.PutUint64(m.p.memory[at+n-8:], value)
	}
	return &coll.Args{Kind: coll.Broadcast, Root: root, Check: uint64(n)<<32 | uint64(root)<<8,
		Send: coll.Parts{One: coll.Span{Addr: m.p.at(at), N: uint64(n)}}}
}

// TestRailsCarryOperations: with members on adapters of several nodes, operations of each length
// have the right results by RDMA, whichever engine does the short ones; queue pairs lead only to
// members a power of two away; and after the end of the groups nothing is left.
func TestRailsCarryOperations(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8} {
		for _, short := range []bool{false, true} {
			for _, late := range []bool{false, true} {
				if late && n > 4 {
					continue
				}
				t.Run(fmt.Sprintf("%d,short=%v,late=%v", n, short, late), func(t *testing.T) {
					f := fake.New()
					if late {
						f = fake.NewRandom(uint64(n))
					}
					w, list := railed(t, f, uint64(n), n, short)
					left := list[0].p.device().Left()
					w.group(list, 5)
					for _, m := range list {
						if most := 2 * bits.Len(uint(n-1)); m.p.device().Pairs() > most {
							t.Errorf("%d queue pairs, %d would do", m.p.device().Pairs(), most)
						}
						if m.g.rails == nil || m.g.short() != short {
							t.Fatalf("rails %v, short %v", m.g.rails != nil, m.g.short())
						}
					}
					w.operations(list)
					for _, m := range list {
						if m.p.device().Moved() == 0 {
							t.Error("nothing went by RDMA")
						}
						if d := m.p.device(); d.Regions() != 1+d.Pairs() { // the LMR, rails
							t.Errorf("%d regions after the operations", d.Regions())
						}
						if m.p.device().Pairs() != n-1 { // of the alltoall
							t.Errorf("%d queue pairs after an alltoall", m.p.device().Pairs())
						}
					}
					w.freeAll(list, left)
				})
			}
		}
	}
}

// exchangeMax is the size of the longest part of an alltoall.
const exchangeMax = 20 << 10

// exchange is an alltoall within b, of parts of size bytes, that each begin with a number of the pair:
// the first half of b is sent.
func exchange(b []byte, rank, n, size int) *coll.Args {
	for k := range n {
		binary.LittleEndian.PutUint64(b[k*size:], uint64(rank*n+k+1))
	}
	half := func(at int) coll.Parts {
		return coll.Parts{One: coll.Span{Addr: memory.AddrOf(b) + transport.Addr(at), N: uint64(size)}}
	}
	return &coll.Args{Kind: coll.Alltoall, Check: uint64(size) << 32, Send: half(0),
		Recv: half(len(b) / 2)}
}

// rooms is memory of each member for exchange.
func (w *world) rooms(n int) (list [][]byte) {
	for range n {
		b, err := arena.Map(2 * n * exchangeMax)
		if err != nil {
			w.t.Fatal(err)
		}
		w.memory, list = append(w.memory, b), append(list, b)
	}
	return list
}

// operations posts many operations, short and long ones in turn, and checks them all.
func (w *world) operations(list []*simMember) {
	w.t.Helper()
	n, kinds := len(list), []coll.Kind{}
	rooms := w.rooms(n)
	post := func(kind coll.Kind, of func(i int, m *simMember) *coll.Args) {
		kinds = append(kinds, kind)
		for i, m := range list {
			w.must("post", m.post(of(i, m)))
		}
	}
	const short, long, third = 0, 1 << 14, 3 << 16
	rounds := 40 // messages of a rail pass its slots more than once
	if n > 4 {
		rounds = 12
	}
	for round := range rounds {
		post(coll.Barrier, func(int, *simMember) *coll.Args { return &coll.Args{Kind: coll.Barrier} })
		post(coll.Allreduce, func(i int, m *simMember) *coll.Args { return m.sum(i, 1, short) })
		if round%8 == 0 {
			post(coll.Allreduce, func(i int, m *simMember) *coll.Args { return m.sum(i, 5000, long) })
			post(coll.SetClock, func(int, *simMember) *coll.Args {
				return &coll.Args{Kind: coll.SetClock, Clock: uint64(round) << 40}
			})
		}
		if round == 1 {
			for _, size := range []int{8, exchangeMax} {
				post(coll.Alltoall, func(i int, _ *simMember) *coll.Args {
					return exchange(rooms[i], i, n, size)
				})
			}
		}
		root := round % n
		post(coll.Broadcast, func(i int, m *simMember) *coll.Args {
			return m.broadcast(i, root, 8+round*512, third, uint64(round+7))
		})
		for _, kind := range kinds {
			for _, m := range list {
				w.collective(m, uint32(kind), 0)
			}
		}
		kinds = kinds[:0]
		if round == 1 {
			for i, b := range rooms {
				for k := range n {
					at := b[len(b)/2+k*exchangeMax:]
					if got := binary.LittleEndian.Uint64(at); got != uint64(k*n+i+1) {
						w.t.Fatalf("member %d of %d has %d of member %d", i, n, got, k)
					}
				}
			}
		}
		for i, m := range list {
			for _, at := range []int{third, third + round*512} {
				if got := m.number(at); got != uint64(round+7) {
					w.t.Fatalf("member %d of %d, broadcast %d of %d: %d", i, n, root, round, got)
				}
			}
			if got := m.number(short + 8); got != uint64(n*(n+1)/2) {
				w.t.Fatalf("member %d of %d: the sum is %d", i, n, got)
			}
			if got := m.number(long + 8*5000 + 8*4999); got != uint64(n*(n+1)/2) {
				w.t.Fatalf("member %d of %d: the last of the long sum is %d", i, n, got)
			}
		}
	}
}

// TestRailsRefused: where the adapter of some member makes no queue pair, registers no staging memory
// or does not connect, the group goes by UDP at all members, and no queue pair is left.
func TestRailsRefused(t *testing.T) {
	for _, call := range []string{fake.Create, fake.Register, fake.Open, fake.Connect, "AllocPD"} {
		t.Run(call, func(t *testing.T) {
			w, list := railed(t, fake.New(), 2, 4, true)
			list[2].p.device().Refuse[call] = unix.ENOMEM
			w.group(list, 5)
			for _, m := range list {
				if m.g.rails != nil || m.p.device().Pairs() > 0 {
					t.Errorf("rails %v, %d queue pairs", m.g.rails != nil, m.p.device().Pairs())
				}
			}
			w.operations(list)
		})
	}
}

// TestRailsOfAlltoallRefused: where a member makes no more queue pairs for an alltoall, its messages
// to those without one go by UDP, and the others' by rails.
func TestRailsOfAlltoallRefused(t *testing.T) {
	w, list := railed(t, fake.New(), 2, 8, true)
	w.group(list, 5)
	before := list[2].p.device().Pairs()
	list[2].p.device().Refuse[fake.Create] = unix.ENOMEM
	w.operations(list)
	for i, m := range list {
		if got := m.p.device().Pairs(); i == 2 && got != before || i != 2 && got != 7 {
			t.Errorf("member %d has %d queue pairs", i, got)
		}
	}
}

// TestRailsWithoutRegistration: memory of the program that the adapter does not register, at the
// sender or at the receiver, goes in parts.
func TestRailsWithoutRegistration(t *testing.T) {
	for at := range 2 {
		w, list := railed(t, fake.New(), 3, 2, false)
		w.group(list, 5)
		list[at].p.device().Refuse[fake.Register] = unix.ENOMEM
		w.operations(list)
	}
}

// TestRailFails: a queue pair fails in an operation, with the peer alive. The operation and all later
// ones fail, at all members, and none hangs; the group's objects are given back.
func TestRailFails(t *testing.T) {
	for _, short := range []bool{false, true} {
		for _, count := range []int{1, 5000} {
			t.Run(fmt.Sprintf("short=%v,%d", short, count), func(t *testing.T) {
				w, list := railed(t, fake.New(), 4, 4, short)
				left := list[0].p.device().Left()
				w.group(list, 5)
				list[1].p.device().Fail = func(work *ibv.Work) ibv.Status {
					if work.Op == ibv.OpWrite {
						return ibv.RetryExcErr
					}
					return ibv.Success
				}
				for i, m := range list {
					w.must("allreduce", m.post(m.sum(i, count, 0)))
					w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier, Suppress: true}))
				}
				for _, m := range list {
					w.collective(m, uint32(coll.Allreduce), 2)
					w.collective(m, uint32(coll.Barrier), 2)
					w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
					w.collective(m, uint32(coll.Barrier), 2)
				}
				list[1].p.device().Fail = nil
				w.freeAll(list, left)
			})
		}
	}
}

// TestRailCQFails: the completion queues of a member's adapter fail, so completions are lost, and the
// adapter reports it. Operations that need these fail at all members, and none hangs.
func TestRailCQFails(t *testing.T) {
	for _, short := range []bool{false, true} {
		for _, count := range []int{1, 5000} {
			t.Run(fmt.Sprintf("short=%v,%d", short, count), func(t *testing.T) {
				w, list := railed(t, fake.New(), 4, 4, short)
				left := list[0].p.device().Left()
				w.group(list, 5)
				list[1].p.device().OverrunCQs()
				failed := 0
				for op := 0; op < 400 && failed < len(list); op++ {
					for i, m := range list {
						w.must("allreduce", m.post(m.sum(i, count, 0)))
					}
					failed = 0
					for _, m := range list {
						ev := w.expect(m.evd, EventCollective)
						if binary.LittleEndian.Uint32(ev.Extension[4:]) != 0 {
							failed++
						}
					}
				}
				if failed < len(list) {
					t.Errorf("%d members have learnt of it", failed)
				}
				w.freeAll(list, left)
			})
		}
	}
}

// freeAll frees the members' groups and waits until the adapters have as many objects as before.
func (w *world) freeAll(list []*simMember, left int) {
	w.t.Helper()
	for _, m := range list {
		w.must("free_group", m.g.Free())
	}
	w.nothingLeft(list, left)
}

// nothingLeft checks that the adapters have as many objects as before, a minute later.
func (w *world) nothingLeft(list []*simMember, left int) {
	w.t.Helper()
	w.run(time.Minute)
	for i, m := range list {
		if now := m.p.device().Left(); now != left {
			w.t.Errorf("member %d: %d objects of the adapter, %d before", i, now, left)
		}
	}
}

// TestRailsDeath: a process dies; all operations fail at all others.
func TestRailsDeath(t *testing.T) {
	for _, short := range []bool{false, true} {
		w, list := railed(t, fake.New(), 5, 4, short)
		left := list[0].p.device().Left()
		w.group(list, 5)
		for i, m := range list[:3] {
			w.must("allreduce", m.post(m.sum(i, 1, 0)))
			w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
		}
		w.run(time.Millisecond)
		list[3].p.device().Kill()
		list[3].p.kill()
		for _, m := range list[:3] {
			w.collective(m, uint32(coll.Allreduce), 2)
			w.collective(m, uint32(coll.Barrier), 2)
			w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
			w.collective(m, uint32(coll.Barrier), 2)
		}
		w.freeAll(list[:3], left)
	}
}

// TestRailsDeathEnds: the last adapter's end waits for a process that has died, which the others know
// of a group's failure only, no longer than drainStep.
func TestRailsDeathEnds(t *testing.T) {
	w, list := railed(t, fake.New(), 5, 4, true)
	w.group(list, 5)
	list[3].p.device().Kill()
	list[3].p.kill()
	for _, m := range list[:3] {
		w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
	}
	for _, m := range list[:3] {
		w.collective(m, uint32(coll.Barrier), 2)
	}
	for i, m := range list[:3] {
		begin := w.net.Now()
		m.p.leave()
		if took := w.net.Now() - begin; took > drainStep+100e6 {
			t.Errorf("member %d took %d ms to end", i, took/1e6)
		}
	}
}

// TestRailsLeave: a member frees its group when its last operation has completed there; the others
// complete theirs. Later operations fail.
func TestRailsLeave(t *testing.T) {
	for seed := range uint64(6) {
		for _, short := range []bool{false, true} {
			w, list := railed(t, fake.NewRandom(seed), seed, 3, short)
			left := list[0].p.device().Left()
			w.group(list, 5)
			for i, m := range list {
				w.must("allreduce", m.post(m.sum(i, 1, 0)))
				w.must("allreduce", m.post(m.sum(i, 3000, 1<<14)))
				w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
			}
			ends := func(m *simMember) {
				for _, kind := range []coll.Kind{coll.Allreduce, coll.Allreduce, coll.Barrier} {
					w.collective(m, uint32(kind), 0)
				}
			}
			ends(list[2])
			w.must("free_group", list[2].g.Free())
			for _, m := range list[:2] {
				ends(m)
				w.must("barrier", m.post(&coll.Args{Kind: coll.Barrier}))
				w.collective(m, uint32(coll.Barrier), 2)
			}
			list[2].g = list[1].g // freed twice is no error here
			w.freeAll(list[:2], left)
			if now := list[2].p.device().Left(); now != left {
				t.Errorf("%d objects of the adapter, %d before", now, left)
			}
		}
	}
}

// TestRailsFreedAtWork: a group that is freed with operations under way, long ones too: these fail
// before free_group returns, and no adapter touches the program's memory after that.
func TestRailsFreedAtWork(t *testing.T) {
	for _, short := range []bool{false, true} {
		w, list := railed(t, fake.NewRandom(9), 6, 3, short)
		left := list[0].p.device().Left()
		w.group(list, 5)
		for i, m := range list {
			w.must("allreduce", m.post(m.sum(i, 9000, 0)))
			w.must("allreduce", m.post(m.sum(i, 1, 1<<17)))
		}
		d := list[1].p.device()
		w.until(func() bool { return d.Regions() > 1+d.Pairs() }) // beside the LMR and rails
		if d.Regions() <= 1+d.Pairs() {
			t.Fatal("no memory of an operation is registered")
		}
		w.must("free_group", list[1].g.Free())
		if d.Regions() > 1+d.Pairs() {
			t.Error("memory of operations is still registered")
		}
		w.collective(list[1], uint32(coll.Allreduce), 2)
		w.collective(list[1], uint32(coll.Allreduce), 2)
		for _, i := range []int{0, 2} {
			w.collective(list[i], uint32(coll.Allreduce), 2)
			w.collective(list[i], uint32(coll.Allreduce), 2)
			w.must("free_group", list[i].g.Free())
		}
		w.nothingLeft(list, left)
	}
}

// TestRailsOften: groups that are made and freed many times leave nothing.
func TestRailsOften(t *testing.T) {
	w, list := railed(t, fake.New(), 7, 3, true)
	left := list[0].p.device().Left()
	for k := range 1000 {
		w.group(list, uint32(k))
		for i, m := range list {
			w.must("allreduce", m.post(m.sum(i, 1, 0)))
		}
		for _, m := range list {
			w.collective(m, uint32(coll.Allreduce), 0)
			w.must("free_group", m.g.Free())
		}
	}
	w.nothingLeft(list, left)
}

// TestRailsNeverCome: a creation that comes to nothing leaves no queue pairs.
func TestRailsNeverCome(t *testing.T) {
	w, list := railed(t, fake.New(), 8, 3, true)
	left := list[0].p.device().Left()
	for i, m := range list[:2] {
		w.must("create_group", m.create(list, i, 9))
	}
	for _, m := range list[:2] {
		w.collective(m, extGroupFailed, 2)
	}
	w.nothingLeft(list, left)
}

// TestRailsDifferentCalls: members that call different operations fail, short or not.
func TestRailsDifferentCalls(t *testing.T) {
	for _, short := range []bool{false, true} {
		for _, other := range []int{1, 3000} {
			w, list := railed(t, fake.New(), 1, 2, short)
			w.group(list, 5)
			w.must("barrier", list[0].post(&coll.Args{Kind: coll.Barrier}))
			w.must("allreduce", list[1].post(list[1].sum(1, other, 0)))
			w.collective(list[0], uint32(coll.Barrier), 2)
			w.collective(list[1], uint32(coll.Allreduce), 2)
		}
	}
}
