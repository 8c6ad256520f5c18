package lapi

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// watchedLink notes each direct copy, and refuses those from number refuse on (0: none) with err.
type watchedLink struct {
	transport.Link
	vectored transport.Vectored
	copied   []uint64
	refuse   int
	err      error
}

func (l *watchedLink) note(n uint64) error {
	if l.refuse > 0 && len(l.copied) >= l.refuse-1 {
		return l.err
	}
	l.copied = append(l.copied, n)
	return nil
}

func (l *watchedLink) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if err := l.note(op.N); err != nil {
		return transport.Done, err
	}
	return l.Link.Put(ep, op)
}

func (l *watchedLink) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if err := l.note(op.N); err != nil {
		return transport.Done, err
	}
	return l.Link.Get(ep, op)
}

func (l *watchedLink) PutVector(ep transport.Endpoint, local, remote []transport.Range) error {
	if err := l.note(transport.Sum(local)); err != nil {
		return err
	}
	return l.vectored.PutVector(ep, local, remote)
}

func (l *watchedLink) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	if err := l.note(transport.Sum(local)); err != nil {
		return err
	}
	return l.vectored.GetVector(ep, local, remote)
}

// watchedNoticing notes the puts and gets that the link made by a single copy, in the same list.
type watchedNoticing struct {
	transport.Noticing
	l *watchedLink
}

func (w watchedNoticing) PutNotice(ep transport.Endpoint,
	op *transport.Op) (transport.Status, error) {
	return w.transfer(ep, op, w.Noticing.PutNotice)
}

func (w watchedNoticing) GetNotice(ep transport.Endpoint,
	op *transport.Op) (transport.Status, error) {
	return w.transfer(ep, op, w.Noticing.GetNotice)
}

func (w watchedNoticing) transfer(ep transport.Endpoint, op *transport.Op,
	do func(transport.Endpoint, *transport.Op) (transport.Status, error),
) (transport.Status, error) {
	if w.l.refuse > 0 && op.Route == transport.RouteSingleCopy {
		return transport.Done, w.l.err
	}
	status, err := do(ep, op)
	if err == nil && (op.Link.Kind == transport.CopiedTo || op.Link.Kind == transport.CopiedFrom) {
		w.l.copied = append(w.l.copied, op.N)
	}
	return status, err
}

// watch puts a watchedLink before k's link to task id.
func (k *testTask) watch(id int) *watchedLink {
	t := &k.peers[id]
	l := &watchedLink{Link: t.Link, vectored: t.Link.(transport.Vectored)}
	t.Link = l
	t.Noticing = watchedNoticing{t.Noticing, l}
	return l
}

// watched is a job of two tasks of one node, with their links watched.
type watched struct {
	*testJob
	origin, target *watchedLink
}

func newWatched(t *testing.T, env map[string]string) *watched {
	all := map[string]string{"LAPI_USE_SHM": "only"}
	for name, value := range env {
		all[name] = value
	}
	w := &watched{testJob: newJob(t, 2, all).compute()}
	w.origin, w.target = w.tasks[0].watch(1), w.tasks[1].watch(0)
	return w
}

// copied gives the direct copies since the last call, of both tasks, but for the lists of blocks
// that the target of a vector reads.
func (w *watched) copied() (all []uint64) {
	all = append(w.origin.copied, w.target.copied...)
	w.origin.copied, w.target.copied = nil, nil
	return slices.DeleteFunc(all, func(n uint64) bool { return n == uint64(2*vector.BlockSize) })
}

