package dat

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"lapi/core/dat/cm"
	"lapi/core/dat/coll"
	"lapi/core/dat/rc"
	"lapi/transport/simnet"
)

// thieves are a server, a client, and a thief that claims the client's process number.
func thieves(t *testing.T) (w *world, server, alice, thief *proc) {
	w = newWorld(t, 11, 3, simnet.Way{})
	server, alice, thief = w.procs[0], w.procs[1], w.procs[2]
	thief.l.node.name = alice.l.node.name
	return w, server, alice, thief
}

// send sends text from a to b, and says whether it arrives there.
func (w *world) send(a, b *simEnd, text string) bool {
	w.t.Helper()
	copy(a.p.memory[100:], text)
	clear(b.p.memory[:len(text)])
	w.must("recv", b.ep.PostReceive([]Triplet{b.p.part(0, 100)}, 1, 0))
	w.must("send", a.ep.Post(PostArgs{Op: rc.Send,
		Triplets: []Triplet{a.p.part(100, len(text))}}))
	w.until(func() bool { return a.req.Len() > 0 })
	a.req.Dequeue()
	w.until(func() bool { return b.recv.Len() > 0 })
	b.recv.Dequeue()
	return string(b.p.memory[:len(text)]) == text
}

// TestClaimedNumber: a process that claims another's number neither gets the other's data nor keeps
// it out, whichever of them comes first and whichever connects.
func TestClaimedNumber(t *testing.T) {
	for _, first := range []bool{true, false} {
		for _, active := range []bool{true, false} {
			t.Run(fmt.Sprintf("thief first %v active %v", first, active), func(t *testing.T) {
				w, server, alice, thief := thieves(t)
				clients := []*proc{alice, thief}
				if first {
					clients = []*proc{thief, alice}
				}
				ends := map[*proc][2]*simEnd{}
				for _, p := range clients {
					a, b := p.end(nil), server.end(nil)
					if ends[p] = [2]*simEnd{a, b}; active {
						w.connect(a, b)
					} else {
						w.connect(b, a)
					}
				}
				for _, p := range clients {
					text := map[*proc]string{alice: "for alice", thief: "for thief"}[p]
					if !w.send(ends[p][1], ends[p][0], text) {
						t.Errorf("%q is lost", text)
					}
				}
				if ends[alice][1].ep.peer == ends[thief][1].ep.peer {
					t.Error("the two are one peer")
				}
			})
		}
	}
}

// TestClaimedNumberInGroup: a group of two members of one number is made, and each gets its own
// data.
func TestClaimedNumberInGroup(t *testing.T) {
	w, server, _, thief := thieves(t)
	a, b := thief.end(nil), server.end(nil)
	w.connect(a, b)
	list := w.members(3)
	w.group(list, 5)
	f := list[0].g.members
	if f[1].peer == f[2].peer || f[1].peer == nil || f[2].peer == nil {
		t.Error("two members are one peer")
	}
	for i, m := range list {
		w.must("sum", m.g.Post(m.sum(i, 4, 0)))
	}
	for i, m := range list {
		w.collective(m, uint32(coll.Allreduce), 0)
		if got := binary.LittleEndian.Uint64(m.p.memory[4*8:]); got != 1+2+3 {
			t.Errorf("member %d has the sum %d", i, got)
		}
	}
}

// TestClaimedNumberOfDatagrams: the same of UD endpoints.
func TestClaimedNumberOfDatagrams(t *testing.T) {
	w, server, alice, thief := thieves(t)
	attr := DefaultAttr
	attr.Service = ServiceUD
	e := server.end(&attr)
	var handles []*AH
	for _, p := range []*proc{thief, alice} {
		h, _ := w.connectUD(e, p.end(&attr))
		ah, r := Find[*AH](server.l, h, 0)
		w.must("ah", r)
		handles = append(handles, ah)
	}
	if handles[0].peer == handles[1].peer {
		t.Error("two processes are one peer")
	}
}

