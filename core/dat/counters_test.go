package dat

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/simnet"
)

// never are the counters that stay 0, with the reason as docs/dev/dat.md has it.
var never = map[string]string{
	"DCNT_IA_CM_DREP_TX": "no answer", "DCNT_IA_CM_DREP_RX": "no answer",
	"DCNT_IA_CM_REQ_FULLQ_POLL": "no poll", "DCNT_IA_CM_ERR_RESET": "no stream",
	"DCNT_IA_CM_ERR_DREQ_DUP": "once", "DCNT_IA_CM_ERR_DREQ_RETRY": "once",
	"DCNT_IA_CM_ERR_DREP_DUP": "once", "DCNT_IA_CM_ERR_DREP_RETRY": "once",
	"DCNT_IA_LNK_ERR_RCV_REM_PHYS": "Ethernet", "DCNT_IA_LNK_ERR_RCV_CONSTRAINT": "Ethernet",
	"DCNT_IA_LNK_ERR_XMT_CONTRAINT": "Ethernet", "DCNT_IA_LNK_WARN_RCV_SW_RELAY": "Ethernet",
	"DCNT_IA_LNK_WARN_XMT_WAIT": "Ethernet", "DCNT_IA_DIAG_ERR_RQ_RAE": "chip",
	"DCNT_IA_DIAG_ERR_RQ_OOS": "chip", "DCNT_IA_DIAG_ERR_RQ_RIRE": "chip",
	"DCNT_IA_DIAG_ERR_RQ_UDSDPRD": "chip", "DCNT_IA_DIAG_ERR_SQ_RAE": "chip",
	"DCNT_IA_DIAG_ERR_SQ_OOS": "chip", "DCNT_IA_DIAG_ERR_SQ_RIRE": "chip",
	"DCNT_IA_DIAG_ERR_SQ_RREE": "chip", "DCNT_IA_DIAG_ERR_SQ_TREE": "chip",
	"DCNT_EP_RECV_IMM": "no such send", "DCNT_EP_RECV_IMM_DATA": "no such send",
}

// tally sums up counters by name.
type tally map[string]uint64

func (s tally) add(o Object) {
	names := map[bool][]string{true: IACounters, false: EVDCounters}[func() bool {
		_, ok := o.(*IA)
		return ok
	}()]
	if _, ok := o.(*EP); ok {
		names = EPCounters
	}
	for i, v := range Counters(o, -1, false) {
		s[names[i]] += v
	}
}

func (s tally) addEnd(e *simEnd) {
	for _, o := range []Object{e.ep, e.recv, e.req, e.con} {
		s.add(o)
	}
}

// want compares counters, in pairs of name and value.
func want(t testing.TB, what string, o Object, pairs ...any) {
	t.Helper()
	s := tally{}
	s.add(o)
	for i := 0; i < len(pairs); i += 2 {
		if name := pairs[i].(string); s[name] != uint64(pairs[i+1].(int)) {
			t.Errorf("%s: %s is %d, not %d", what, name, s[name], pairs[i+1])
		}
	}
}

// countTransfers makes one of everything from a to b, which are connected.
func countTransfers(w *world, a, b *simEnd) {
	p, q := a.p, b.p
	for i := range uint64(2) {
		w.must("recv", b.ep.PostReceive([]Triplet{q.part(0, 100)}, i, 0))
	}
	for _, op := range []PostArgs{{Op: rc.Send, Triplets: []Triplet{p.part(0, 50)}},
		{Op: rc.Write, Triplets: []Triplet{p.part(0, 30)}},
		{Op: rc.Write, Triplets: []Triplet{p.part(0, 20)}, Immediate: true},
		{Op: rc.Read, Triplets: []Triplet{p.part(0, 40)}},
		{Op: rc.FetchAdd, Triplets: []Triplet{p.part(0, 8)}, Operand: 1},
		{Op: rc.CompareSwap, Triplets: []Triplet{p.part(0, 8)}}} {
		op.Remote = q.part(1024, 100)
		w.must("post", a.ep.Post(op))
		w.next(a.req)
	}
	w.next(b.recv)
	w.must("wait", b.recv.WaitBegin(1, true))
	_, _, r := b.recv.WaitEnd(1)
	w.must("wait", r)
}

