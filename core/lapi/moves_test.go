package lapi

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/ibv"
)

// Active messages, vectors and DGSPs over adapters: which data goes by RDMA, and that it is the same
// data, with the same counters and errors, as in messages.

// mover moves blocks from task 0 to task 1 of a job over adapters.
type mover struct {
	*testJob
	block, gap, count int
	src, dst          []byte // laid out with gaps
	flags             uint32
	org, tgt, cmpl    int32
	handled           int
	dgsp              transport.Addr
	kept              []any
}

func newMover(t *testing.T, env map[string]string) *mover {
	return &mover{testJob: newJob(t, 2, env)}
}

// layOut takes new memory for count blocks of block bytes.
func (m *mover) layOut(block, gap, count int) {
	m.block, m.gap, m.count = block, gap, count
	n := count * (block + gap)
	m.src, m.dst = pattern(n, uint64(n)), make([]byte, n)
	m.org, m.tgt, m.cmpl, m.handled = 0, 0, 0, 0
}

// vectorOf describes the blocks of b, from the last to the first.
func (m *mover) vectorOf(b []byte) *userVector {
	var info, lens []uint64
	for i := m.count - 1; i >= 0; i-- {
		info = append(info, uint64(addrOf(b))+uint64(i*(m.block+m.gap)))
		lens = append(lens, uint64(m.block))
	}
	v := describe(wire.VectorIO, m.count, info, lens)
	m.kept = append(m.kept, v)
	return v
}

func (m *mover) strided(b []byte) *userVector {
	v := describe(wire.VectorStrided, m.count, []uint64{uint64(addrOf(b)), uint64(m.block),
		uint64(m.block + m.gap)}, nil)
	m.kept = append(m.kept, v)
	return v
}

// moves are the ways to begin.
var moves = map[string]func(m *mover, x *Transfer) (kind uint32){
	"putv": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr, x.TgtAddr = m.vectorOf(m.src).at(), m.vectorOf(m.dst).longAt()
		return XferPutv
	},
	"putv strided": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr, x.TgtAddr = m.strided(m.src).at(), m.strided(m.dst).longAt()
		return XferPutv
	},
	"getv": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr, x.TgtAddr = m.vectorOf(m.dst).at(), m.vectorOf(m.src).longAt()
		return XferGetv
	},
	"amsend": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr, x.N = addrOf(m.src), uint64(len(m.src))
		m.answer(func(r *HeaderResult) { r.Buffer = addrOf(m.dst) })
		return XferAm
	},
	"amsendv": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr = m.vectorOf(m.src).at()
		to := m.vectorOf(m.dst)
		m.answer(func(r *HeaderResult) { r.Buffer = to.at() })
		return XferAmv
	},
	"amsendv strided": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr = m.strided(m.src).at()
		to := m.strided(m.dst)
		m.answer(func(r *HeaderResult) { r.Buffer = to.at() })
		return XferAmv
	},
	"dgsp": func(m *mover, x *Transfer) uint32 {
		x.OrgAddr, x.TgtAddr, x.N = addrOf(m.src), m.dgsp, uint64(m.block*m.count)
		m.answer(func(r *HeaderResult) {
			r.DGSP, r.Buffer, r.Bytes = uint64(m.dgsp), addrOf(m.dst), x.N
		})
		return XferDGSP
	},
}

func (m *mover) answer(say func(r *HeaderResult)) {
	m.tasks[1].headers[0x1000] = func(c *headerCall, r *HeaderResult) {
		if string(c.uhdr) != "user header " {
			m.t.Errorf("the user header is %q", c.uhdr)
		}
		m.handled++
		r.Completion, r.Info = 0x2000, 7
		say(r)
	}
}

// begin begins one.
func (m *mover) begin(name string) {
	m.t.Helper()
	uhdr := []byte("user header ")
	x := &Transfer{Tgt: 1, HdrHdl: 0x1000, Uhdr: addrOf(uhdr), UhdrLen: uint32(len(uhdr)),
		Flags: m.flags, OrgCntr: at(&m.org), TgtCntr: at(&m.tgt)}
	kind := moves[name](m, x)
	if kind != XferGetv {
		x.CmplCntr = at(&m.cmpl)
	}
	ran := 0
	m.tasks[1].handlers[0x2000] = func(info transport.Addr) { ran++ }
	m.ok(m.tasks[0].Xfer(kind, x))
	m.kept = append(m.kept, uhdr, x)
}

