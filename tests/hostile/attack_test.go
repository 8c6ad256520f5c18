package hostile

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/wire"
)

// attackTime is how long a job is attacked.
const attackTime = time.Second

// At least fewest packets are sent, however long that takes on a busy machine, and a quarter of
// fewest must be counted: on a busy machine the kernel drops more.
const fewest = 200

// attack sends for a while and lets the job end. The job checks its own memory. A task must have
// counted the packets sent to it, as ghosts or, if they are genuine, as duplicates, except for
// those that the kernel dropped for lack of room. In a job of two the sockets are connected: the
// kernel passes no packet from an address other than the peer's. With more tasks it passes all
// packets, and only the library checks them.
func attack(t *testing.T, a *Attacker, tasks, perSecond int, send func(j *job, r *rand.Rand),
	env ...string) {
	t.Helper()
	j := startTasks(t, tasks, "check", attackTime, env...)
	r := rand.New(rand.NewPCG(1, 2))
	before := a.Sent
	Rate(perSecond, attackTime, func() { send(j, r) })
	for end := time.Now().Add(patience); a.Sent-before < fewest &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		send(j, r)
	}
	sent := a.Sent - before
	j.finish()
	ghosts, duplicates := 0, 0
	for task := range tasks {
		c := j.counts(task)
		if ghosts, duplicates = ghosts+c.ghosts, duplicates+c.duplicates; c.rounds == 0 {
			t.Errorf("task %d did nothing", task)
		}
	}
	t.Logf("%d tasks: %d packets, %d ghosts, %d duplicates; %d rounds", tasks, sent, ghosts,
		duplicates, j.counts(0).rounds)
	connected := tasks == 2
	if sent < fewest || (a.forge || !connected) && ghosts+duplicates < fewest/4 {
		t.Errorf("%d packets sent, %d counted", sent, ghosts+duplicates)
	}
	if !a.forge && connected && ghosts > 0 {
		t.Errorf("%d packets of an attacker's address got in", ghosts)
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

// levels are the values of LAPI_AUTH that protect against attackers.
var levels = []string{"LAPI_AUTH=cookie", "LAPI_AUTH=mac"}

// TestStrangersPort: random and forged packets from an address that is no task's.
func TestStrangersPort(t *testing.T) {
	a, err := NewAttacker(false)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, tasks := range jobSizes {
		attack(t, a, tasks, 20000, func(j *job, r *rand.Rand) {
			a.Send(0, j.ports[r.IntN(tasks)], someForgery(r))
		})
	}
}

// jobSizes are the numbers of tasks of the jobs under attack: with two, sockets are connected.
var jobSizes = []int{2, 3}

// someTasks draws the seeming sender, and another task.
func someTasks(r *rand.Rand, tasks int) (from, victim int) {
	victim = r.IntN(tasks)
	return (victim + 1 + r.IntN(tasks-1)) % tasks, victim
}

// someForgery is a forged packet, whole or cut, or mere noise.
func someForgery(r *rand.Rand) []byte {
	b := Forge(r, kinds[r.IntN(len(kinds))], 2+r.IntN(2), r.IntN(4), r.IntN(4))
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
		for _, tasks := range jobSizes {
			attack(t, a, tasks, 20000, func(j *job, r *rand.Rand) {
				from, victim := someTasks(r, tasks)
				b := someForgery(r)
				if r.IntN(2) == 0 {
					b = Forge(r, kinds[r.IntN(len(kinds))], tasks, from, victim)
				}
				a.Send(j.ports[from], j.ports[victim], b)
			}, level)
		}
	}
}

// TestReplay: packets of the job itself are sent again: as they were, damaged, cut, and back to
// their sender.
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
			for _, tasks := range jobSizes {
				t.Run(fmt.Sprintf("%s %s, %d tasks", level, name, tasks), func(t *testing.T) {
					replay(t, a, tasks, change, level)
				})
			}
		}
	}
}

// replay attacks a job with the job's own packets, modified by change.
func replay(t *testing.T, a *Attacker, tasks int, change func(r *rand.Rand, d *Datagram),
	level string) {
	t.Helper()
	c, err := NewCapture()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var seen []Datagram
	attack(t, a, tasks, 5000, func(j *job, r *rand.Rand) {
		if seen == nil {
			if seen = c.Take(200, patience, j.ports[0], j.ports[1]); len(seen) == 0 {
				t.Fatal("nothing to replay was seen")
			}
		}
		d := seen[r.IntN(len(seen))]
		change(r, &d)
		a.Send(d.From, d.To, d.B)
	}, level)
}

// TestHelloFlood: Hellos that are right but for their signature, from a task's address, while there
// is a session.
func TestHelloFlood(t *testing.T) {
	a := forger(t)
	for _, tasks := range jobSizes {
		attack(t, a, tasks, 50000, func(j *job, r *rand.Rand) {
			from, victim := someTasks(r, tasks)
			b := Forge(r, wire.KindHello, tasks, from, victim)
			a.Send(j.ports[from], j.ports[victim], b)
		})
	}
}