// TestCounters: each counter counts what its name says, or stays 0 for a reason.
func TestCounters(t *testing.T) {
	w := newWorld(t, 3, 2, simnet.Way{})
	p, q := w.procs[0], w.procs[1]
	errors := LinkErrors{}
	p.l.cfg.LinkErrors = func(string) (LinkErrors, bool) { return errors, true }
	all := tally{}

	a, b := p.end(nil), q.end(nil)
	w.connect(a, b)
	countTransfers(w, a, b)
	want(t, "the one that posts", a.ep, "DCNT_EP_CONNECT", 1, "DCNT_EP_POST_SEND", 1,
		"DCNT_EP_POST_SEND_DATA", 50, "DCNT_EP_POST_WRITE", 1, "DCNT_EP_POST_WRITE_DATA", 30,
		"DCNT_EP_POST_WRITE_IMM", 1, "DCNT_EP_POST_WRITE_IMM_DATA", 20, "DCNT_EP_POST_READ", 1,
		"DCNT_EP_POST_READ_DATA", 40, "DCNT_EP_POST_CMP_SWAP", 1, "DCNT_EP_POST_FETCH_ADD", 1,
		"DCNT_EP_RECV", 0)
	want(t, "its peer", b.ep, "DCNT_EP_POST_RECV", 2, "DCNT_EP_POST_RECV_DATA", 200,
		"DCNT_EP_RECV", 1, "DCNT_EP_RECV_DATA", 50, "DCNT_EP_RECV_RDMA_IMM", 1,
		"DCNT_EP_RECV_RDMA_IMM_DATA", 20, "DCNT_EP_POST_SEND", 0)
	want(t, "its EVD", b.recv, "DCNT_EVD_DTO_CALLBACK", 2, "DCNT_EVD_WAIT", 1,
		"DCNT_EVD_WAIT_BLOCKED", 0, "DCNT_EVD_DEQUEUE", 1, "DCNT_EVD_DEQUEUE_FOUND", 1)
	want(t, "its EVD of connections", b.con, "DCNT_EVD_CONN_CALLBACK", 1)

	w.must("recv", b.ep.PostReceive(nil, 1, 0))
	w.must("wait", b.recv.WaitBegin(1, true))
	w.must("send", a.ep.Post(PostArgs{Op: rc.Send}))
	w.next(a.req)
	_, _, r := b.recv.WaitEnd(1)
	w.must("wait", r)
	b.recv.Look()
	if _, r = b.recv.Dequeue(); r.Type() != codes.QueueEmpty {
		t.Errorf("nothing is there: %#x", uint32(r))
	}
	want(t, "its EVD", b.recv, "DCNT_EVD_WAIT", 2, "DCNT_EVD_WAIT_BLOCKED", 1,
		"DCNT_EVD_WAIT_NOTIFY", 1, "DCNT_EVD_DEQUEUE_POLL", 1, "DCNT_EVD_DEQUEUE_POLL_FOUND", 0,
		"DCNT_EVD_DEQUEUE_NOT_FOUND", 1)
	self := q.end(nil) // what a look at an empty EVD finds by itself
	twin := q.end(nil)
	w.connect(self, twin)
	w.must("send", self.ep.Post(PostArgs{Op: rc.Write, Triplets: []Triplet{q.part(0, 8)},
		Remote: q.part(8, 8)}))
	for self.req.Len() == 0 {
		self.req.Look()
	}
	all.addEnd(self)

	w.must("disconnect", a.ep.Disconnect(true))
	w.expect(a.con, EventDisconnected)
	w.expect(b.con, EventDisconnected)
	want(t, "the end", a.ep, "DCNT_EP_DISCONNECT", 1)
	want(t, "active", p.ia, "DCNT_IA_CM_REQ_TX", 1, "DCNT_IA_CM_MRA_RX", 1, "DCNT_IA_CM_REP_RX", 1,
		"DCNT_IA_CM_RTU_TX", 1, "DCNT_IA_CM_ACTIVE_EST", 1, "DCNT_IA_CM_DREQ_TX", 1,
		"DCNT_IA_CM_DREQ_RX", 0, "DCNT_IA_CM_LISTEN", 0, "DCNT_IA_CM_ERR", 0, "DCNT_IA_EP_CREATE", 1)
	want(t, "passive", q.ia, "DCNT_IA_CM_REQ_RX", 2, "DCNT_IA_CM_MRA_TX", 2, "DCNT_IA_CM_REP_TX", 2,
		"DCNT_IA_CM_RTU_RX", 2, "DCNT_IA_CM_PASSIVE_EST", 2, "DCNT_IA_CM_DREQ_RX", 1,
		"DCNT_IA_SP_CR", 2, "DCNT_IA_SP_CR_ACCEPTED", 2, "DCNT_IA_CM_LISTEN", 2,
		"DCNT_IA_PSP_CREATE_ANY", 2, "DCNT_IA_PSP_CREATE", 0, "DCNT_IA_PSP_FREE", 2)
	all.addEnd(a)
	all.addEnd(b)
	a.free()
	b.free()
	countFailures(w, all)
	countObjects(w, p)
	countDatagrams(w, all)

	w.must("start", p.ia.StartCounters(groupLink))
	for i := range errors {
		if never[IACounters[iaLinks+i]] == "" {
			errors[i] = 7
		}
	}
	want(t, "links", p.ia, "DCNT_IA_LNK_ERR_RCV", 7, "DCNT_IA_LNK_ERR_XMT_DISCARDS", 7)
	w.must("stop", p.ia.StopCounters(groupLink))
	errors[0] = 99
	want(t, "stopped", p.ia, "DCNT_IA_LNK_ERR_RCV", 7)
	all.add(p.ia)
	all.add(q.ia)
	countBadNetwork(t, all)
	for _, name := range slices.Concat(IACounters, EPCounters, EVDCounters) {
		switch {
		case all[name] == 0 && never[name] == "":
			t.Errorf("%s is never counted", name)
		case all[name] != 0 && never[name] != "":
			t.Errorf("%s is %d, and is said to stay 0", name, all[name])
		}
	}
}