// transfer moves n bytes from task 0 to task 1 (a get: the other way) and checks them. Vectors have
// two blocks.
func (w *watched) transfer(kind uint32, n int, flags uint32) {
	w.t.Helper()
	src, dst := pattern(n, uint64(n)), make([]byte, n)
	from, to := addrOf(src), addrOf(dst)
	half := uint64(n / 2)
	lengths := []uint64{half, uint64(n) - half}
	blocks := func(a transport.Addr) *userVector {
		return describe(wire.VectorIO, 2, []uint64{uint64(a), uint64(a) + half}, lengths)
	}
	fromVec, toVec := blocks(from), blocks(to)
	var org, target, cmpl int32
	x := Transfer{Tgt: 1, N: uint64(n), Flags: flags, OrgAddr: from, TgtAddr: to,
		TgtCntr: at(&target), OrgCntr: at(&org), CmplCntr: at(&cmpl), HdrHdl: 0x1000}
	w.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = to }
	switch kind {
	case XferGet:
		x.OrgAddr, x.TgtAddr = to, from
	case XferPutv:
		x.OrgAddr, x.TgtAddr = fromVec.at(), toVec.longAt()
	case XferGetv:
		x.OrgAddr, x.TgtAddr = toVec.at(), fromVec.longAt()
	case XferAmv:
		x.OrgAddr = fromVec.at()
		w.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = toVec.at() }
	}
	get := kind == XferGet || kind == XferGetv
	w.ok(w.tasks[0].Xfer(kind, &x))
	w.until("the counters", func() bool { return org == 1 && target == 1 && (get || cmpl == 1) })
	if !bytes.Equal(src, dst) {
		w.t.Fatalf("transfer type %d of %d bytes with flags %#x arrived damaged", kind, n, flags)
	}
	runtime.KeepAlive([]any{fromVec, toVec})
}

var types = []uint32{XferGet, XferAm, XferPut, XferGetv, XferPutv, XferAmv}

// TestHints: with LAPI_USE_BULK_XFER all lengths go directly, with LAPI_NOT_USE_BULK_XFER none,
// which wins; with neither, those from a length on, which MP_USE_BULK_XFER lowers for active
// messages, but not for blocks that are worth no range of the kernel's.
func TestHints(t *testing.T) {
	const huge = 1 << 30
	longBlocks := 2 * singlecopy.BlockMin // the vectors have two
	own := map[uint32]int{XferGet: 1, XferAm: 16384, XferPut: 4096, XferGetv: 1,
		XferPutv: longBlocks, XferAmv: longBlocks}
	low := map[uint32]int{XferGet: 1, XferAm: 5000, XferPut: 4096, XferGetv: 1,
		XferPutv: longBlocks, XferAmv: longBlocks}
	for _, s := range []struct {
		name  string
		env   map[string]string
		least map[uint32]int // without a flag
	}{
		{"nothing set", nil, own},
		{"bulk with 150K", map[string]string{"MP_USE_BULK_XFER": "yes"}, own},
		{"bulk with 5000",
			map[string]string{"MP_USE_BULK_XFER": "yes", "MP_BULK_MIN_MSG_SIZE": "5000"}, low},
		{"no bulk with 5000",
			map[string]string{"MP_USE_BULK_XFER": "no", "MP_BULK_MIN_MSG_SIZE": "5000"}, own},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := newWatched(t, s.env)
			for _, kind := range types {
				forced := 1
				if kind == XferAm || kind == XferAmv {
					forced = 4097 // BUF_CP_SIZE and 1
				}
				for flags, least := range map[uint32]int{0: s.least[kind],
					singlecopy.UseBulkXfer: forced, singlecopy.NotUseBulkXfer: huge,
					singlecopy.UseBulkXfer | singlecopy.NotUseBulkXfer: huge} {
					for _, n := range []int{2, 128, 129, 1000, 4095, 4096, 4999, 5000, 16383, 16384,
						32767, 32768, 200000} {
						w.transfer(kind, n, flags)
						got, want := w.copied(), []uint64(nil)
						if n >= least {
							want = []uint64{uint64(n)}
						}
						if !slices.Equal(got, want) {
							t.Errorf("type %d, flags %#x, %d bytes: direct copies %v, not %v",
								kind, flags, n, got, want)
						}
					}
				}
			}
		})
	}
}

