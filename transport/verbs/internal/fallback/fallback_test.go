package fallback

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// wire is a carrier between two adapters: messages arrive in any order.
type wire struct {
	random  *rand.Rand
	ends    [2]*end
	waiting []func() bool // messages; false: refused
}

type end struct {
	*wire
	me      int
	room    int // messages that it takes; negative: without end
	handler transport.MsgHandler
	failing bool
	at      transport.Address
}

func (e *end) Limits() transport.Limits {
	return transport.Limits{SendMax: 900, HeaderMax: 720}
}
func (e *end) Handle(_ transport.MsgID, h transport.MsgHandler) { e.handler = h }
func (e *end) Send(_ transport.Endpoint, _ transport.MsgID, hdr []byte,
	_ *transport.Op) (transport.Status, error) {
	switch {
	case e.failing:
		return 0, transport.ErrUnreachable
	case e.room == 0:
		return 0, transport.ErrBusy
	case len(hdr) > 720 || len(hdr)%8 != 0:
		return 0, transport.ErrBadParam
	}
	e.room--
	hdr = append([]byte(nil), hdr...)
	to := e.ends[1-e.me]
	e.waiting = append(e.waiting, func() bool {
		return to.handler(&transport.Msg{From: transport.Endpoint(e.me), Hdr: hdr}) ==
			transport.Accept
	})
	return transport.Done, nil
}
func (e *end) Connect(transport.Endpoint, transport.Address) error { return nil }
func (e *end) Reconnect(transport.Endpoint, transport.Address) error {
	e.failing = false
	return nil
}
func (e *end) Disconnect(transport.Endpoint, error)               {}
func (e *end) AddressOf(transport.Endpoint) (a transport.Address) { return e.at }
func (e *end) Progress(int) int                                   { return 0 }

// bring has one message arrive, any of them.
func (w *wire) bring() bool {
	if len(w.waiting) == 0 {
		return false
	}
	i := w.random.IntN(len(w.waiting))
	if w.waiting[i]() {
		w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
	}
	return true
}

const buffers, bufferSize = 8, 4096

// couple is two adapters with a queue pair each, joined.
type couple struct {
	*wire
	a      [2]*Adapter
	qp     [2]ibv.QP
	memory [2][]byte // receive buffers
	source []byte
}