// countFailures has attempts to connect fail in each way.
func countFailures(w *world, all tally) {
	p, q := w.procs[0], w.procs[1]
	one, r := q.ia.NewEVD(1, 0, EVDCR)
	w.must("evd", r)
	psp, r := q.ia.NewPSP(77, one.Handle(), false)
	w.must("psp", r)
	begin := func(qualifier uint64, timeout time.Duration) *simEnd {
		e := p.end(nil)
		w.must("connect", e.ep.Connect(q.addr, qualifier, int64(timeout), nil))
		return e
	}
	late := begin(77, 3*time.Second)
	w.until(func() bool { return one.Len() == 1 })
	w.expect(begin(77, 0).con, EventPeerRejected) // the EVD is full
	w.expect(q.ia.Async, EventEVDOverflow)
	w.expect(late.con, EventTimedOut)
	w.next(one)
	rejected := begin(77, 0)
	w.must("reject", w.request(q, one).Reject([]byte("no")))
	w.expect(rejected.con, EventPeerRejected)
	w.expect(begin(78, 0).con, EventNonPeerRejected)
	want(w.t, "failed", p.ia, "DCNT_IA_CM_ERR_TIMEOUT", 1, "DCNT_IA_CM_USER_REJ_RX", 2,
		"DCNT_IA_CM_ERR_REJ_RX", 1, "DCNT_IA_CM_ERR_REFUSED", 9, "DCNT_IA_CM_ERR", 2)
	want(w.t, "failed there", q.ia, "DCNT_IA_CM_USER_REJ_TX", 1, "DCNT_IA_SP_CR_REJECTED", 1,
		"DCNT_IA_CM_ERR_REJ_TX", 1, "DCNT_IA_ASYNC_CQ_ERROR", 1, "DCNT_IA_ASYNC_ERROR", 1)
	cmStats{q.ia}.Full()

	forged := begin(77, 0) // an answer that nothing proves
	for _, b := range w.seen {
		if len(b) > 0 && cm.Kind(b[8]) == cm.Reject {
			b = bytes.Clone(b)
			copy(b[24:32], w.seen[len(w.seen)-1][16:24])
			arrivals{p.l}.OnPacket(cm.Own, p.addr, netip.AddrPortFrom(q.addr, ownPort), b)
			break
		}
	}
	want(w.t, "forged", p.ia, "DCNT_IA_CM_ERR_UNEXPECTED", 1)
	forged.free()
	w.must("psp_free", psp.Free())

	srq, r := p.ia.NewSRQ(p.pz.Handle(), 4, 1, 0)
	w.must("srq", r)
	a, b := p.end(nil), q.end(nil)
	ep, r := p.ia.NewEP(EPArgs{PZ: p.pz.Handle(), Recv: a.recv.Handle(), Request: a.req.Handle(),
		Connect: a.con.Handle(), SRQ: srq.Handle()})
	w.must("ep", r)
	a.ep = ep
	w.connect(a, b)
	w.must("disconnect", b.ep.Disconnect(false))
	w.expect(p.ia.Async, EventEPBroken)
	want(w.t, "shared", p.ia, "DCNT_IA_ASYNC_QP_ERROR", 1)
	w.must("ep_free", ep.Free())
	w.must("srq_free", srq.Free())
}

