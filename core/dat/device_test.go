package dat

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// TestDeviceTransfers: each operation is the adapter's own.
func TestDeviceTransfers(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	p, q := l.hosts[0], l.hosts[1]
	a, b := l.pair(nil)
	copy(p.b, "data of the first")
	post := func(op rc.Op, n uint32, change func(x *PostArgs)) {
		t.Helper()
		x := PostArgs{Op: op, Triplets: p.local(0, n), Remote: q.remote(512, n)}
		if change != nil {
			change(&x)
		}
		l.must("post", a.Post(x))
	}
	l.must("receive", b.PostReceive(q.local(0, 100), 1, 0))
	post(rc.Send, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoSend)
	l.wantDTO(b.recv, rc.Success, 17, dtoReceive)
	post(rc.Write, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoWrite)
	if string(q.b[:17]) != "data of the first" || string(q.b[512:529]) != "data of the first" {
		t.Errorf("%q, %q", q.b[:17], q.b[512:529])
	}
	copy(q.b[512:], "data of the other")
	post(rc.Read, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoRead)
	if string(p.b[:17]) != "data of the other" {
		t.Errorf("read %q", p.b[:17])
	}
	l.must("receive", b.PostReceive(q.local(0, 100), 1, 0))
	post(rc.Write, 8, func(x *PostArgs) { x.Immediate, x.Data = true, 0x1234 })
	l.wantDTO(a.req, rc.Success, 8, dtoWriteImmed)
	l.turn()
	if ev := b.recv.take(); binary.LittleEndian.Uint32(ev.Extension[8:]) != 0x1234 ||
		binary.LittleEndian.Uint32(ev.Data[20:]) != 8 || ev.Number != EventExtendedDTO {
		t.Errorf("immediate data: %+v", ev)
	}
	binary.NativeEndian.PutUint64(q.b[512:], 40)
	post(rc.FetchAdd, 8, func(x *PostArgs) { x.Operand = 2 })
	l.wantDTO(a.req, rc.Success, 8, dtoFetchAdd)
	post(rc.CompareSwap, 8, func(x *PostArgs) { x.Compare, x.Operand = 42, 7 })
	l.wantDTO(a.req, rc.Success, 8, dtoCompareSwap)
	if v := binary.NativeEndian.Uint64(q.b[512:]); v != 7 ||
		binary.NativeEndian.Uint64(p.b) != 42 {
		t.Errorf("%d, of which the old value was %d", v, binary.NativeEndian.Uint64(p.b))
	}
	post(rc.Write, 8, func(x *PostArgs) { x.Flags = Suppress })
	l.expect(a.req, 0)
}