// over says whether all counters have changed.
func (m *mover) over(name string) bool {
	return m.org == 1 && m.tgt == 1 && (m.cmpl == 1 || name == "getv")
}

// check compares what was moved: nothing between blocks.
func (m *mover) check(name string) {
	m.t.Helper()
	want := slices.Clone(m.src)
	for at := m.block; name != "amsend" && at < len(want); at += m.block + m.gap {
		clear(want[at : at+m.gap])
	}
	if !bytes.Equal(want, m.dst) {
		m.t.Errorf("%s of %d blocks of %d: damaged", name, m.count, m.block)
	}
	m.kept = nil
	runtime.KeepAlive(want)
}

// move does one, and says how many bytes have gone by RDMA.
func (m *mover) move(name string) (rdma uint64) {
	m.t.Helper()
	for _, d := range m.devices {
		rdma -= d[0].Moved()
	}
	m.begin(name)
	m.until(name, func() bool { return m.over(name) })
	m.check(name)
	for _, d := range m.devices {
		rdma += d[0].Moved()
	}
	return rdma
}

// TestMovesByRDMA: which active messages, vectors and DGSPs go by RDMA.
func TestMovesByRDMA(t *testing.T) {
	bulk := with("MP_USE_BULK_XFER=yes", "MP_BULK_MIN_MSG_SIZE=64K")
	for _, c := range []struct {
		env          map[string]string
		block, count int
		flags        uint32
		rdma         bool
	}{
		{with(), 64 << 10, 3, 0, true},
		{with(), 16 << 10, 200, 0, true}, // three rounds of keys, a list of a packet
		{with(), 16 << 10, 400, 0, true}, // a list of two
		{with(), 15000, 10, 0, false},
		{with(), 64 << 10, 3, singlecopy.NotUseBulkXfer, false},
		{with(), 4 << 10, 3, singlecopy.UseBulkXfer, true},
		{with(), 1000, 100, singlecopy.UseBulkXfer, false},
		{with(), 1000, 1, 0, false},
		{bulk, 64 << 10, 2, 0, true},
		{bulk, 20 << 10, 3, 0, false},
	} {
		m := newMover(t, c.env)
		m.flags = c.flags
		m.dgsp = enroll(t, int64(c.block), int64(c.block+9), 0)
		for name := range moves {
			m.layOut(c.block, 9, c.count)
			want := uint64(0)
			if name == "amsend" {
				m.layOut(c.block*c.count, 0, 1)
			}
			rdma := c.rdma
			if name == "amsend" && (c.block == 15000 || c.block == 1000 && c.flags != 0) {
				rdma = true // it is one block
			}
			if rdma {
				want = uint64(m.block * m.count)
			}
			if got := m.move(name); got != want {
				t.Errorf("%v, %s of %d blocks of %d, flags %#x: %d bytes by RDMA, not %d", c.env,
					name, m.count, m.block, c.flags, got, want)
			}
		}
		if e := slices.Concat(m.tasks[0].events(), m.tasks[1].events()); len(e) != 0 {
			t.Errorf("errors: %+v", e)
		}
	}
}

// TestMovesOfSmallBuffers: data of at most BUF_CP_SIZE bytes may be overwritten when the call
// returns, also with LAPI_USE_BULK_XFER.
func TestMovesOfSmallBuffers(t *testing.T) {
	m := newMover(t, with())
	m.flags = singlecopy.UseBulkXfer
	for name := range moves {
		if name == "getv" || name == "dgsp" {
			continue
		}
		m.layOut(4096, 0, 1)
		want := slices.Clone(m.src)
		m.begin(name)
		clear(m.src)
		m.until(name, func() bool { return m.over(name) })
		if !bytes.Equal(m.dst, want) {
			t.Errorf("%s reads its data when the call has returned", name)
		}
	}
}