// TestHintForShortBlocks: blocks that are too short for the library's taste go directly if the user
// insists.
func TestHintForShortBlocks(t *testing.T) {
	const count, block = 200, 40
	for flags, direct := range map[uint32]bool{0: false, singlecopy.UseBulkXfer: true,
		singlecopy.NotUseBulkXfer: false} {
		w := newWatched(t, nil)
		src, dst := pattern(2*count*block, 3), make([]byte, 2*count*block)
		strided := func(b []byte) *userVector {
			return describe(wire.VectorStrided, count,
				[]uint64{uint64(addrOf(b)), block, 2 * block}, nil)
		}
		from, to := strided(src), strided(dst)
		var target int32
		x := Transfer{Tgt: 1, Flags: flags, OrgAddr: from.at(), TgtAddr: to.longAt(),
			TgtCntr: at(&target)}
		w.ok(w.tasks[0].Xfer(XferPutv, &x))
		w.until("the target counter", func() bool { return target == 1 })
		sum := uint64(0)
		for _, n := range w.copied() {
			sum += n
		}
		if direct != (sum == count*block) || !direct && sum != 0 {
			t.Errorf("flags %#x: %d bytes went directly", flags, sum)
		}
		runtime.KeepAlive([]any{from, to})
	}
}

// TestHintsWithoutDirectWay: over UDP, and within one task, flags change nothing that can be seen.
func TestHintsWithoutDirectWay(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		copies := map[int]uint64{} // of n bytes within a task without flags
		for _, flags := range []uint32{0, singlecopy.UseBulkXfer, singlecopy.NotUseBulkXfer,
			singlecopy.UseBulkXfer | singlecopy.NotUseBulkXfer} {
			for _, n := range []int{8, 5000, 100000} {
				src, dst := pattern(n, 7), make([]byte, n)
				var target int32
				before := *j.tasks[0].net.Self.Stats()
				x := Transfer{Tgt: tgt, N: uint64(n), Flags: flags, OrgAddr: addrOf(src),
					TgtAddr: addrOf(dst), TgtCntr: at(&target)}
				j.ok(j.tasks[0].Xfer(XferPut, &x))
				j.until("the target counter", func() bool { return target == 1 })
				if !bytes.Equal(src, dst) {
					t.Fatalf("flags %#x, %d bytes: damaged", flags, n)
				}
				if tgt != 0 {
					continue
				}
				s := j.tasks[0].net.Self.Stats()
				if s.DataSent-before.DataSent != uint64(n) ||
					s.DataReceived-before.DataReceived != uint64(n) {
					t.Errorf("flags %#x, %d bytes within a task: %d sent, %d received",
						flags, n, s.DataSent-before.DataSent, s.DataReceived-before.DataReceived)
				}
				if flags == 0 {
					copies[n] = s.PacketsSent - before.PacketsSent
				} else if got := s.PacketsSent - before.PacketsSent; got != copies[n] {
					t.Errorf("flags %#x, %d bytes within a task: copied %d times, without flags %d",
						flags, n, got, copies[n])
				}
			}
		}
	})
}

// TestForcedNotWithinATask: the same for vectors, whose short blocks a task gathers for itself,
// too.
func TestForcedNotWithinATask(t *testing.T) {
	k := newJob(t, 1, nil).tasks[0]
	v := new(vector.Vector)
	v.Asked(&wire.Vector{Block: 40, Stride: 80, Total: 8000}, nil)
	for _, h := range []singlecopy.Hint{singlecopy.NoHint, singlecopy.ByBulk,
		singlecopy.ByPackets} {
		if k.copier.PutVector(&k.peers[0], v, v, v.Total(), h) {
			t.Errorf("hint %d: directly", h)
		}
	}
}

// withChunks sets the length of chunks for a test.
func withChunks(t *testing.T, n uint64) {
	before := singlecopy.Chunk
	singlecopy.Chunk = n
	t.Cleanup(func() { singlecopy.Chunk = before })
}

