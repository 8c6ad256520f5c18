package rc

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"lapi/transport"
)

// TestRandom: random requests both ways over many connections, which end in every way at any
// moment. Everything posted completes once, and the ends agree on what has happened.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		a, b := pair(t, seed, func(l *link) {
			l.ordered = random.IntN(2) == 0
			l.busy, l.queued = 0.5*random.Float64(), random.Float64()
			l.most = 256 + random.IntN(4000)
		})
		var conns [][2]*Conn
		queues := map[*Conn]*queue{}
		for range 1 + random.IntN(4) {
			var s *queue
			if random.IntN(3) == 0 {
				s = newQueue()
			}
			c, d := join(a, b, s)
			conns = append(conns, [2]*Conn{c, d})
			queues[d] = s
		}
		posted := [2]int{}
		end := -1
		if random.IntN(2) == 0 {
			end = random.IntN(400)
		}
		for step := range 400 {
			k := random.IntN(2)
			from, to := []*side{a, b}[k], []*side{b, a}[k]
			pair := conns[random.IntN(len(conns))]
			c, d := pair[k], pair[1-k]
			switch random.IntN(8) {
			case 0, 1:
				r := &Receive{Segments: to.segments(random.IntN(10000), uint32(random.IntN(5000)))}
				if d.Shared != nil {
					queues[d].post(r)
				} else if d.state == open {
					d.PostReceive(r)
					posted[1-k]++
				}
			case 7:
				from.link.Progress(random.IntN(5))
				from.e.Progress()
			default:
				if c.Post(randomRequest(random, from, to)) {
					posted[k]++
				}
			}
			if step == end {
				switch random.IntN(3) {
				case 0:
					c.Disconnect(true)
				case 1:
					c.Disconnect(false)
				case 2:
					a.link.dead = true
					for _, s := range []*side{a, b} {
						s.link.ops = s.e.drainOps(s.link)
					}
					a.e.PeerFailed(a.link, 1)
					b.e.PeerFailed(b.link, 0)
				}
			}
		}
		run(a, b)
		for _, p := range conns {
			p[0].Disconnect(false)
			p[1].Disconnect(false)
		}
		run(a, b)
		for i, s := range []*side{a, b} {
			own := 0
			for _, r := range s.received {
				if r.Owner == nil {
					own++
				}
			}
			if len(s.done) > posted[i] || len(s.ended) != len(conns) {
				t.Fatalf("seed %d: side %d: %d requests of %d, %d ends of %d", seed, i, len(s.done),
					posted[i], len(s.ended), len(conns))
			}
			for j, c := range s.e.conns {
				if c != nil {
					t.Fatalf("seed %d: side %d has connection %d on", seed, i, j)
				}
			}
		}
	}
}

// drainOps is what a link has of this side's when its peer dies.
func (e *Engine) drainOps(l *link) (ops []*transport.Op) {
	for _, p := range l.peers {
		for i, m := range p.inbox {
			if m.from == transport.Endpoint(l.name) && m.op != nil {
				ops = append(ops, m.op)
				p.inbox[i].op = nil
			}
		}
	}
	return append(l.ops, ops...)
}

func randomRequest(random *rand.Rand, from, to *side) *Request {
	r := &Request{Op: Op(random.IntN(int(Bind))), Context: ctxAll, Addr: uint64(to.addr(
		8 * random.IntN(1000))), Fence: random.IntN(4) == 0, Operand: 1}
	switch r.Op {
	case Send, Write, Read:
		r.Segments = from.segments(random.IntN(5000), uint32(random.IntN(3000)),
			uint32(random.IntN(3000)))
		r.Immediate = r.Op == Write && random.IntN(3) == 0
		if random.IntN(100) == 0 {
			r.Context = ctxRead
		}
	default:
		r.Segments = from.segments(8*random.IntN(100), 8)
	}
	return r
}

// FuzzMessages: nothing that a peer sends makes more than its own connection end.
func FuzzMessages(f *testing.F) {
	var h [askSize]byte
	(&header{Op: Send, Total: 5}).put(h[:])
	f.Add([]byte(h[:headerSize]), byte(msgData), []byte("hello"))
	(&header{Op: FetchAdd, Total: 8, Context: ctxAll}).putAsk(h[:])
	f.Add([]byte(h[:]), byte(msgAsk), []byte{})
	f.Fuzz(func(t *testing.T, hdr []byte, id byte, data []byte) {
		a, b := pair(t, 1, nil)
		c, d := join(a, b, nil)
		e, g := join(a, b, nil)
		d.PostReceive(&Receive{Segments: b.segments(0, 100)})
		d.Post(&Request{Op: Read, Segments: b.segments(0, 16), Addr: uint64(a.addr(0)),
			Context: ctxAll})
		b.e.Progress()
		if len(hdr) >= 12 {
			binary.LittleEndian.PutUint32(hdr, d.index)
			binary.LittleEndian.PutUint32(hdr[4:], d.tag)
		}
		k := transport.MsgID(id)%msgHalf + 1
		for range 3 {
			b.link.handlers[k](&transport.Msg{From: 0, Hdr: hdr, Data: data})
		}
		run(a, b)
		g.PostReceive(&Receive{})
		ok := &Request{Op: Send}
		e.Post(ok)
		run(a, b)
		if ok.Status != Success || len(a.done) == 0 {
			t.Error("another connection has suffered")
		}
		_ = c
	})
}