// TestMovesThatCannotBeRegistered: where an adapter does not register memory, at one side or the
// other, the data goes in messages, once; a fence covers it.
func TestMovesThatCannotBeRegistered(t *testing.T) {
	for name := range moves {
		for side := range 2 {
			for _, fails := range []int{1, 2, 5} {
				t.Run(fmt.Sprint(name, " ", side, " ", fails), func(t *testing.T) {
					m := newMover(t, with())
					m.dgsp = enroll(t, 64<<10, 64<<10+9, 0)
					m.layOut(64<<10, 9, 3)
					m.move(name) // the link's own memory is registered
					m.layOut(64<<10, 9, 3)
					m.devices[side][0].FailNext("RegMR", fails)
					m.begin(name)
					id, code := m.tasks[0].FenceBegin()
					m.ok(code)
					m.until("the fence", func() bool {
						return id == 0 || m.tasks[0].tickets.Done(id)
					})
					m.check(name)
					m.until(name, func() bool { return m.over(name) })
					if m.handled > 1 {
						t.Errorf("the header handler has run %d times", m.handled)
					}
				})
			}
		}
	}
}

// TestMovesOverFailingQueuePairs: a request that fails, and a refused one, lose nothing.
func TestMovesOverFailingQueuePairs(t *testing.T) {
	for name := range moves {
		for _, status := range []ibv.Status{ibv.RetryExcErr, ibv.RemAccessErr, ibv.LocProtErr,
			ibv.RNRRetryErr} {
			m := newMover(t, with())
			m.dgsp = enroll(t, 64<<10, 64<<10+9, 0)
			for _, task := range []int{0, 1} {
				m.layOut(64<<10, 9, 10)
				m.devices[task][0].EndNext(status, true)
				m.move(name)
			}
			if e := slices.Concat(m.tasks[0].events(), m.tasks[1].events()); len(e) != 0 {
				t.Errorf("%s, %v: errors %+v", name, status, e)
			}
		}
	}
}

// TestManyMovesAtOnce: more of them than a link takes wait for room, and calls that go beyond wait.
func TestManyMovesAtOnce(t *testing.T) {
	const many, block = 600, 16 << 10
	for _, name := range []string{"putv strided", "getv", "amsendv"} {
		m := newMover(t, with())
		var each []*mover
		waited := false
		for range many {
			one := &mover{testJob: m.testJob}
			one.layOut(block, 64, 1)
			each = append(each, one)
			one.begin(name)
			waited = waited || len(m.tasks[0].rooms) > 0
		}
		if name != "amsendv" && !waited {
			t.Errorf("%s: no call waits for room", name)
		}
		for i, one := range each {
			if name == "amsendv" { // one handler for all
				continue
			}
			m.until(fmt.Sprint(name, i), func() bool { return one.over(name) })
			one.check(name)
		}
		if name == "amsendv" {
			last := each[many-1]
			m.until("all counters", func() bool {
				if m.tasks[1].copier.Waiting() > 0 {
					t.Fatal("more messages are fetched at once than the link has room for")
				}
				for _, one := range each {
					if one.org != 1 || one.tgt != 1 || one.cmpl != 1 {
						return false
					}
				}
				return true
			})
			if last.handled != many {
				t.Errorf("%d header handlers", last.handled)
			}
		}
		for _, k := range m.tasks {
			if n := k.copier.Waiting(); n != 0 || k.moves.Oldest() != nil ||
				k.offers.Oldest() != nil || len(k.rooms) != 0 {
				t.Errorf("%s: %d copies wait when all is over", name, n)
			}
		}
	}
}

