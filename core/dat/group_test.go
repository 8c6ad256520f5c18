package dat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/simnet"
)

// simKernel adds numbers of 64 bits: operation 2, type 7.
type simKernel struct{}

func (simKernel) Size(op, typ int) int {
	if op == 2 && typ == 7 {
		return 8
	}
	return 0
}

func (simKernel) Reduce(_, _ int, inout, in transport.Addr, count uint64) {
	to, from := memory.Bytes(inout, 8*count), memory.Bytes(in, 8*count)
	for i := 0; i < len(to); i += 8 {
		binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(to[i:])+
			binary.LittleEndian.Uint64(from[i:]))
	}
}

// simMember is a member of a group in a process.
type simMember struct {
	p    *proc
	evd  *EVD
	blob MemberAddress
	at   uint64
	psp  *PSP // that it is named by, instead of a blob
	g    *Collective
}

// members makes members, in processes one after the other.
func (w *world) members(n int) (list []*simMember) {
	for i := range n {
		m := &simMember{p: w.procs[i%len(w.procs)]}
		m.evd = m.p.evd(EVDExtension)
		at, size, r := m.p.ia.NewMember()
		w.must("create_member", r)
		var ok bool
		m.at = at
		m.blob, ok = MemberOf(memory.Bytes(transport.Addr(at), uint64(size)))
		if !ok {
			w.t.Fatal("a blob that is none")
		}
		list = append(list, m)
	}
	return list
}

func addressesOf(list []*simMember) (a []MemberAddress) {
	for _, m := range list {
		a = append(a, m.blob)
	}
	return a
}

// create calls create_group at one member.
func (m *simMember) create(list []*simMember, self int, id uint32) codes.Return {
	return m.evd.NewGroup(GroupArgs{Members: addressesOf(list), Self: self, ID: id,
		PZ: m.p.pz.Handle(), Context: uint64(self) + 100})
}

// group makes a group of all.
func (w *world) group(list []*simMember, id uint32) {
	w.t.Helper()
	for i, m := range list {
		w.must("create_group", m.create(list, i, id))
	}
	for i, m := range list {
		h, context := w.collective(m, uint32(coll.Create), 0)
		if context != uint64(i)+100 {
			w.t.Fatalf("member %d: the event has context %d", i, context)
		}
		var r codes.Return
		m.g, r = Find[*Collective](m.p.l, h, codes.InvalidHandle1)
		w.must("handle", r)
	}
}

// collective waits for an event of a group.
func (w *world) collective(m *simMember, kind, status uint32) (Handle, uint64) {
	w.t.Helper()
	ev := w.expect(m.evd, EventCollective)
	le := binary.LittleEndian
	k, s := le.Uint32(ev.Extension[0:]), le.Uint32(ev.Extension[4:])
	if k != kind || s != status {
		w.t.Fatalf("event of type %d with status %d, want %d and %d", k, s, kind, status)
	}
	return Handle(le.Uint64(ev.Extension[16:])), le.Uint64(ev.Extension[24:])
}

// sum is an allreduce of count numbers, all rank+1.
func (m *simMember) sum(rank, count, at int) *coll.Args {
	for i := range count {
		binary.LittleEndian.PutUint64(m.p.memory[at+8*i:], uint64(rank+1))
	}
	addr := memory.AddrOf(m.p.memory) + transport.Addr(at)
	return &coll.Args{Kind: coll.Allreduce, Op: 2, Type: 7, Context: uint64(at),
		Send: coll.Parts{One: coll.Span{Addr: addr, N: uint64(8 * count)}},
		Recv: coll.Parts{One: coll.Span{Addr: addr + transport.Addr(8*count),
			N: uint64(8 * count)}}}
}

var lossy = simnet.Way{Loss: 0.1, Duplicate: 0.1, DelayMax: time.Millisecond,
	DelayMin: 10 * time.Microsecond}