// TestDeviceEnds: each way in which a connection ends.
func TestDeviceEnds(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	l.must("receive", b.PostReceive(b.h.local(0, 1), 9, 0))
	l.must("disconnect", a.Disconnect(true))
	l.expect(a.con, EventDisconnected)
	l.expect(b.con, EventDisconnected)
	l.wantDTO(b.recv, rc.Flushed, 0, dtoReceive)
	l.must("reset", a.Reset())
	l.must("again", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
	cr := l.request(b.h)
	l.must("reject", cr.Reject([]byte("no")))
	ev := l.expect(a.con, EventPeerRejected)
	got := make([]byte, 2)
	if memory.CopyOut(got, transport.Addr(binary.LittleEndian.Uint64(ev.Data[16:]))) != nil ||
		string(got) != "no" {
		t.Errorf("rejected with %q", got)
	}

	a, b = l.pair(nil) // a graceful end waits for a send, which waits for a receive
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.must("disconnect", a.Disconnect(true))
	l.expect(a.con, 0)
	l.must("receive", b.PostReceive(b.h.local(0, 4), 9, 0))
	l.wantDTO(b.recv, rc.Success, 4, dtoReceive)
	l.wantDTO(a.req, rc.Success, 4, dtoSend)
	l.expect(a.con, EventDisconnected)

	a, b = l.pair(nil) // an abrupt one does not; and the peer's endpoint is freed meanwhile
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.must("disconnect", a.Disconnect(false))
	l.must("free", b.Free())
	l.wantDTO(a.req, rc.Flushed, 0, dtoSend)
	l.expect(a.con, EventDisconnected)
	l.must("late", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.wantDTO(a.req, rc.Flushed, 0, dtoSend)

	a, b = l.pair(nil) // a peer that does not answer
	l.f.Silent[b.h.ia.Addr] = true
	l.must("disconnect", a.Disconnect(false))
	l.expect(a.con, 0)
	l.now += device.AbruptTimeout
	l.expect(a.con, EventDisconnected)
	delete(l.f.Silent, b.h.ia.Addr)
}

// TestDeviceNobody: a request is repeated while the peer does not listen yet, but not for ever.
func TestDeviceNobody(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, q := l.hosts[0].end(nil), l.hosts[1]
	l.must("connect", a.Connect(q.ia.Addr, 8, 100e9, nil))
	l.expect(a.con, 0)
	psp, r := q.ia.NewPSP(8, q.crs.Handle(), false)
	l.must("psp", r)
	for range 10 {
		l.now += 100e6
		l.turn()
	}
	l.must("reject", l.request(q).Reject(nil))
	l.expect(a.con, EventPeerRejected)
	l.must("free", psp.Free())
	l.must("reset", a.Reset())
	l.must("connect", a.Connect(q.ia.Addr, 8, 100e9, nil))
	for range 100 {
		l.now += 100e6
		l.turn()
	}
	l.expect(a.con, EventNonPeerRejected)

	for silent, want := range map[bool]EventNumber{true: EventTimedOut, false: EventUnreachable} {
		l.must("reset", a.Reset())
		l.f.Silent[q.ia.Addr] = silent
		to := q.ia.Addr
		if !silent {
			to = netip.AddrFrom4([4]byte{10, 9, 9, 9})
		}
		l.must("connect", a.Connect(to, 7, 1e9, nil))
		l.turn()
		l.now += 1e9
		l.expect(a.con, want)
	}
	delete(l.f.Silent, q.ia.Addr)
}

// TestDeviceBroken: a request that fails ends its connection, and so do failures of the adapter.
func TestDeviceBroken(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	for name, c := range map[string]struct {
		post   func(a, b *labEnd)
		status rc.Status
	}{
		"key": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Write, Triplets: a.h.local(0, 8),
				Remote: Triplet{Addr: 1, N: 8, Context: 77}})
		}, rc.RemoteAccess},
		"local": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: []Triplet{{Addr: 1, N: 8, Context: 77}}})
		}, rc.LocalProtection},
		"long": {func(a, b *labEnd) {
			_ = b.PostReceive(b.h.local(0, 1), 0, 0)
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
		}, rc.RemoteResponder},
		"adapter": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
			a.h.d.Raise(ibv.Event{Kind: ibv.QPFailed, QPN: a.way.(deviceWay).Number()})
		}, rc.Flushed},
		"refused": {func(a, b *labEnd) {
			a.h.d.Refuse["PostSend"] = errors.New("full")
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
			delete(a.h.d.Refuse, "PostSend")
		}, rc.Transport},
	} {
		a, b := l.pair(nil)
		c.post(a, b)
		if s, _, _ := l.dto(a.req); s != c.status {
			t.Errorf("%s: status %d, not %d", name, s, c.status)
		}
		l.expect(a.con, EventBroken)
		l.turn()
		if ev := b.con.take(); ev.Number != EventDisconnected && ev.Number != EventBroken {
			t.Errorf("%s: event %#x at the peer", name, ev.Number)
		}
		l.must("free", a.Free())
		l.must("free", b.Free())
	}
	a, _ := l.pair(nil)
	a.h.d.Raise(ibv.Event{Kind: ibv.Fatal})
	l.expect(a.con, EventBroken)
	l.expect(a.h.ia.Async, EventIACatastrophic)
	l.now += int64(20 * time.Second) // what was remembered for the peer's answer is forgotten
	l.turn()
}

// TestDeviceReads: without reads that may be under way none can be posted; the connection ends.
func TestDeviceReads(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(func(x *Attr, _ *EPArgs) { x.MaxReadsIn, x.MaxReadsOut = 0, 0 })
	l.must("read", a.Post(PostArgs{Op: rc.Read, Triplets: a.h.local(0, 8), Remote: b.h.remote(0, 8)}))
	l.wantDTO(a.req, rc.Status(3), 0, dtoRead)
	l.expect(a.con, EventBroken)
}