// countObjects makes and frees what the other tests do not.
func countObjects(w *world, p *proc) {
	pz, r := p.ia.NewPZ()
	w.must("pz", r)
	rmr, r := p.ia.NewRMR(pz.Handle(), false)
	w.must("rmr", r)
	lmr, r := p.ia.NewLMR(LMRArgs{Region: [2]uint64{p.part(0, 8).Addr}, Length: 8,
		PZ: pz.Handle()})
	w.must("lmr", r)
	e, cr := p.end(nil), p.evd(EVDCR)
	rsp, r := p.ia.NewRSP(99, e.ep.Handle(), cr.Handle())
	w.must("rsp", r)
	for _, free := range []func() codes.Return{rsp.Free, rmr.Free, lmr.Free, pz.Free} {
		w.must("free", free())
	}
	want(w.t, "objects", p.ia, "DCNT_IA_RSP_CREATE", 1, "DCNT_IA_RSP_FREE", 1, "DCNT_IA_RMR_FREE", 1,
		"DCNT_IA_LMR_CREATE", 2, "DCNT_IA_LMR_FREE", 1, "DCNT_IA_PZ_CREATE", 2, "DCNT_IA_PZ_FREE", 1)
}

func countDatagrams(w *world, all tally) {
	p, q := w.procs[0], w.procs[1]
	attr := DefaultAttr
	attr.Service = ServiceUD
	a, b := p.end(&attr), q.end(&attr)
	ah, qpn := w.connectUD(a, b)
	for range 2 { // the second is too long for its receive
		w.must("recv", b.ep.PostReceive([]Triplet{q.part(0, 48)}, 1, 0))
	}
	for _, n := range []int{8, 9} {
		w.must("send", a.ep.PostUD([]Triplet{p.part(0, n)}, ah, qpn, 2, 0))
		w.next(b.recv)
	}
	want(w.t, "datagrams", a.ep, "DCNT_EP_POST_SEND_UD", 2, "DCNT_EP_POST_SEND_UD_DATA", 17)
	want(w.t, "datagrams", b.ep, "DCNT_EP_RECV_UD", 1, "DCNT_EP_RECV_UD_DATA", 48)
	want(w.t, "datagrams", p.ia, "DCNT_IA_CM_AH_REQ_TX", 1, "DCNT_IA_CM_AH_RESOLVED", 1)
	want(w.t, "datagrams", q.ia, "DCNT_IA_CM_AH_REQ_RX", 1, "DCNT_IA_CM_AH_RESOLVED", 1)
	all.addEnd(a)
	all.addEnd(b)
}

// countBadNetwork has messages of the connection manager lost and doubled.
func countBadNetwork(t *testing.T, all tally) {
	w := newWorld(t, 4, 2, simnet.Way{Loss: 0.3, Duplicate: 0.5, DelayMin: time.Millisecond,
		DelayMax: 50 * time.Millisecond})
	p, q := w.procs[0], w.procs[1]
	for range 20 {
		w.connect(p.end(nil), q.end(nil))
	}
	w.run(5 * time.Second)
	all.add(p.ia)
	all.add(q.ia)
}

// TestCounterReset: one counter is reset, or all; a group begins at 0 and stops.
func TestCounterReset(t *testing.T) {
	w := newWorld(t, 5, 1, simnet.Way{})
	ia := w.procs[0].ia
	if v := Counters(ia, iaPZCreate, true); v[iaPZCreate] != 1 || v[iaLMRCreate] != 1 {
		t.Fatalf("%d, %d", v[iaPZCreate], v[iaLMRCreate])
	}
	if v := Counters(ia, numIACounters, true); v[iaPZCreate] != 0 || v[iaLMRCreate] != 1 {
		t.Errorf("after one was reset: %d, %d", v[iaPZCreate], v[iaLMRCreate])
	}
	if v := Counters(ia, 0, false); slices.Max(v) != 0 {
		t.Errorf("after all were: %d", v)
	}
	cr := w.procs[0].evd(EVDCR)
	listen := func() {
		psp, r := ia.NewPSPAny(cr.Handle(), false)
		w.must("psp", r)
		w.must("psp_free", psp.Free())
	}
	listen()
	w.must("stop", ia.StopCounters(groupCM))
	listen()
	want(t, "stopped", ia, "DCNT_IA_CM_LISTEN", 1, "DCNT_IA_PSP_CREATE_ANY", 2)
	w.must("start", ia.StartCounters(groupCM))
	want(t, "started", ia, "DCNT_IA_CM_LISTEN", 0)
	listen()
	want(t, "running", ia, "DCNT_IA_CM_LISTEN", 1)
	for group, r := range map[int]codes.Return{groupDiag: codes.ModelNotSupported.With(0),
		groupLink: codes.ModelNotSupported.With(0), 3: codes.Arg(2), -1: codes.Arg(2)} {
		if got := ia.StartCounters(group); got != r {
			t.Errorf("group %d: %#x", group, uint32(got))
		}
	}
}