// TestGroup: a group over a bad network, with several members in a process: several operations
// under way come to the right results, in order.
func TestGroup(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed, 3, lossy)
			n := 2 + int(seed)%5
			list := w.members(n)
			w.group(list, 5)
			const calls, room = 4, simMemory / 2
			for k := range calls {
				for i, m := range list {
					at := i / 3 * room // of its process
					c := 1 + k*300
					w.must("allreduce", m.g.Post(m.sum(i, c, at+k*16*1000)))
				}
			}
			for k := range calls {
				for i, m := range list {
					_, context := w.collective(m, uint32(coll.Allreduce), 0)
					at, c := i/3*room+k*16*1000, 1+k*300
					if context != uint64(at) {
						t.Fatalf("member %d: operation %d is not the next", i, k)
					}
					for _, x := range []int{0, c - 1} {
						got := binary.LittleEndian.Uint64(m.p.memory[at+8*c+8*x:])
						if got != uint64(n*(n+1)/2) {
							t.Fatalf("member %d: the sum is %d", i, got)
						}
					}
				}
			}
			for i, m := range list {
				w.must("free_group", m.g.Free())
				w.must("free_member", m.p.ia.FreeMember(m.at))
				w.must("evd_free", m.evd.Free())
				list[i].g = nil
			}
			w.run(time.Second)
			for _, p := range w.procs {
				for _, c := range p.l.groups.list {
					if c != nil {
						t.Error("a group that was freed stays")
					}
				}
				for _, o := range p.l.peers.known {
					if len(o.members)+len(p.l.groups.making) > 0 {
						t.Error("a member of a group that was freed stays")
					}
				}
			}
		})
	}
}

// TestGroupLongDouble: members agree on long double if all have one format.
func TestGroupLongDouble(t *testing.T) {
	for _, test := range []struct {
		bits [2]uint8
		same bool
	}{{[2]uint8{64, 64}, true}, {[2]uint8{113, 113}, true}, {[2]uint8{64, 113}, false},
		{[2]uint8{106, 113}, false}, {[2]uint8{64, 0}, false}} {
		w := newWorld(t, 1, 2, lossy)
		for i, p := range w.procs {
			p.l.cfg.LongDouble = test.bits[i]
		}
		list := w.members(4)
		w.group(list, 5)
		for i, m := range list {
			if m.g.group.OneLongDouble() != test.same {
				t.Errorf("%v: member %d has agreed: %v", test.bits, i, !test.same)
			}
		}
	}
}

// TestGroupDeath: a process dies; all operations of its groups end with errors, at all others.
func TestGroupDeath(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t, seed, 4, lossy)
		list := w.members(4)
		w.group(list, 5)
		for i, m := range list[:3] {
			w.must("allreduce", m.g.Post(m.sum(i, 100, 0)))
			w.must("barrier", m.g.Post(&coll.Args{Kind: coll.Barrier, Suppress: true}))
		}
		w.run(time.Duration(seed) * time.Millisecond)
		w.procs[3].kill()
		for _, m := range list[:3] {
			w.collective(m, uint32(coll.Allreduce), 2)
			w.collective(m, uint32(coll.Barrier), 2)
			w.must("barrier", m.g.Post(&coll.Args{Kind: coll.Barrier}))
			w.collective(m, uint32(coll.Barrier), 2)
			w.must("free_group", m.g.Free())
		}
	}
}

// TestGroupExit: a program ends once its last operation has completed there, and frees nothing.
// Messages that the network has lost are still resent, so the others complete it too.
func TestGroupExit(t *testing.T) {
	for seed := range uint64(12) {
		w := newWorld(t, seed, 4, lossy)
		list := w.members(4)
		w.group(list, 5)
		const calls = 3
		for k := range calls {
			for i, m := range list {
				w.must("allreduce", m.g.Post(m.sum(i, 100, 2000*k)))
			}
		}
		for range calls {
			w.collective(list[3], uint32(coll.Allreduce), 0)
		}
		p := w.procs[3]
		p.closing = true
		p.l.LeaveGroups()
		p.kill()
		for _, m := range list[:3] {
			for range calls {
				w.collective(m, uint32(coll.Allreduce), 0)
			}
			w.must("barrier", m.g.Post(&coll.Args{Kind: coll.Barrier}))
			w.collective(m, uint32(coll.Barrier), 2)
		}
	}
}

