package emul

import (
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

const (
	idRequest = 1
	idReply   = 2
	fakeMax   = 1000
)

// fakeLink is a link between the nodes of a fakeNet with everything that may make trouble: no room
// now and then, operations that it holds and whose data it reads late, messages in any order.
type fakeLink struct {
	transport.Link // nil: methods that are not overridden must not be called
	net            *fakeNet
	me             transport.Endpoint
	handlers       [32]transport.MsgHandler
	gone           map[transport.Endpoint]bool
}

type fakeMessage struct {
	from, to transport.Endpoint
	id       transport.MsgID
	hdr      []byte
	op       *transport.Op // not done yet; its data is read on delivery
	data     []byte
}

type fakeNet struct {
	random   *rand.Rand
	nodes    []*fakeLink
	inFlight []fakeMessage
	busy     int // in 10: how often there is no room
	busySeen int
	refused  int
}

func newFakeNet(n int, seed uint64) (*fakeNet, []*Emulator) {
	net := &fakeNet{random: rand.New(rand.NewPCG(seed, 0))}
	var all []*Emulator
	for i := range n {
		l := &fakeLink{net: net, me: transport.Endpoint(i), gone: map[transport.Endpoint]bool{}}
		net.nodes = append(net.nodes, l)
		all = append(all, New(l, idRequest, idReply))
	}
	return net, all
}

func (l *fakeLink) Limits() transport.Limits {
	return transport.Limits{Caps: transport.CapPut, SendMax: fakeMax, HeaderMax: 64, PutMax: 1,
		PutAlign: 8, GetAlign: 8}
}

func (l *fakeLink) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

func (l *fakeLink) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	if int(ep) >= len(l.net.nodes) || l.gone[ep] {
		return transport.Done, transport.ErrUnreachable
	}
	if len(hdr)%8 != 0 || uint64(len(hdr))+op.N > fakeMax {
		return transport.Done, transport.ErrBadParam
	}
	if l.net.random.IntN(10) < l.net.busy {
		l.net.busySeen++
		return transport.Done, transport.ErrBusy
	}
	m := fakeMessage{from: l.me, to: ep, id: id, hdr: append([]byte(nil), hdr...)}
	if l.net.random.IntN(2) == 0 {
		m.op = op
		l.net.inFlight = append(l.net.inFlight, m)
		return transport.Queued, nil
	}
	m.data = userBytes(int(op.N))
	if err := memory.CopyOut(m.data, op.Local); err != nil {
		return transport.Done, err
	}
	l.net.inFlight = append(l.net.inFlight, m)
	return transport.Done, nil
}

// userBytes is memory that handlers may see: 8-aligned.
func userBytes(n int) []byte { return make([]byte, n) }

// step delivers one message, any one.
func (n *fakeNet) step() bool {
	if len(n.inFlight) == 0 {
		return false
	}
	i := n.random.IntN(len(n.inFlight))
	m := n.inFlight[i]
	n.inFlight = append(n.inFlight[:i], n.inFlight[i+1:]...)
	if op := m.op; op != nil {
		m.data = userBytes(int(op.N))
		err := memory.CopyOut(m.data, op.Local)
		op.Done(op, err)
		if err != nil {
			return true
		}
	}
	to := n.nodes[m.to]
	if to.gone[m.from] {
		return true
	}
	if to.handlers[m.id](&transport.Msg{From: m.from, Hdr: m.hdr, Data: m.data}) ==
		transport.Refuse {
		n.refused++
		m.op = nil
		n.inFlight = append(n.inFlight, m)
	}
	return true
}

// settle delivers all and lets the emulators work until nothing is left.
func settle(t *testing.T, n *fakeNet, all []*Emulator) {
	t.Helper()
	for range 1_000_000 {
		moved := n.step()
		left := false
		for _, e := range all {
			moved = e.Progress() > 0 || moved
			left = left || e.toSend.head != nil || e.replies.head != nil
		}
		if !moved && !left {
			return
		}
	}
	t.Fatal("nothing comes to an end")
}