// TestChunks: no direct copy moves more than a chunk, and each counts as a packet on both sides.
// (Blocks this short go directly only with the flag.)
func TestChunks(t *testing.T) {
	withChunks(t, 20000)
	w := newWatched(t, nil)
	for _, kind := range types {
		for n, want := range map[int][]uint64{19999: {19999}, 20000: {20000}, 20001: {20000, 1},
			60000: {20000, 20000, 20000}, 65000: {20000, 20000, 20000, 5000}} {
			origin, target := *w.tasks[0].net.Shm.Stats(), *w.tasks[1].net.Shm.Stats()
			w.transfer(kind, n, singlecopy.UseBulkXfer)
			if kind == XferPut || kind == XferGet { // the link's own pieces are longer
				want = []uint64{uint64(n)}
			}
			if got := w.copied(); !slices.Equal(got, want) {
				t.Errorf("type %d, %d bytes: direct copies %v, not %v", kind, n, got, want)
			}
			from, to := w.tasks[0].net.Shm.Stats(), w.tasks[1].net.Shm.Stats()
			sent, received := from.DataSent-origin.DataSent, to.DataReceived-target.DataReceived
			packets := to.PacketsReceived - target.PacketsReceived
			if kind == XferGet || kind == XferGetv { // the target has no part in it
				sent, received = received, from.DataReceived-origin.DataReceived
				packets = from.PacketsReceived - origin.PacketsReceived
				if sent != 0 {
					t.Errorf("type %d: %d bytes counted where nothing was done", kind, sent)
				}
				sent = received
			}
			if kind == XferAmv { // the list of blocks was read, too
				received -= uint64(2 * vector.BlockSize)
			}
			if sent != uint64(n) || received != uint64(n) {
				t.Errorf("type %d, %d bytes: %d sent, %d received", kind, n, sent, received)
			}
			if extra := packets - uint64(len(want)); extra > 2 { // and headers, and counters
				t.Errorf("type %d, %d bytes: %d packets received", kind, n, packets)
			}
			if kind == XferPut || kind == XferAm {
				if got := from.PacketsSent - origin.PacketsSent; got != uint64(len(want))+1 {
					t.Errorf("type %d, %d bytes: %d packets sent", kind, n, got)
				}
			}
		}
	}
}

// TestDirectRefusedUnderWay: when a copy in the middle of a message is refused, the message goes in
// packets, and later ones do.
func TestDirectRefusedUnderWay(t *testing.T) {
	withChunks(t, 20000)
	for _, kind := range types {
		t.Run(fmt.Sprint("type ", kind), func(t *testing.T) {
			w := newWatched(t, map[string]string{"MP_USE_BULK_XFER": "yes"})
			first := 2
			if kind == XferAmv {
				first = 3 // its list is read first
			}
			for _, l := range []*watchedLink{w.origin, w.target} {
				l.refuse, l.err = first, transport.ErrNotSupported
			}
			w.transfer(kind, 50000, singlecopy.UseBulkXfer)
			if kind == XferPut || kind == XferGet { // they are refused as a whole
				if got := w.copied(); len(got) != 0 {
					t.Errorf("direct copies %v", got)
				}
			} else if got := w.copied(); !slices.Equal(got, []uint64{20000}) {
				t.Errorf("direct copies %v", got)
			}
			w.origin.refuse, w.target.refuse = 0, 0
			w.transfer(kind, 50000, singlecopy.UseBulkXfer)
			if got := w.copied(); len(got) != 0 {
				t.Errorf("direct copies of the next: %v", got)
			}
			if w.tasks[0].attribute(qBulkXfer) != 0 {
				t.Error("BULK_XFER is 1, although there is no direct way any more")
			}
		})
	}
}