// TestGroupNeverComes: a member does not call create_group; the others get a failure in time.
func TestGroupNeverComes(t *testing.T) {
	w := newWorld(t, 1, 3, simnet.Way{})
	list := w.members(3)
	begin := w.net.Now()
	for i, m := range list[:2] {
		w.must("create_group", m.create(list, i, 9))
	}
	for _, m := range list[:2] {
		if h, _ := w.collective(m, extGroupFailed, 2); h != 0 {
			t.Error("a group that was not made has a handle")
		}
		w.must("evd_free", m.evd.Free())
	}
	if took := w.net.Now() - begin; took > 3*int64(simTimeout) {
		t.Errorf("it took %d ns", took)
	}
	// those that have come may try again, without it
	for _, m := range list[:2] {
		m.evd = m.p.evd(EVDExtension)
	}
	w.group(list[:2], 9)
}

// TestGroupOrphan: the process of a member is gone before the others create the group, or while
// they do. All others get a failure long before the time for a creation is over, also those that the
// member would have connected to.
func TestGroupOrphan(t *testing.T) {
	for victim := range 4 {
		for _, late := range []bool{false, true} {
			w := newWorld(t, uint64(victim), 4, lossy)
			list := w.members(4)
			if !late {
				w.procs[victim].die()
			}
			begin := w.net.Now()
			for i, m := range list {
				if i == victim && late || i == (victim+1)%4 {
					continue // of those that come later, or never
				}
				if i != victim {
					w.must("create_group", m.create(list, i, 9))
				}
			}
			if late {
				w.run(300 * time.Millisecond)
				w.procs[victim].die()
			}
			w.must("create_group", list[(victim+1)%4].create(list, (victim+1)%4, 9))
			for i, m := range list {
				if i != victim {
					w.collective(m, extGroupFailed, 2)
				}
			}
			if took := w.net.Now() - begin; took > int64(simTimeout) {
				t.Errorf("member %d, late is %v: it took %d ns", victim, late, took)
			}
		}
	}
}

// TestGroupGivenUp: a member gives up while others wait for a third that does not come. They get a
// failure long before the time for a creation is over.
func TestGroupGivenUp(t *testing.T) {
	w := newWorld(t, 3, 3, lossy)
	list := w.members(3)
	for i, m := range list[:2] {
		w.must("create_group", m.create(list, i, 9))
	}
	w.run(300 * time.Millisecond)
	begin := w.net.Now()
	w.procs[0].leave()
	w.collective(list[1], extGroupFailed, 2)
	if took := w.net.Now() - begin; took > int64(simTimeout)/2 {
		t.Errorf("it took %d ns", took)
	}
}

// TestGroupLate: members call create_group one after the other, in any order.
func TestGroupLate(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		w := newWorld(t, 2, 3, lossy)
		list := w.members(3)
		for _, i := range order {
			w.must("create_group", list[i].create(list, i, 9))
			w.run(500 * time.Millisecond)
		}
		for _, m := range list {
			w.collective(m, uint32(coll.Create), 0)
		}
	}
}