func userMemory(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// TestTrouble runs operations of all kinds over a link that makes trouble; each is executed once
// and ends once.
func TestTrouble(t *testing.T) {
	memory.Guard()
	for seed := range uint64(30) {
		net, all := newFakeNet(3, seed)
		net.busy = int(seed % 8)
		counters := userMemory(t, 4096)
		space := userMemory(t, 64<<10)
		var started, finished, sum int
		results := map[uint64]bool{}
		begin := func(kind int, from *Emulator, slot int) {
			op := &transport.Op{Width: 8, Operand: 1, Remote: memory.AddrOf(counters),
				Local: memory.AddrOf(space[slot*64:])}
			ends := 0
			op.Done = func(op *transport.Op, err error) {
				ends++
				finished++
				if ends > 1 || err != nil {
					t.Errorf("seed %d: end %d of an operation of kind %d: %v",
						seed, ends, kind, err)
				}
				switch kind {
				case 0:
					if results[op.Result] {
						t.Errorf("seed %d: an addition gave %d a second time", seed, op.Result)
					}
					results[op.Result] = true
				case 1, 2:
					a, b := memory.Bytes(op.Local, op.N), memory.Bytes(op.Remote, op.N)
					if string(a) != string(b) {
						t.Errorf("seed %d: a transfer of %d bytes is damaged", seed, op.N)
					}
				}
			}
			to := transport.Endpoint(net.random.IntN(3))
			var status transport.Status
			var err error
			switch kind {
			case 0:
				sum++
				status, err = from.Atomic(to, transport.AtomicAdd, op)
			case 1:
				op.N, op.Remote = uint64(net.random.IntN(60)), memory.AddrOf(space[32<<10+slot*64:])
				space[slot*64] = byte(slot)
				status, err = from.Put(to, op)
			case 2:
				op.N, op.Remote = uint64(net.random.IntN(60)), memory.AddrOf(space[32<<10+slot*64:])
				space[32<<10+slot*64+5] = byte(slot)
				status, err = from.Get(to, op)
			}
			if status != transport.Queued || err != nil {
				t.Fatalf("status %d, %v", status, err)
			}
			started++
		}
		for slot := range 400 {
			begin(net.random.IntN(3), all[net.random.IntN(3)], slot)
			if net.random.IntN(3) == 0 {
				net.step()
			}
		}
		settle(t, net, all)
		if finished != started {
			t.Errorf("seed %d: %d of %d operations have ended", seed, finished, started)
		}
		if v, _ := memory.Load32(memory.AddrOf(counters)); int(v) != sum {
			t.Errorf("seed %d: %d additions made %d", seed, sum, v)
		}
		for i, e := range all {
			if e.Pending() != 0 || e.numReplies != 0 {
				t.Errorf("seed %d: node %d has %d operations and %d replies left",
					seed, i, e.Pending(), e.numReplies)
			}
		}
		if net.busy > 0 && net.busySeen == 0 {
			t.Errorf("seed %d: there was always room: nothing tested", seed)
		}
	}
}

// TestFaults: bad local and remote addresses are distinguished, whenever the link reads the data.
func TestFaults(t *testing.T) {
	memory.Guard()
	good := memory.AddrOf(userMemory(t, 4096))
	const bad = transport.Addr(64)
	for seed := range uint64(40) {
		net, all := newFakeNet(2, seed)
		net.busy = int(seed % 3)
		for _, c := range []struct {
			name          string
			local, remote transport.Addr
			start         func(transport.Endpoint, *transport.Op) (transport.Status, error)
			wantRemote    bool
		}{
			{"put to a bad address", good, bad, all[0].Put, true},
			{"put from a bad address", bad, good, all[0].Put, false},
			{"get from a bad address", good, bad, all[0].Get, true},
			{"get to a bad address", bad, good, all[0].Get, false},
			{"atomic on a bad address", 0, bad,
				func(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
					return all[0].Atomic(ep, transport.AtomicSwap, op)
				}, true},
		} {
			ends := 0
			var got error
			op := &transport.Op{Local: c.local, Remote: c.remote, N: 100, Width: 4,
				Done: func(_ *transport.Op, err error) {
					ends++
					got = err
				}}
			status, err := c.start(1, op)
			if err != nil {
				got = err
			} else if status == transport.Queued {
				settle(t, net, all)
				if ends != 1 {
					t.Fatalf("%s: Done ran %d times", c.name, ends)
				}
			}
			var fault *transport.FaultError
			if !errors.As(got, &fault) || fault.Remote != c.wantRemote || fault.Addr-bad >= 100 {
				t.Errorf("seed %d: %s: %v", seed, c.name, got)
			}
			if all[0].Pending() != 0 || all[1].numReplies != 0 {
				t.Errorf("%s: something is left", c.name)
			}
		}
	}
}

// TestNonsense gives both handlers what no peer sends.
func TestNonsense(t *testing.T) {
	memory.Guard()
	net, all := newFakeNet(2, 1)
	word := userMemory(t, 64)
	ended := 0
	op := &transport.Op{Remote: memory.AddrOf(word), Width: 8, Operand: 1,
		Done: func(*transport.Op, error) {
			ended++
		}}
	if _, err := all[0].Atomic(1, transport.AtomicAdd, op); err != nil {
		t.Fatal(err)
	}
	token := all[0].calls[0].request.token
	forge := func(from transport.Endpoint, id transport.MsgID, hdr, data []byte) {
		if net.nodes[0].handlers[id](&transport.Msg{From: from, Hdr: hdr, Data: data}) !=
			transport.Accept {
			t.Error("nonsense is to be dropped, not to come again")
		}
	}
	encode := func(r reply) []byte {
		var b [replySize]byte
		r.encode(&b)
		return b[:]
	}
	forge(1, idReply, nil, nil)
	forge(1, idReply, make([]byte, 16), nil)
	forge(1, idReply, encode(reply{token: token + 1<<32}), nil) // of another use of the place
	forge(1, idReply, encode(reply{token: token + 1}), nil)     // of a place that there is not
	forge(1, idReply, encode(reply{token: ^uint64(0)}), nil)    // likewise
	forge(0, idReply, encode(reply{token: token}), nil)         // of somebody else
	forge(1, idRequest, make([]byte, 8), nil)                   // short
	forge(1, idRequest, make([]byte, requestSize), word[:8])    // an atomic of width 0
	encodeRequest := func(r request) []byte {
		var b [requestSize]byte
		r.encode(&b)
		return b[:]
	}
	forge(1, idRequest, encodeRequest(request{}.with(kindGet, 8, fakeMax)), nil)
	forge(1, idRequest, encodeRequest(request{}.with(200, 8, 8)), nil)
	forge(1, idRequest, encodeRequest(request{}.with(uint8(transport.AtomicMax)+1, 8, 8)), nil)
	if ended != 0 {
		t.Error("a forged reply ended an operation")
	}
	settle(t, net, all)
	if ended != 1 || all[0].Pending() != 0 {
		t.Errorf("the true reply ended it %d times", ended)
	}
	forge(1, idReply, encode(reply{token: token}), nil) // a second time
	if ended != 1 {
		t.Error("a second reply ended it again")
	}
}

func (r request) with(kind, width uint8, n uint64) request {
	r.kind, r.width, r.n = kind, width, n
	return r
}

// TestRefusedByTarget: a request that the target does not understand fails at the origin with an
// error.
func TestRefusedByTarget(t *testing.T) {
	memory.Guard()
	net, all := newFakeNet(2, 1)
	var got error
	op := &transport.Op{N: 8, Done: func(_ *transport.Op, err error) { got = err }}
	c := all[0].newCall(1, 99, op)
	if status, err := all[0].start(c); status != transport.Queued || err != nil {
		t.Fatal(err)
	}
	settle(t, net, all)
	if got != transport.ErrNotSupported {
		t.Errorf("error %v", got)
	}
}

// TestDisconnect ends the operations under way, wherever they are: in the link, waiting for room,
// unanswered; and late replies find nothing.
func TestDisconnect(t *testing.T) {
	memory.Guard()
	cause := errors.New("the test")
	for seed := range uint64(20) {
		net, all := newFakeNet(3, seed)
		words := userMemory(t, 64)
		ends := [3][]error{}
		begin := func(to transport.Endpoint) {
			op := &transport.Op{Remote: memory.AddrOf(words) + 8*transport.Addr(to), Width: 8,
				Operand: 1}
			op.Done = func(_ *transport.Op, err error) { ends[to] = append(ends[to], err) }
			if _, err := all[0].Atomic(to, transport.AtomicAdd, op); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 60 {
			net.busy = i % 10
			begin(transport.Endpoint(1 + i%2))
			if i%4 == 0 {
				net.step()
			}
		}
		before := len(ends[1])
		net.nodes[0].gone[1] = true
		all[0].Disconnect(1, cause)
		all[1].Disconnect(0, cause)
		net.nodes[1].gone[0] = true
		if len(ends[1]) != 30 {
			t.Fatalf("seed %d: %d of 30 operations have ended", seed, len(ends[1]))
		}
		for _, err := range ends[1][before:] {
			if err != cause {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		net.busy = 3
		settle(t, net, all)
		if len(ends[1]) != 30 || len(ends[2]) != 30 {
			t.Errorf("seed %d: %d and %d ends, want 30 each", seed, len(ends[1]), len(ends[2]))
		}
		if v, _ := memory.Load32(memory.AddrOf(words) + 16); v != 30 {
			t.Errorf("seed %d: the other peer has %d additions, want 30", seed, v)
		}
		for i, e := range all {
			if e.Pending() != 0 || e.numReplies != 0 {
				t.Errorf("seed %d: node %d has %d operations and %d replies left",
					seed, i, e.Pending(), e.numReplies)
			}
			free := 0
			for c := e.freeCalls; c != nil; c = c.next {
				free++
			}
			if free != len(e.calls) {
				t.Errorf("seed %d: node %d has %d free calls of %d", seed, i, free, len(e.calls))
			}
		}
	}
}

// TestRepliesAreBounded: a target whose replies find no room refuses, before it has done anything.
func TestRepliesAreBounded(t *testing.T) {
	memory.Guard()
	net, all := newFakeNet(2, 1)
	words := userMemory(t, 64)
	finished := 0
	const many = repliesMax + 500
	for range many {
		op := &transport.Op{Remote: memory.AddrOf(words), Width: 4, Operand: 1,
			Done: func(*transport.Op, error) {
				finished++
			}}
		if _, err := all[0].Atomic(1, transport.AtomicAdd, op); err != nil {
			t.Fatal(err)
		}
	}
	net.busy = 10
	for range 3 * many {
		net.step()
	}
	if all[1].numReplies != repliesMax || net.refused == 0 {
		t.Errorf("%d replies wait, %d requests were refused", all[1].numReplies, net.refused)
	}
	net.busy = 0
	settle(t, net, all)
	if v, _ := memory.Load32(memory.AddrOf(words)); v != many || finished != many {
		t.Errorf("%d additions made %d, %d ended", many, v, finished)
	}
}

func TestLimits(t *testing.T) {
	_, all := newFakeNet(1, 1)
	limits := all[0].Limits()
	if limits.Caps != transport.CapPutEmul|transport.CapAtomicCPU ||
		limits.Atomics != transport.AllAtomics {
		t.Errorf("capabilities %#x, atomics %#x", limits.Caps, limits.Atomics)
	}
	if limits.PutMax != fakeMax-requestSize || limits.GetMax != fakeMax-replySize ||
		limits.PutAlign != 1 || limits.GetAlign != 1 {
		t.Errorf("%+v", limits)
	}
}
