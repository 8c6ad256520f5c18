package dat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/simnet"
)

// story is a connection from the first request to its end, with transfers, made step by step so
// that it can be broken off anywhere.
type story struct {
	*world
	a, b   *simEnd
	cr     *EVD
	events [2]map[EventNumber]int
	told   [2]int // completions, by side
	posted [2]int
	stages int
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{world: newWorld(t, seed, 2, badNetworks[seed%uint64(len(badNetworks))])}
	p, q := s.procs[0], s.procs[1]
	s.a, s.b, s.cr = p.end(nil), q.end(nil), q.evd(EVDCR)
	_, r := q.ia.NewPSP(1, s.cr.Handle(), false)
	s.must("psp", r)
	s.events = [2]map[EventNumber]int{{}, {}}
	for i, e := range []*simEnd{s.a, s.b} {
		for range 3 {
			s.must("recv", e.ep.PostReceive(nil, 0, 0))
			s.posted[i]++
		}
	}
	s.must("connect", s.a.ep.Connect(q.addr, 1, int64(20*time.Second), nil))
	return s
}

// tell makes the next step; false: the story is over.
func (s *story) tell() bool {
	if !s.net.Step() {
		return false
	}
	for s.cr.Len() > 0 && s.b.p.open {
		ev, _ := s.cr.Dequeue()
		cr, r := Find[*CR](s.b.p.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
		s.must("cr", r)
		if s.b.ep.State == Unconnected {
			s.must("accept", cr.Accept(s.b.ep.Handle(), nil))
		} else { // a request that was given up, and has come once more
			s.must("reject", cr.Reject(nil))
		}
		s.b.p.l.Push()
	}
	for i, e := range []*simEnd{s.a, s.b} {
		s.drain(i, e)
		if e.p.open && e.ep.State == Connected && s.posted[i] == 3 {
			for range 3 {
				s.must("send", e.ep.Post(PostArgs{Op: rc.Send}))
				s.posted[i]++
			}
			e.p.l.Push()
			e.p.node.Touch()
		}
	}
	if s.told == [2]int{6, 6} && s.stages == 0 {
		s.stages++
		s.must("disconnect", s.a.ep.Disconnect(true))
		s.a.p.l.Push()
		s.a.p.node.Touch()
	}
	return s.events[0][EventDisconnected]+s.events[1][EventDisconnected] < 2
}

func (s *story) drain(i int, e *simEnd) {
	for _, evd := range []*EVD{e.recv, e.req} {
		for evd.Len() > 0 {
			evd.take()
			s.told[i]++
		}
	}
	for e.con.Len() > 0 {
		s.events[i][e.con.take().Number]++
	}
}

// TestPeerGone: a peer dies, or closes its adapter, after each single step between two processes
// from the first request on. The other process is notified of the end once, everything that it has
// posted completes, it can connect again, and it keeps nothing of the peer.
func TestPeerGone(t *testing.T) {
	for seed := range uint64(16) {
		if raced && seed%4 != seed/4 {
			continue // `make sim` runs all
		}
		dies, who := seed/4%2 == 0, int(seed/8)
		t.Run(fmt.Sprintf("dies %v, %d, seed %d", dies, who, seed), func(t *testing.T) {
			steps := 0
			for peerGone(t, seed, who, steps, dies) {
				steps++
			}
			if steps < 20 {
				t.Errorf("the story has %d steps", steps)
			}
		})
	}
}

// peerGone has a peer go after a number of steps; false: the story has fewer.
func peerGone(t *testing.T, seed uint64, who, steps int, dies bool) bool {
	s := newStory(t, seed)
	defer s.close()
	for range steps {
		if !s.tell() {
			return false
		}
	}
	gone, stays := s.procs[who], s.procs[1-who]
	end := []*simEnd{s.a, s.b}[1-who]
	if dies {
		gone.kill()
	} else {
		gone.leave()
	}
	i := 1 - who
	ev := s.events[i]
	over := func() bool {
		return end.ep.State == Disconnected && s.told[i] == s.posted[i] &&
			stays.l.machine.Conns() == 0
	}
	since := s.net.Now()
	for limit := since + int64(time.Minute); s.net.Now() < limit; {
		if !over() {
			since = s.net.Now()
		} else if s.net.Now() > since+1e9 { // nothing more comes
			break
		}
		s.net.Schedule(100*time.Millisecond, nobody)
		stays.node.Touch()
		s.tell()
	}
	ends := 0
	for number, n := range ev {
		if number != EventEstablished {
			ends += n
		}
	}
	state := end.ep.State
	switch {
	case state != Disconnected && state != Unconnected,
		state == Disconnected && ends != 1 || state == Unconnected && ends != 0:
		t.Fatalf("step %d: state %d, events %v", steps, state, ev)
	case state == Disconnected && s.told[i] != s.posted[i]:
		t.Fatalf("step %d: %d of %d transfers have completed", steps, s.told[i], s.posted[i])
	case stays.l.machine.Conns() != 0:
		t.Fatalf("step %d: %d connections are left", steps, stays.l.machine.Conns())
	}
	for _, p := range stays.l.peers.known {
		if p.conns != 0 {
			t.Fatalf("step %d: %d connections to who is gone", steps, p.conns)
		}
	}
	s.must("reset", end.ep.Reset())
	s.start(who)
	other := s.procs[who].end(nil)
	s.connect(end, other)
	return true
}

// FuzzDatagram: no datagram of a peer's does more than fill a receive of the endpoint it names.
func FuzzDatagram(f *testing.F) {
	f.Add(make([]byte, datagramHeader), []byte("hello"), true)
	f.Add([]byte{1, 2, 3}, []byte{}, false)
	worlds := lasting(f, 1)
	var e *simEnd
	f.Fuzz(func(t *testing.T, header, data []byte, known bool) {
		w, anew := worlds.For(t)
		p := w.procs[0]
		post := func() {
			w.must("recv", e.ep.PostReceive([]Triplet{p.part(0, 100)}, 0, 0))
		}
		if anew {
			attr := DefaultAttr
			attr.Service = ServiceUD
			e = p.end(&attr)
			post()
			post()
		}
		if header = bytes.Clone(header); known && len(header) >= 4 {
			binary.LittleEndian.PutUint32(header, e.ep.ud.qpn)
		}
		copy(p.memory[100:], "guard")
		p.l.ud.onDatagram(&transport.Msg{Hdr: header, Data: data})
		n := e.recv.Len()
		if n > 1 || n == 1 && !known {
			t.Errorf("%d receives were taken", n)
		}
		if string(p.memory[100:105]) != "guard" {
			t.Error("more than the receive was written")
		}
		for range n { // there are two again
			_, r := e.recv.Dequeue()
			w.must("dequeue", r)
			post()
		}
	})
}

// FuzzCard: any card that a peer sends when it connects makes a connection, or ends the attempt.
func FuzzCard(f *testing.F) {
	c := card{number: 1, port: 7000, conn: 1}
	b := c.bytes()
	f.Add(b[:], false)
	f.Add(make([]byte, cm.CardSize), true)
	worlds := lasting(f, 1)
	f.Fuzz(func(t *testing.T, b []byte, ud bool) {
		w, _ := worlds.For(t)
		w.anywhere = true
		p := w.procs[0]
		attr := DefaultAttr
		if ud {
			attr.Service = ServiceUD
		}
		e := p.end(&attr)
		w.must("connect", e.ep.Connect(p.addr, 5, 0, nil))
		conn := e.ep.attempt
		if ud {
			conn = e.ep.ud.attempts[0]
		}
		copy(conn.(*cm.Conn).PeerCard[:], b)
		e.ep.Established(conn.(*cm.Conn), nil)
		p.l.Push()
		if e.con.Len() != 1 {
			t.Errorf("%d events of one attempt", e.con.Len())
		}
		if r := e.ep.Free(); r != codes.Success {
			t.Errorf("it cannot be freed: %#x", uint32(r))
		}
		for _, evd := range []*EVD{e.recv, e.req, e.con} {
			w.must("evd_free", evd.Free())
		}
		if n := p.l.machine.Conns(); n != 0 {
			t.Errorf("%d attempts are left of an endpoint that is freed", n)
		}
	})
}

// TestUnusableAttemptIsClosed: of an attempt of a UD endpoint whose answer leads nowhere nothing is
// left after its error.
func TestUnusableAttemptIsClosed(t *testing.T) {
	w := newWorld(t, 1, 1, simnet.Way{})
	w.anywhere = true
	p := w.procs[0]
	attr := DefaultAttr
	attr.Service = ServiceUD
	e := p.end(&attr)
	w.must("connect", e.ep.Connect(p.addr, 5, 0, nil))
	c := e.ep.ud.attempts[0].(*cm.Conn)
	none := card{number: noNumber}
	c.PeerCard = none.bytes()
	e.ep.Established(c, nil)
	if ev := e.con.take(); ev.Number != EventUDError {
		t.Errorf("event %#x", uint32(ev.Number))
	}
	if n := p.l.machine.Conns(); n != 0 {
		t.Errorf("%d attempts are left", n)
	}
}