// TestGroupByServicePoint: members may be named by service points, too.
func TestGroupByServicePoint(t *testing.T) {
	w := newWorld(t, 3, 2, lossy)
	list := w.members(3)
	for i := range list[:2] {
		m := list[i]
		psp, r := m.p.ia.NewPSP(uint64(77+i), m.p.evd(EVDCR).Handle(), false)
		w.must("psp", r)
		m.blob = MemberAddress{Addr: m.p.addr, Qualifier: psp.Qualifier}
	}
	w.group(list, 1) // the third one is a blob
	for i, m := range list {
		w.must("barrier", m.g.Post(&coll.Args{Kind: coll.Barrier, Context: uint64(i)}))
	}
	for _, m := range list {
		w.collective(m, uint32(coll.Barrier), 0)
	}
}

// TestGroupImpostor: a process that listens, or connects, without the key of the blob is no member.
func TestGroupImpostor(t *testing.T) {
	for _, forged := range []int{0, 1} { // the side that listens, and the side that connects
		w := newWorld(t, 4, 2, simnet.Way{})
		list := w.members(2)
		other := *list[forged].blob.Blob
		other.Key[0] ^= 1
		honest := list[forged].blob
		for i, m := range list {
			list[forged].blob = honest
			if i != forged {
				list[forged].blob.Blob = &other
			}
			w.must("create_group", m.create(list, i, 9))
		}
		for _, m := range list {
			w.collective(m, extGroupFailed, 2)
		}
	}
}

// TestGroupArguments: what create_group does not take.
func TestGroupArguments(t *testing.T) {
	w := newWorld(t, 5, 2, simnet.Way{})
	list := w.members(2)
	m := list[0]
	good := GroupArgs{Members: addressesOf(list), PZ: m.p.pz.Handle(), ID: 4}
	for name, change := range map[string]func(a *GroupArgs) codes.Return{
		"pz":      func(a *GroupArgs) codes.Return { a.PZ = 0; return codes.BadHandle(codes.InvalidHandlePZ) },
		"nobody":  func(a *GroupArgs) codes.Return { a.Members = nil; return codes.Arg(2) },
		"self":    func(a *GroupArgs) codes.Return { a.Self = 2; return codes.Arg(3) },
		"another": func(a *GroupArgs) codes.Return { a.Self = 1; return codes.Arg(1) },
		"info": func(a *GroupArgs) codes.Return {
			a.Info = &GroupInfo{LocalSize: 3}
			return codes.Arg(5)
		},
	} {
		a := good
		if want, got := change(&a), m.evd.NewGroup(a); got != want {
			t.Errorf("%s: %#x, want %#x", name, uint32(got), uint32(want))
		}
	}
	w.must("create_group", m.evd.NewGroup(good))
	if r := m.evd.NewGroup(good); r != codes.Arg(4) {
		t.Errorf("the same group twice: %#x", uint32(r))
	}
	if r := m.evd.Free(); r.Type() != codes.InvalidState {
		t.Errorf("the EVD of a group is freed: %#x", uint32(r))
	}
}