// TestDeviceShared: receives of an SRQ are taken in order, by any endpoint.
func TestDeviceShared(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	q := l.hosts[1]
	srq, r := q.ia.NewSRQ(q.pz.Handle(), 8, 1, 0)
	l.must("srq", r)
	var ends [2][2]*labEnd
	for i := range ends {
		a, b := l.hosts[0].end(nil), q.end(func(x *Attr, p *EPArgs) { p.SRQ = srq.Handle() })
		l.must("connect", a.Connect(q.ia.Addr, 7, 1e9, nil))
		l.must("accept", l.request(q).Accept(b.Handle(), nil))
		l.expect(a.con, EventEstablished)
		l.expect(b.con, EventEstablished)
		ends[i] = [2]*labEnd{a, b}
	}
	for i := range 4 {
		l.must("post", srq.Post(q.local(i*16, 16), uint64(i)))
	}
	if n, taken := srq.Counts(); n != 4 || taken != Unknown {
		t.Errorf("%d receives wait, %d are taken", n, taken)
	}
	for i := range 4 {
		e := ends[i%2]
		l.must("send", e[0].Post(PostArgs{Op: rc.Send, Triplets: e[0].h.local(0, 4)}))
		l.wantDTO(e[1].recv, rc.Success, 4, dtoReceive)
	}
	if n, taken := srq.Counts(); n != 0 || taken != Unknown {
		t.Errorf("%d receives are left, %d are taken", n, taken)
	}
	l.must("disconnect", ends[0][0].Disconnect(false))
	l.expect(ends[0][1].con, EventDisconnected)
	l.expect(q.ia.Async, EventEPBroken)
	l.must("resize", srq.Resize(9))
}

// TestDeviceDatagrams: a UD endpoint gets address handles by connecting, and sends by them.
func TestDeviceDatagrams(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	ud := func(x *Attr, _ *EPArgs) { x.Service, x.MaxReadsIn, x.MaxReadsOut = ServiceUD, 0, 0 }
	a, b := l.hosts[0].end(ud), l.hosts[1].end(ud)
	l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, []byte("me")))
	ev := l.expect(b.h.crs, EventUDRequest)
	cr, r := find[*CR](b.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	l.must("request", r)
	if string(cr.data[:2]) != "me" {
		t.Errorf("private data %q", cr.data)
	}
	l.must("accept", cr.Accept(b.Handle(), []byte("you")))
	for _, e := range [][2]*labEnd{{a, b}, {b, a}} {
		ev := l.expect(e[0].con, EventUDEstablished)
		ah := Handle(binary.LittleEndian.Uint64(ev.Extension[16:]))
		qpn := binary.LittleEndian.Uint32(ev.Extension[24:])
		l.must("receive", e[1].PostReceive(e[1].h.local(0, 100), 3, 0))
		l.must("send", e[0].PostUD(e[0].h.local(0, 10), ah, qpn, 1, 0))
		l.wantDTO(e[0].req, rc.Success, 10, dtoSendUD)
		l.wantDTO(e[1].recv, rc.Success, 50, dtoReceiveUD)
		l.must("free", e[0].FreeAH(ah))
	}
	l.must("receive", b.PostReceive(b.h.local(0, 100), 3, 0))
	l.must("free", b.Free())
	l.wantDTO(b.recv, rc.Flushed, 0, dtoReceiveUD)
	l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
	ev = l.expect(b.h.crs, EventUDRequest)
	cr, r = find[*CR](b.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	l.must("request", r)
	l.must("reject", cr.Reject([]byte("no")))
	l.expect(a.con, EventUDReject)
	l.must("connect", a.Connect(b.h.ia.Addr, 9, 100e9, nil))
	for range 100 {
		l.now += 100e6
		l.turn()
	}
	l.expect(a.con, EventUDError)
}

// TestDeviceWindows: an RMR is a key of its own, which ends with it.
func TestDeviceWindows(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	m, r := b.h.ia.NewRMR(b.h.pz.Handle(), false)
	l.must("rmr", r)
	bind := func(n uint32) uint32 {
		tr := b.h.local(64, n)
		context, r := m.Bind(BindArgs{LMR: b.h.lmr.Handle(), Triplet: tr[0],
			Privileges: RemoteRead, EP: b.Handle()})
		l.must("bind", r)
		l.expect(b.req, EventBind)
		return context
	}
	context := bind(32)
	read := func(n uint32) {
		x := b.h.remote(64, n)
		x.Context = context
		l.must("read", a.Post(PostArgs{Op: rc.Read, Triplets: a.h.local(0, n), Remote: x}))
	}
	read(32)
	l.wantDTO(a.req, rc.Success, 32, dtoRead)
	bind(0)
	read(32)
	l.wantDTO(a.req, rc.RemoteAccess, 0, dtoRead)
	l.expect(a.con, EventBroken)
}
