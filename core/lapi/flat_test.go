package lapi

import (
	"testing"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/tests/heap"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/simnet"
)

// After flatFirst simulated minutes the job has what it needs; memory is compared with what it has
// flatMinutes later.
const flatFirst, flatMinutes = 20, 80

// flatSlack is how much more heap there may be then, bytes: some 4 for each operation, 200 for each
// failure of the network, of which the simulation keeps 50.
const flatSlack = 64 << 10

// exchanges is a job of two tasks that exchange operations of each kind, all the time.
type exchanges struct {
	*simJob
	t        *testing.T
	src, dst [2][]byte
	counters [2][]byte // origin's of each operation
}

const (
	flatKinds = 5
	flatMost  = 16 << 10 // bytes of the longest operation
	flatAm    = 0x7000   // header handler
)

func newExchanges(t *testing.T, seed uint64, way simnet.Way) *exchanges {
	x := &exchanges{simJob: plainJob(t, 2, seed, way), t: t}
	for i, k := range x.tasks {
		x.src[i], x.dst[i] = x.alloc(flatMost), x.alloc(flatMost)
		x.counters[i] = x.alloc(8 * flatKinds)
		k.headers[flatAm] = func(_ *headerCall, r *HeaderResult) {
			r.Buffer = memory.AddrOf(x.dst[i])
		}
		x.net.Node(i).Attach(func() { x.turn(k) }, k.nextTimeout)
	}
	return x
}

func (x *exchanges) turn(k *simTask) {
	k.Dispatch(0)
	for {
		_, _, id, ok := k.NextCompletion()
		if !ok {
			break
		}
		k.CompletionDone(id)
	}
	if e, ok := k.NextError(); ok {
		x.t.Errorf("task %d: error handler: %s", k.me, e.Text)
	}
}

// round makes each task begin one operation of each kind, and waits until all are complete.
func (x *exchanges) round() {
	for i, k := range x.tasks {
		clear(x.counters[i])
		to, here, there := uint32(1-i), memory.AddrOf(x.src[i]), memory.AddrOf(x.dst[1-i])
		counter := func(n int) transport.Addr { return memory.AddrOf(x.counters[i][8*n:]) }
		for n, code := range [flatKinds]codes.Code{
			k.Put(to, 100, there, here, 0, 0, counter(0)),
			k.Put(to, flatMost, there, here, 0, 0, counter(1)),
			k.Get(to, 4096, there, here, 0, counter(2)),
			k.Amsend(to, flatAm, 0, 0, here, 1024, 0, 0, counter(3)),
			k.Rmw(4, wire.FetchAndAdd, to, there, here, 0, counter(4)),
		} {
			want(x.t, [...]string{"put", "long put", "get", "am", "rmw"}[n], code, codes.Success)
		}
		x.net.Node(i).Touch()
	}
	for end := x.net.Now() + int64(10*time.Minute); !x.complete(); {
		if !x.net.Step() || x.net.Now() > end {
			x.t.Fatalf("the operations do not complete: %s", x.state())
		}
	}
}

func (x *exchanges) complete() bool {
	for _, c := range x.counters {
		for n := range flatKinds {
			if counterOf(c[8*n:]) == 0 {
				return false
			}
		}
	}
	return true
}

// run lets minutes pass, in which the network fails for a second every 15 s, each time in another
// way.
func (x *exchanges) run(minutes int) {
	faults := []simnet.Disturbance{{Kind: simnet.CutPair, B: 1}, {Kind: simnet.CutOneWay, A: 1},
		{Kind: simnet.DeadAdapter, A: 1, Told: true}, {Kind: simnet.DeadAdapter, A: 1},
		{Kind: simnet.DeadNetwork}, {Kind: simnet.Asleep, A: 1}}
	const pause = 3 // s
	for second := 0; second < 60*minutes; second += pause {
		if second%15 == 0 {
			d := faults[second/15%len(faults)]
			d.Time = time.Second
			x.net.Disturb(d)
		}
		begin := x.net.Now()
		x.round()
		x.pass(pause*time.Second - time.Duration(x.net.Now()-begin))
	}
}

// TestHeapIsFlatUnderLoss: after an hour and more with 2 % of all packets lost and a link that fails
// again and again a job has as much on its heap as after the first minutes.
func TestHeapIsFlatUnderLoss(t *testing.T) {
	if !heap.Alone(t) {
		return
	}
	x := newExchanges(t, 3, simnet.Way{Loss: 0.02, DelayMin: 100 * time.Microsecond,
		DelayMax: 300 * time.Microsecond})
	x.run(flatFirst)
	first := heap.InUse()
	x.run(flatMinutes)
	last := heap.InUse()
	t.Logf("%d bytes after %d minutes, %d after %d more; %+v", first, flatFirst, last,
		flatMinutes, x.net.Counts)
	if last > first+flatSlack {
		t.Errorf("the heap has grown from %d to %d bytes in %d simulated minutes", first, last,
			flatMinutes)
	}
	if x.net.Counts.Lost == 0 || x.net.Counts.Cut == 0 {
		t.Error("nothing was lost or cut")
	}
}
