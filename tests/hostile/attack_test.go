package hostile

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/wire"
)

// attackTime is how long a job is attacked.
const attackTime = time.Second

// fewest packets are sent, however long that takes on a busy machine, and a quarter of so many must
// be counted: there the kernel drops more.
const fewest = 200

// attack sends for a while and lets the job end. The job checks its own memory. A task must have
// counted what was sent to it, as ghosts or, if it is genuine, as duplicates, but for what the
// kernel had no room for. Of an address that is not the other task's the kernel lets nothing
// through: in a job of two their sockets are connected.
func attack(t *testing.T, a *Attacker, perSecond int, send func(j *job, r *rand.Rand),
	env ...string) {
	t.Helper()
	j := start(t, "check", attackTime, env...)
	r := rand.New(rand.NewPCG(1, 2))
	before := a.Sent
	Rate(perSecond, attackTime, func() { send(j, r) })
	for end := time.Now().Add(patience); a.Sent-before < fewest &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		send(j, r)
	}
	sent := a.Sent - before
	j.finish()
	c := [2]struct{ rounds, ghosts, duplicates, retransmitted int }{j.counts(0), j.counts(1)}
	counted := c[0].ghosts + c[1].ghosts + c[0].duplicates + c[1].duplicates
	t.Logf("%d packets, %d counted; %d rounds", sent, counted, c[0].rounds)
	if sent < fewest || a.forge && counted < fewest/4 {
		t.Errorf("%d packets sent, %d counted", sent, counted)
	}
	if !a.forge && c[0].ghosts+c[1].ghosts > 0 {
		t.Errorf("%d packets of an attacker's address got in", c[0].ghosts+c[1].ghosts)
	}
	if c[0].rounds == 0 {
		t.Error("the job did nothing")
	}
}

// forger returns an attacker who forges source addresses, or skips the test.
func forger(t *testing.T) *Attacker {
	t.Helper()
	a, err := NewAttacker(true)
	if err == unix.EPERM {
		t.Skip("raw sockets need root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

var kinds = []wire.Kind{wire.KindHello, wire.KindData, wire.KindAck, wire.KindBye}

// levels are the values of LAPI_AUTH that promise anything against attackers.
var levels = []string{"LAPI_AUTH=cookie", "LAPI_AUTH=mac"}

// TestStrangersPort: random and forged packets from an address that is no task's.
func TestStrangersPort(t *testing.T) {
	a, err := NewAttacker(false)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	attack(t, a, 20000, func(j *job, r *rand.Rand) {
		a.Send(0, j.ports[r.IntN(2)],
			someForgery(r))
	})
}

// someForgery is a forged packet, whole or cut, or mere noise.
func someForgery(r *rand.Rand) []byte {
	b := Forge(r, kinds[r.IntN(len(kinds))], r.IntN(3), r.IntN(3))
	switch r.IntN(3) {
	case 0:
		b = b[:r.IntN(len(b)+1)]
	case 1:
		b = make([]byte, r.IntN(1500))
		noise(r, b)
	}
	return b
}

// TestForgedSource: forged, cut and random packets from a task's own address.
func TestForgedSource(t *testing.T) {
	a := forger(t)
	for _, level := range levels {
		attack(t, a, 20000, func(j *job, r *rand.Rand) {
			victim := r.IntN(2)
			b := someForgery(r)
			if r.IntN(2) == 0 {
				b = Forge(r, kinds[r.IntN(len(kinds))], 1-victim, victim)
			}
			a.Send(j.ports[1-victim], j.ports[victim], b)
		}, level)
	}
}

// TestReplay: packets of the job itself, again: as they were, damaged, cut, and back to who sent
// them.
func TestReplay(t *testing.T) {
	a := forger(t)
	for _, level := range levels {
		for name, change := range map[string]func(r *rand.Rand, d *Datagram){
			"replayed":  func(*rand.Rand, *Datagram) {},
			"cut":       func(r *rand.Rand, d *Datagram) { d.B = d.B[:r.IntN(len(d.B))] },
			"reflected": func(_ *rand.Rand, d *Datagram) { d.From, d.To = d.To, d.From },
			"flipped": func(r *rand.Rand, d *Datagram) {
				d.B = append([]byte(nil), d.B...)
				d.B[r.IntN(min(len(d.B), wire.HeaderSize+wire.MessageSize))] ^= 1 << r.IntN(8)
			},
		} {
			t.Run(level+" "+name, func(t *testing.T) {
				c, err := NewCapture()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var seen []Datagram
				attack(t, a, 5000, func(j *job, r *rand.Rand) {
					if seen == nil {
						if seen = c.Take(200, patience, j.ports[0], j.ports[1]); len(seen) == 0 {
							t.Fatal("nothing to replay was seen")
						}
					}
					d := seen[r.IntN(len(seen))]
					change(r, &d)
					a.Send(d.From, d.To, d.B)
				}, level)
			})
		}
	}
}

// TestHelloFlood: Hellos that are right but for their signature, from a task's address, while there
// is a session.
func TestHelloFlood(t *testing.T) {
	a := forger(t)
	attack(t, a, 50000, func(j *job, r *rand.Rand) {
		victim := r.IntN(2)
		a.Send(j.ports[1-victim], j.ports[victim], Forge(r, wire.KindHello, 1-victim, victim))
	})
}