// TestBadAddressInALaterChunk: the error handlers of both tasks are called, no counter changes, and
// the next transfer works.
func TestBadAddressInALaterChunk(t *testing.T) {
	withChunks(t, 20000)
	const good, bad = 3 * 4096 * 4, 4096 * 4
	for _, kind := range []uint32{XferPut, XferGet, XferAm} {
		t.Run(fmt.Sprint("type ", kind), func(t *testing.T) {
			w := newWatched(t, nil)
			there, err := unix.Mmap(-1, 0, good+bad, unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err == nil {
				err = unix.Mprotect(there[good:], unix.PROT_NONE)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(there)
			here := pattern(good+bad, 1)
			var target, org, cmpl int32
			x := Transfer{Tgt: 1, N: good + bad, OrgAddr: addrOf(here), TgtAddr: addrOf(there),
				HdrHdl: 0x1000, TgtCntr: at(&target), CmplCntr: at(&cmpl)}
			if kind == XferGet {
				x.OrgCntr = at(&org)
			}
			w.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer = addrOf(there)
			}
			w.ok(w.tasks[0].Xfer(kind, &x))
			w.until("both error handlers", func() bool {
				return w.tasks[0].faults.Pending() > 0 && w.tasks[1].faults.Pending() > 0
			})
			for i, k := range w.tasks {
				if n := drainErrors(t, k, codes.ErrTgtAddrNull, 1-i); n != 1 {
					t.Errorf("%d calls of the error handler of task %d", n, i)
				}
			}
			w.transfer(kind, 50000, 0)
			if target != 0 || org != 0 || cmpl != 0 {
				t.Errorf("counters %d, %d, %d", target, org, cmpl)
			}
		})
	}
}

// TestUnreadIsNotCounted: what the header handler buries was not sent.
func TestUnreadIsNotCounted(t *testing.T) {
	w := newWatched(t, nil)
	src := pattern(50000, 5)
	var org int32
	w.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.CtlFlags = host.CtlBury }
	before := *w.tasks[0].net.Shm.Stats()
	w.ok(w.tasks[0].Amsend(1, 0x1000, 0, 0, addrOf(src), 50000, 0, at(&org), 0))
	w.until("the origin counter", func() bool { return org == 1 })
	if got := w.tasks[0].net.Shm.Stats().DataSent - before.DataSent; got != 0 ||
		len(w.copied()) != 0 {
		t.Errorf("%d bytes counted as sent", got)
	}
}

// TestBulkIsAnnounced: attention 499 and BULK_XFER say that bulk transfer is on; a warning that it
// cannot be had.
func TestBulkIsAnnounced(t *testing.T) {
	for _, s := range []struct {
		name    string
		tasks   int
		env     map[string]string
		on      bool
		warning bool
		min     int64
	}{
		{"not asked for", 2, map[string]string{"LAPI_USE_SHM": "only"}, false, false, 153600},
		{"shared memory", 2, map[string]string{"LAPI_USE_SHM": "only", "MP_USE_BULK_XFER": "yes",
			"MP_BULK_MIN_MSG_SIZE": "8K"}, true, false, 8192},
		{"udp", 2, map[string]string{"LAPI_USE_SHM": "no", "MP_USE_BULK_XFER": "yes",
			"MP_BULK_MIN_MSG_SIZE": "1"}, false, true, 4096},
		{"alone", 1, map[string]string{"MP_USE_BULK_XFER": "yes"}, false, true, 153600},
	} {
		t.Run(s.name, func(t *testing.T) {
			k := newJob(t, s.tasks, s.env).tasks[0]
			warned := slices.ContainsFunc(k.messages, func(m string) bool {
				return strings.Contains(m, "MP_USE_BULK_XFER=yes has no effect")
			})
			if k.said(codes.AttBulkEnabled) != s.on || warned != s.warning {
				t.Errorf("messages %q", k.messages)
			}
			if got := k.attribute(qBulkXfer); got != flag(s.on) {
				t.Errorf("BULK_XFER %d", got)
			}
			if got := k.attribute(qBulkMinMsgSize); int64(got) != s.min {
				t.Errorf("BULK_MIN_MSG_SIZE %d, not %d", got, s.min)
			}
		})
	}
}