func newCouple(t *testing.T, seed uint64) *couple {
	t.Helper()
	memory.Guard()
	c := &couple{wire: &wire{random: rand.New(rand.NewPCG(seed, 0))}}
	for i := range c.a {
		c.ends[i] = &end{wire: c.wire, me: i, room: -1}
		c.a[i] = New(c.ends[i])
		c.qp[i], _, _ = c.a[i].CreateQP(ibv.QPAttr{MaxRequests: 40})
		c.memory[i] = mapped(t, buffers*bufferSize)
		for k := range buffers {
			c.receive(t, i, k)
		}
	}
	c.source = mapped(t, 40*bufferSize)
	for i, a := range c.a {
		err := a.ConnectQP(c.qp[i], 0, ibv.Remote{QPN: uint32(c.qp[1-i]),
			GID: GID(transport.Endpoint(1 - i))})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func mapped(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func (c *couple) receive(t *testing.T, i, k int) {
	t.Helper()
	n, err := c.a[i].PostRecv(0, 1, []ibv.Recv{{ID: uint64(k),
		Segments: segment(c.memory[i][k*bufferSize:], bufferSize)}})
	if n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// segment is n bytes of b.
func segment(b []byte, n int) []ibv.Segment {
	return []ibv.Segment{{Addr: uint64(memory.AddrOf(b)), N: uint32(n)}}
}

// post sends packet i, of n bytes.
func (c *couple) post(i, n int, signaled bool) error {
	b := c.source[i%40*bufferSize:][:bufferSize]
	for k := range n {
		b[k] = byte(i + k>>3)
	}
	return c.a[0].PostSend(c.qp[0], &ibv.Work{ID: uint64(i), Op: ibv.OpSend,
		Segments: segment(b, n), Signaled: signaled})
}

// poll is the completions of an adapter.
func (c *couple) poll(i int) []ibv.Completion {
	var out [64]ibv.Completion
	return out[:c.a[i].PollCQ(1, out[:])]
}

// TestOrder: packets of any length arrive once, in order and whole, through a carrier without order
// that has no room now and then; the sender gets the completions that it wants, not before the
// packets are there.
func TestOrder(t *testing.T) {
	for seed := range uint64(30) {
		c := newCouple(t, seed)
		const many = 200
		lengths := make([]int, many)
		sent, got, heard := 0, 0, 0
		for turn := 0; got < many || heard < many; turn++ {
			if turn > 1_000_000 {
				t.Fatalf("seed %d: %d sent, %d received, %d complete", seed, sent, got, heard)
			}
			c.ends[0].room = c.random.IntN(10) - 1
			for sent < many && sent-heard < 40 && c.random.IntN(4) > 0 {
				if lengths[sent] = c.random.IntN(mtu + 1); sent%5 == 0 {
					lengths[sent] = sent % 2 * mtu
				}
				if err := c.post(sent, lengths[sent], sent%8 == 7); err != nil {
					t.Fatal(err)
				}
				sent++
			}
			for range c.random.IntN(8) {
				c.bring()
			}
			for _, e := range c.poll(1) {
				b := c.memory[1][int(e.ID)*bufferSize:][:e.N]
				if int(e.N) != lengths[got] || e.QPN != uint32(c.qp[1]) {
					t.Fatalf("seed %d: packet %d is %+v", seed, got, e)
				}
				for k := range b {
					if b[k] != byte(got+k>>3) {
						t.Fatalf("seed %d: packet %d is damaged", seed, got)
					}
				}
				got++
				c.receive(t, 1, int(e.ID))
			}
			for _, e := range c.poll(0) {
				if e.Status != ibv.Success || int(e.ID)%8 != 7 || int(e.ID) >= got {
					t.Fatalf("seed %d: completion %+v when %d packets have come", seed, e, got)
				}
				heard = int(e.ID) + 1
			}
		}
	}
}

// TestNoneThere: pieces for a queue pair that was destroyed do not count as delivered: the sender's
// queue pair fails, and with it later posts.
func TestNoneThere(t *testing.T) {
	c := newCouple(t, 1)
	_ = c.post(0, 2000, true)
	for c.bring() {
	}
	if got := c.poll(1); len(got) != 1 || got[0].Status != ibv.Success {
		t.Fatalf("received: %+v", got)
	}
	for c.bring() {
	}
	if got := c.poll(0); len(got) != 1 || got[0].Status != ibv.Success {
		t.Fatalf("complete: %+v", got)
	}
	c.a[1].DestroyQP(c.qp[1])
	_, _ = c.post(1, 10, false), c.post(2, 10, true)
	for c.bring() {
	}
	got := c.poll(0)
	if len(got) != 2 || got[0].Status != ibv.RetryExcErr || got[1].Status != ibv.WRFlushErr {
		t.Errorf("complete: %+v", got)
	}
	if e := c.a[0].Event(); e.Kind != ibv.QPFailed || e.QPN != uint32(c.qp[0]) {
		t.Errorf("event %+v", e)
	}
	_ = c.post(3, 10, true)
	if got := c.poll(0); len(got) != 1 || got[0].Status != ibv.WRFlushErr {
		t.Errorf("complete: %+v", got)
	}
}

// TestBufferComesBack: a queue pair that ends in the midst of a packet gives its buffer back.
func TestBufferComesBack(t *testing.T) {
	c := newCouple(t, 1)
	for range buffers {
		c.ends[0].room = 1
		_ = c.post(0, mtu, true)
		c.bring()
		c.a[1].FailQP(c.qp[1])
		c.waiting = nil
		for i, a := range c.a {
			a.FailQP(c.qp[i])
			_ = c.poll(i)
			if err := a.ResetQP(c.qp[i]); err != nil {
				t.Fatal(err)
			}
			_ = a.ConnectQP(c.qp[i], 0, ibv.Remote{QPN: uint32(c.qp[1-i]),
				GID: GID(transport.Endpoint(1 - i))})
		}
	}
	if n := len(c.a[1].receives); n != buffers {
		t.Errorf("%d buffers of %d are left", n, buffers)
	}
}

// TestCarrierFails: queue pairs to a peer that the carrier has given up fail, and a later packet to
// it makes the carrier connect anew.
func TestCarrierFails(t *testing.T) {
	c := newCouple(t, 1)
	c.ends[0].failing = true
	_ = c.post(0, 10, true)
	if got := c.poll(0); len(got) != 1 || got[0].Status != ibv.RetryExcErr {
		t.Errorf("complete: %+v", got)
	}
	c.a[1].Failed(0)
	if e := c.a[1].Event(); e.Kind != ibv.QPFailed || e.QPN != uint32(c.qp[1]) {
		t.Errorf("event %+v", e)
	}
	c.a[0].Failed(1)
	buffer := mapped(t, 4096)
	_, _ = c.a[1].PostRecv(0, 0, []ibv.Recv{{ID: 9, Segments: segment(buffer, 320)}})
	ah, _ := c.a[0].CreateAH(1, GID(1), 0)
	hello := mapped(t, 4096)
	if err := c.a[0].PostSend(0, &ibv.Work{Op: ibv.OpSend, AH: ah,
		Segments: segment(hello, copy(hello, "hello"))}); err != nil {
		t.Fatal(err)
	}
	for c.bring() {
	}
	got := c.poll(1)
	if len(got) != 1 || got[0].ID != 9 ||
		string(buffer[ibv.DatagramHead:got[0].N]) != "hello" {
		t.Errorf("received: %+v", got)
	}
}

// TestAhead: a piece that is too far ahead is refused, and a piece that makes no packet ends the
// queue pair.
func TestAhead(t *testing.T) {
	c := newCouple(t, 1)
	send := func(h head, data []byte) transport.Verdict {
		h.to, h.from = uint32(c.qp[1]), uint32(c.qp[0])
		return c.ends[1].handler(&transport.Msg{Hdr: h.encode(nil, data)})
	}
	if send(head{kind: kindPiece, number: piecesMax}, nil) != transport.Refuse {
		t.Error("a piece that is too far ahead is taken")
	}
	if send(head{kind: kindTaken, number: 7}, nil); len(c.poll(1)) != 0 {
		t.Error("what was not sent is complete")
	}
	send(head{kind: kindPiece, flags: last}, nil) // without a first
	if e := c.a[1].Event(); e.Kind != ibv.QPFailed {
		t.Errorf("event %+v", e)
	}
}

// FuzzMessage: whatever a peer sends, nothing is written outside of buffers.
func FuzzMessage(f *testing.F) {
	h := head{kind: kindPiece, flags: first | last, to: 1, from: 1}
	f.Add(h.encode(nil, []byte("data")))
	h.kind, h.flags = kindDatagram, 0
	f.Add(h.encode(nil, make([]byte, 500)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newCouple(t, 1)
		buffer := mapped(t, 4096)
		_, _ = c.a[1].PostRecv(0, 0, []ibv.Recv{{Segments: segment(buffer, 320)}})
		for range 3 {
			c.ends[1].handler(&transport.Msg{Hdr: b})
		}
		for _, e := range c.poll(1) {
			if e.N > bufferSize {
				t.Errorf("%+v", e)
			}
		}
	})
}