// full uses up the numbers of the server's link: with half of them given to attempts
// that came to nothing, half to processes that have no connection.
func full(p *proc) *dataLink {
	d, err := p.l.peers.dataLinkAt(p.addr)
	if err != nil {
		p.w.t.Fatal(err)
	}
	for d.made < peersMax {
		o := &peer{of: &p.l.peers, key: peerKey{cm.PublicKey{byte(d.made), byte(d.made >> 8)}, p.addr},
			data: d, ep: d.made, remote: -1}
		d.peers[d.made] = o
		p.l.peers.known[o.key] = o
		d.made++
	}
	d.free = nil
	return d
}

// TestPeersReclaimed: attempts that come to nothing, and processes without a connection, keep
// nobody out; those that have a connection stay, and one whose place was taken comes back.
func TestPeersReclaimed(t *testing.T) {
	w := newWorld(t, 12, 3, simnet.Way{})
	server := w.procs[0]
	kept := [2]*simEnd{w.procs[1].end(nil), server.end(nil)}
	w.connect(kept[0], kept[1])
	idle := [2]*simEnd{w.procs[2].end(nil), server.end(nil)}
	w.connect(idle[0], idle[1])
	w.must("disconnect", idle[0].ep.Disconnect(false))
	w.expect(idle[0].con, EventDisconnected)
	w.expect(idle[1].con, EventDisconnected)
	generation := w.procs[2].l.peers.links[0].peers[0].remoteGeneration
	d := full(server)
	server.l.peers.reclaim(d)
	if len(server.l.peers.known) != 1 || d.opened != 1 {
		t.Fatalf("%d peers are left, %d open", len(server.l.peers.known), d.opened)
	}
	if !w.send(kept[0], kept[1], "still here") {
		t.Error("a connection is lost")
	}
	for range 2 {
		again := [2]*simEnd{w.procs[2].end(nil), server.end(nil)}
		w.connect(again[0], again[1])
		if !w.send(again[1], again[0], "there") || !w.send(again[0], again[1], "and back") {
			t.Error("a forgotten peer does not come back")
		}
	}
	if p := w.procs[2].l.peers.links[0].peers[0]; p.remoteGeneration == generation {
		t.Error("the first session is used again")
	}
}

// TestUnfinishedAttempts: requests that are accepted and never confirmed give their numbers back
// when they are needed, not before.
func TestUnfinishedAttempts(t *testing.T) {
	w := newWorld(t, 13, 2, simnet.Way{})
	server, client := w.procs[0], w.procs[1]
	cr := server.evd(EVDCR)
	psp, r := server.ia.NewPSPAny(cr.Handle(), false)
	w.must("psp", r)
	w.must("connect", client.end(nil).ep.Connect(server.addr, psp.Qualifier, 0, nil))
	request := w.request(server, cr)
	b := server.end(nil)
	w.must("accept", request.Accept(b.ep.Handle(), nil))
	client.kill()
	d := full(server)
	if server.l.peers.reclaim(d); len(server.l.peers.known) != 1 {
		t.Fatalf("%d peers, while an attempt has told one its number", len(server.l.peers.known))
	}
	w.expect(b.con, EventAcceptCompletionError)
	w.until(func() bool { return server.l.machine.Conns() == 0 })
	if server.l.peers.reclaim(d); len(server.l.peers.known) != 0 {
		t.Errorf("%d peers are left of an attempt that has failed", len(server.l.peers.known))
	}
}