// TestGroupInfo: what a program says of the nodes is checked, and followed where it is right.
func TestGroupInfo(t *testing.T) {
	good := GroupInfo{LocalSize: 2, LocalRank: 1, LocalRanks: []int32{0, 1}, ExternalSize: 2,
		ExternalRank: 0, ExternalRanks: []int32{1, 2}, Intranode: []int32{0, 1, -1},
		Internode: []int32{-1, 0, 1}}
	if !good.legal(3, 1) || !(&GroupInfo{}).legal(3, 1) {
		t.Error("a good one is refused")
	}
	if !good.leads([]int{0, 1}) || good.leads([]int{1, 2}) || good.leads([]int{0, 1, 2}) {
		t.Error("the wrong nodes are believed")
	}
	for name, change := range map[string]func(i *GroupInfo){
		"local size":     func(i *GroupInfo) { i.LocalSize = 4 },
		"local rank":     func(i *GroupInfo) { i.LocalRank = 2 },
		"another's":      func(i *GroupInfo) { i.LocalRank = 0 },
		"a rank twice":   func(i *GroupInfo) { i.LocalRanks = []int32{1, 1} },
		"no such rank":   func(i *GroupInfo) { i.LocalRanks = []int32{3, 1} },
		"external size":  func(i *GroupInfo) { i.ExternalSize = -1 },
		"external rank":  func(i *GroupInfo) { i.ExternalRank = -2 },
		"not external":   func(i *GroupInfo) { i.ExternalRank = -1 },
		"intranode":      func(i *GroupInfo) { i.Intranode = []int32{1, 0, -1} },
		"internode":      func(i *GroupInfo) { i.Internode = []int32{0, 0, 1} },
		"too high there": func(i *GroupInfo) { i.Internode = []int32{2, 0, 1} },
	} {
		i := good
		if change(&i); i.legal(3, 1) {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestGroupRequestExpires: a request that no group comes for is not kept for ever.
func TestGroupRequestExpires(t *testing.T) {
	w := newWorld(t, 6, 2, simnet.Way{})
	list := w.members(2)
	w.must("create_group", list[1].create(list, 1, 9))
	if !w.until(func() bool { return len(w.procs[0].l.groups.requests) == 1 }) {
		t.Fatal("the request does not come")
	}
	w.procs[1].kill()
	if !w.until(func() bool { return len(w.procs[0].l.groups.requests) == 0 }) {
		t.Error("the request stays")
	}
}

// FuzzJoin: what a process says when it connects as a member is taken or rejected, whatever it is.
func FuzzJoin(f *testing.F) {
	good := make([]byte, joinSize)
	for i, v := range []uint32{joinMagic, 9, 2, 1, 0} {
		binary.LittleEndian.PutUint32(good[4*i:], v)
	}
	f.Add(good)
	f.Add(good[:8])
	worlds := lasting(f, 2)
	var list []*simMember
	blobs := false
	f.Fuzz(func(t *testing.T, private []byte) {
		if len(private) > PrivateMax {
			return
		}
		w, anew := worlds.For(t)
		if anew {
			if blobs = !blobs; blobs {
				list = w.members(2)
			} else {
				list = w.servicePoints(2)
			}
			w.must("create_group", list[0].create(list, 0, 9))
		}
		l := w.procs[1].l
		x := &groupMember{c: &Collective{}, rank: 0}
		x.c.ia, x.c.over = w.procs[1].ia, true
		b := list[0].blob // or a service point
		_, _, r := l.dial(x, b.Addr, b.Qualifier, serviceGroup, 1e9, private, nil)
		w.must("dial", r)
		w.run(100 * time.Millisecond)
		if list[0].evd.Len() > 0 { // the group is there, or is given up
			worlds.Spoil()
		}
	})
}

// FuzzCollective: a message of a process that is in no group, or in one, does not make this one
// panic, and the group completes its next operation or reports its end.
func FuzzCollective(f *testing.F) {
	f.Add(make([]byte, coll.HeaderSize), []byte{1})
	worlds := lasting(f, 2)
	var list []*simMember
	f.Fuzz(func(t *testing.T, header, data []byte) {
		w, anew := worlds.For(t)
		if anew {
			list = w.members(2)
			w.group(list, 5)
		}
		c := list[0].g
		if header = bytes.Clone(header); len(header) >= 8 { // so that more than the lookup is tried
			binary.LittleEndian.PutUint32(header, c.index)
			binary.LittleEndian.PutUint32(header[4:], c.tag)
		}
		link, ep := c.members[1].peer.link()
		c.ia.library.groups.onMessage(link, &transport.Msg{From: ep, Hdr: header,
			Data: bytes.Clone(data)})
		for _, m := range list {
			w.must("barrier", m.g.Post(&coll.Args{Kind: coll.Barrier}))
		}
		good := true
		for _, m := range list {
			ev := w.expect(m.evd, EventCollective)
			good = good && binary.LittleEndian.Uint32(ev.Extension[4:]) == 0
		}
		if !good { // the message has ended the group
			worlds.Spoil()
		}
	})
}