// TestMovesWithBadAddresses: the error handlers of both tasks get what they get in messages, and
// counters and fences are as there.
func TestMovesWithBadAddresses(t *testing.T) {
	page, err := unix.Mmap(-1, 0, 256<<10, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	bad := page[64<<10:]
	if err := unix.Mprotect(bad, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	for name := range moves {
		if name == "dgsp" {
			continue // it has no second way to lay blocks out
		}
		for _, here := range []bool{true, false} {
			var said [2]string
			for i, flags := range []uint32{singlecopy.NotUseBulkXfer, 0} {
				m := newMover(t, with())
				m.flags = flags
				m.layOut(64<<10, 0, 3)
				if here != (name == "getv") {
					m.src = page[:3*64<<10]
				} else {
					m.dst = page[:3*64<<10]
				}
				m.begin(name)
				id, code := m.tasks[0].FenceBegin()
				m.ok(code)
				m.until("the fence", func() bool { return id == 0 || m.tasks[0].tickets.Done(id) })
				for range 1000 {
					m.tasks[0].Dispatch(0)
					m.tasks[1].Dispatch(0)
				}
				for k, task := range m.tasks {
					codes := map[string]bool{}
					for _, e := range task.events() {
						codes[fmt.Sprint(e.Code, " ", e.Type)] = true
					}
					said[i] += fmt.Sprintln("task", k, slices.Sorted(maps.Keys(codes)))
				}
				said[i] += fmt.Sprintln("counters", m.tgt, m.cmpl, "pending",
					m.tasks[0].counters.Outstanding(1))
			}
			if said[0] != said[1] {
				t.Errorf("%s, bad here %v: in messages\n%sby RDMA\n%s", name, here, said[0], said[1])
			}
		}
	}
}

// TestMovesToALostTask: a move that is under way, or waits for room, ends with its peer; a fence
// returns the error, and nothing is left.
func TestMovesToALostTask(t *testing.T) {
	for name := range moves {
		for _, purge := range []bool{true, false} {
			m := newMover(t, with())
			m.dgsp = enroll(t, 16<<10, 16<<10+9, 0)
			reasons := map[codes.Code]int{}
			m.tasks[0].sends[0x3000] = func(_ transport.Addr, _ int32, r codes.Code) { reasons[r]++ }
			const many = 100
			for range many {
				one := &mover{testJob: m.testJob, dgsp: m.dgsp}
				one.layOut(16<<10, 9, 2)
				one.begin(name)
			}
			for range 20 {
				m.tasks[1].Dispatch(0)
			}
			a, b := m.tasks[0], m.tasks[1]
			if purge {
				m.ok(a.Purge(1))
				m.ok(b.Purge(0))
			} else {
				a.fail(&a.peers[1], codes.ErrNoConnectivity, "it has died")
				b.fail(&b.peers[0], codes.ErrNoConnectivity, "it has died")
			}
			for _, k := range m.tasks {
				if k.copier.Waiting() != 0 || k.moves.Oldest() != nil || k.offers.Oldest() != nil ||
					k.answers.Oldest() != nil || k.in.Busy(&k.peers[0]) || k.in.Busy(&k.peers[1]) {
					t.Errorf("%s: something is left", name)
				}
			}
			id, code := a.FenceBegin()
			m.ok(code)
			if got := a.TicketResult(id); name != "getv" && !purge && got == codes.Success {
				t.Errorf("%s: the fence returns %s", name, codes.Name(got))
			}
			if purge { // they begin anew
				m.ok(a.Resume(1))
				m.ok(b.Resume(0))
				m.layOut(16<<10, 9, 2)
				m.move(name)
			}
		}
	}
}

// TestListsOfOthers: a list that is not that of its message is dropped; a list where none can be,
// too.
func TestListsOfOthers(t *testing.T) {
	for name, list := range map[string][2]uint64{"backwards": {20000, 10000},
		"short": {10000, 39999}, "long": {10000, 40001}} {
		m := newMover(t, with())
		a, b := m.tasks[0], m.tasks[1]
		b.headers[0x1000] = func(*headerCall, *HeaderResult) { t.Error("a header handler runs") }
		data := wire.Order.AppendUint64(nil, 0x1000)
		data = wire.Order.AppendUint64(data, list[0])
		data = wire.Order.AppendUint64(data, 0x9000)
		data = wire.Order.AppendUint64(data, list[1])
		msg, _ := a.out.NewAm(&a.peers[1], wire.MsgAmPieces, 0)
		h := wire.Am{Handler: 0x1000, Length: 40000, ID: msg.Number(), Rendezvous: true, Listed: true}
		v := wire.Amv{Kind: wire.VectorGeneric, Count: 2}
		msg.Ours(addrOf(data), uint64(len(data)))
		msg.After = send.After{}
		a.out.StartAm(msg, &h, &v)
		ghosts := func() uint64 { return b.peers[0].Link.Stats().GhostPackets }
		m.until(name, func() bool { return ghosts() == 1 })
		if b.in.Busy(&b.peers[0]) {
			for range 100 {
				b.Dispatch(0)
			}
		}
		if b.in.Busy(&b.peers[0]) {
			t.Errorf("%s: the message stays", name)
		}
		runtime.KeepAlive(data)
	}
}