// TestGroupRequestsBounded: requests for groups that nobody makes keep a bounded number of places,
// take none from other requests, and a group that is made late is still made.
func TestGroupRequestsBounded(t *testing.T) {
	w := newWorld(t, 14, 3, simnet.Way{})
	server, flooder := w.procs[0], w.procs[1]
	cr := server.evd(EVDCR)
	psp, r := server.ia.NewPSPAny(cr.Handle(), false)
	w.must("psp", r)
	list := []*simMember{{p: server, blob: MemberAddress{Addr: server.addr, Qualifier: psp.Qualifier}},
		w.members(3)[2]}
	for _, m := range list {
		m.evd = m.p.evd(EVDExtension)
	}
	w.must("create_group", list[1].create(list, 1, 9))
	w.until(func() bool { return len(server.l.groups.requests) == 1 })
	private := make([]byte, joinSize)
	for i, v := range []uint32{joinMagic, 7, 2, 1, 0} {
		binary.LittleEndian.PutUint32(private[4*i:], v)
	}
	for range 2 * requestsMax {
		c, _, r := flooder.l.dial(&groupMember{c: &Collective{base: base{ia: flooder.ia}, over: true}},
			server.addr, psp.Qualifier, serviceGroup, 0, private, nil)
		w.must("dial", r)
		c.Known = true
	}
	w.run(3e9)
	if n := len(server.l.groups.requests); n > requestsMax {
		t.Errorf("%d requests are kept", n)
	}
	if n := server.l.machine.Conns(); n > requestsMax {
		t.Errorf("%d attempts are kept", n)
	}
	w.must("connect", flooder.end(nil).ep.Connect(server.addr, psp.Qualifier, 0, nil))
	w.request(server, cr) // gets through
	w.must("create_group", list[0].create(list, 0, 9))
	for _, m := range list {
		w.collective(m, uint32(coll.Create), 0)
	}
}

// servicePoints makes members at service points, in processes one after the other.
func (w *world) servicePoints(n int) (list []*simMember) {
	for i := range n {
		m := &simMember{p: w.procs[i%len(w.procs)]}
		m.evd = m.p.evd(EVDExtension)
		psp, r := m.p.ia.NewPSPAny(m.p.evd(EVDCR).Handle(), false)
		w.must("psp", r)
		m.psp, m.blob = psp, MemberAddress{Addr: m.p.addr, Qualifier: psp.Qualifier}
		list = append(list, m)
	}
	return list
}

// claim has p ask list[0] to be member 1 of a group of two.
func (p *proc) claim(list []*simMember, id uint32) {
	private := make([]byte, joinSize)
	for i, v := range []uint32{joinMagic, id, 2, 1, 0} {
		binary.LittleEndian.PutUint32(private[4*i:], v)
	}
	x := &groupMember{c: &Collective{base: base{ia: p.ia}, over: true}}
	_, _, r := p.l.dial(x, list[0].blob.Addr, list[0].blob.Qualifier, serviceGroup, 0, private,
		nil)
	p.w.must("dial", r)
}

// TestClaimedServicePoint: in a group of service points a process that does not listen at a member's
// is not taken for that member, whether it comes before the group or after it, and the group comes
// about with the right one.
func TestClaimedServicePoint(t *testing.T) {
	for _, early := range []bool{true, false} {
		w, server, alice, thief := thieves(t)
		list := w.servicePoints(2)
		if early {
			thief.claim(list, 5)
			w.until(func() bool { return len(server.l.groups.requests) > 0 })
		}
		w.must("create_group", list[0].create(list, 0, 5))
		if !early {
			thief.claim(list, 5)
		}
		f := server.l.groups.making[0].members[1]
		w.until(func() bool { return len(server.l.groups.requests) > 0 && f.known })
		w.run(time.Second)
		if f.peer != nil || f.attempt != nil {
			t.Fatal("a process that does not listen there is taken for the member")
		}
		w.must("create_group", list[1].create(list, 1, 5))
		for _, m := range list {
			w.collective(m, uint32(coll.Create), 0)
		}
		if f.peer.key.public != alice.l.machine.PublicKey() {
			t.Error("the member is another process")
		}
	}
}

// TestClaimedMember: in a group of blobs a process with another key than a member's blob has is not
// taken for that member, and the group is made with the right one.
func TestClaimedMember(t *testing.T) {
	w, server, _, thief := thieves(t)
	list := w.members(2)
	list[1].p = w.procs[1]
	w.must("create_group", list[0].create(list, 0, 5))
	thief.claim(list, 5)
	w.until(func() bool { return len(server.l.groups.requests) > 0 })
	for _, c := range server.l.groups.making {
		if f := c.members[1]; f.peer != nil || f.attempt != nil {
			t.Fatal("a process with another key is taken for the member")
		}
	}
	w.must("create_group", list[1].create(list, 1, 5))
	for _, m := range list {
		w.collective(m, uint32(coll.Create), 0)
	}
}
