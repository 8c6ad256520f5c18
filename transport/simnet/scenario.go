package simnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// Scenario is all that a seed decides beforehand.
type Scenario struct {
	Seed      uint64
	Tasks     int   // 2 to 16
	Addresses []int // of each task, 1 to 4
	Level     wire.Level
	HasKey    bool

	// Settings of the protocol, alike in all tasks but for ReceiveBuffer, which is the
	// socket's.
	PacketSize, CopyMax, RexmitBufCount, AckThreshold, RetransmitInterval, ReceiveBuffer int
	PollingInterval,
	Timeout time.Duration

	Discover bool // each path's packet size is found; paths take less than PacketSize
	Ways     [udp.MaxPaths]Way
	Gather   bool          // tasks' packets go together at the end of an entry
	Full     float64       // share of packets that a task's socket does not take
	Deaf     float64       // how often a task does not look whether its socket is empty
	Service  time.Duration // that a task needs for a packet

	Messages int           // of all tasks together
	Think    time.Duration // mean pause of a task between two bursts of messages
	Burst    int           // messages of a burst at most
	// share of messages that a handler refuses the first time, and again
	Refuse float64
	// until then handlers refuse the first messages, whatever else comes
	Stubborn           time.Duration
	Reply              float64 // share of messages to which the handler sends one
	Flush              float64 // share of bursts after which a task flushes
	Single             bool    // messages are not to be spread over paths
	Pattern            Pattern
	Disturbances       int  // that befall the run
	Restarts           int  // of tasks, while the others go on
	Unannounced        bool // restarts are not announced: the others find out by their timeout
	LongestDisturbance time.Duration
}

// Pattern is who sends to whom.
type Pattern uint8

// Patterns.
const (
	AnyToAny Pattern = iota
	AllToOne         // incast, with answers
	OneToAll
	Ring // each to the next
	Pairs
	patterns
)

func (p Pattern) String() string {
	return [patterns]string{"any to any", "all to one", "one to all", "ring", "pairs"}[p]
}

// Target draws whom task from sends to.
func (sc *Scenario) Target(r *rand.Rand, from int) int {
	n := sc.Tasks
	other := (from + 1 + r.IntN(n-1)) % n
	switch sc.Pattern {
	case AllToOne:
		if from != 0 {
			return 0
		}
	case OneToAll:
		if from != 0 && r.IntN(8) > 0 {
			return 0
		}
	case Ring:
		return (from + 1) % n
	case Pairs:
		if partner := from ^ 1; partner < n {
			return partner
		}
	}
	return other
}

// NewScenario is the scenario of a seed.
func NewScenario(seed uint64) *Scenario {
	r := rand.New(rand.NewPCG(seed, 2))
	sc := &Scenario{Seed: seed, Tasks: 2 + int(math.Pow(r.Float64(), 2)*15),
		Level: wire.Level(r.IntN(int(wire.LevelNone) + 1)), HasKey: r.IntN(2) == 0, Messages: 1000}
	most := 1 + r.IntN(4)
	for range sc.Tasks {
		n := most
		if r.IntN(4) == 0 {
			n = 1 + r.IntN(most)
		}
		sc.Addresses = append(sc.Addresses, n)
	}
	sc.PacketSize = pick(r, 1024, 1472, 1472, 8972, 65507)
	sc.CopyMax = pick(r, -1, 64, 128, 16384)
	sc.RexmitBufCount = pick(r, 1, 8, 128)
	sc.AckThreshold = 1 + r.IntN(udp.MaxAckThreshold)
	sc.RetransmitInterval = pick(r, 0, 0, 1000, 10)
	sc.ReceiveBuffer = pick(r, 1<<17, 212992, 1<<20, 1<<22)
	sc.PollingInterval = pick(r, 10*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond)
	sc.Timeout = 900 * time.Second
	if r.IntN(3) == 0 {
		sc.Full = share(r, 0.1)
		sc.Deaf = share(r, 1)
	}
	if r.IntN(3) == 0 {
		sc.Service = between(r, 100*time.Nanosecond, 50*time.Microsecond)
	}
	sc.HasKey = sc.HasKey || sc.Level == wire.LevelMAC
	sc.drawWays(r)
	sc.drawTraffic(r)
	sc.drawMTUs(rand.New(rand.NewPCG(seed, 4)))
	sc.Gather, sc.Single = r.IntN(2) == 0, r.IntN(8) == 0
	if r.IntN(8) == 0 {
		sc.drawStubborn(r)
	} else if r.IntN(12) == 0 {
		sc.calm()
	}
	return sc
}

// drawWays decides how bad the network is.
func (sc *Scenario) drawWays(r *rand.Rand) {
	alike := r.IntN(2) == 0
	for i := range sc.Ways {
		if w := &sc.Ways[i]; alike && i > 0 {
			*w = sc.Ways[0]
		} else {
			sc.drawWay(r, w)
		}
	}
}

func (sc *Scenario) drawWay(r *rand.Rand, w *Way) {
	*w = Way{MTU: sc.PacketSize, Duplicate: share(r, 0.2), Stray: share(r, 0.1),
		Damage: share(r, 0.05)}
	switch r.IntN(8) {
	case 0, 1: // none
	case 2:
		w.Loss = 0.5 * r.Float64()
	default:
		w.Loss = math.Pow(10, -1-3*r.Float64()) // 0.01 % to 10 %
	}
	w.DelayMin = between(r, time.Microsecond, 10*time.Millisecond)
	w.DelayMax = w.DelayMin
	if r.IntN(3) > 0 {
		w.DelayMax += between(r, time.Microsecond, 3*time.Millisecond)
	}
	if r.IntN(3) == 0 {
		w.Rate = int(math.Pow(10, 6+3*r.Float64())) // 1 MB/s to 1 GB/s
		w.Queue = max(4*sc.PacketSize, int(math.Pow(10, 4+2.5*r.Float64())))
	}
}

// drawMTUs decides, in one of three runs, what packet sizes the paths take.
func (sc *Scenario) drawMTUs(r *rand.Rand) {
	sc.Discover = r.IntN(3) == 0
	if !sc.Discover {
		return
	}
	for i := range sc.Ways {
		w := &sc.Ways[i]
		if r.IntN(3) > 0 {
			least := max(leastMTU, sc.PacketSize/16)
			w.MTU = least + r.IntN(sc.PacketSize-least+1)
		}
		w.Tells = r.IntN(2) == 0
	}
}

// leastMTU is the UDP data of a packet that every IPv4 path takes.
const leastMTU = 576 - 20 - 8

// drawTraffic decides what the tasks do, and what befalls them.
func (sc *Scenario) drawTraffic(r *rand.Rand) {
	sc.Think = between(r, time.Microsecond, 5*time.Millisecond)
	sc.Burst = pick(r, 1, 4, 32, 100)
	sc.Refuse = pick(r, 0, 0.01, 0.1, 0.3)
	sc.Reply = pick(r, 0, 0.1, 0.4)
	sc.Flush = pick(r, 0.02, 0.2)
	sc.Pattern = Pattern(r.IntN(int(patterns)))
	sc.LongestDisturbance = 2 * time.Second
	if r.IntN(3) > 0 {
		sc.Disturbances = 1 + r.IntN(12)
	}
	if r.IntN(4) == 0 {
		sc.Restarts = 1 + r.IntN(3)
		sc.Unannounced = r.IntN(3) == 0
	}
	if sc.Unannounced { // nobody else may seem dead
		sc.Timeout = 20 * time.Second
		sc.LongestDisturbance = time.Second
		for i := range sc.Ways {
			sc.Ways[i].Loss = min(sc.Ways[i].Loss, 0.05)
		}
	}
}

// calm makes a network that loses nothing: faults that show there at once must not hide behind
// retransmissions.
func (sc *Scenario) calm() {
	for i := range sc.Ways {
		w := &sc.Ways[i]
		w.Loss, w.Damage, w.Rate = 0, 0, 0
	}
	sc.Disturbances, sc.Restarts, sc.Unannounced, sc.Full, sc.Service = 0, 0, false, 0, 0
}

// drawStubborn has some messages refused for so long, and so much sent meanwhile, that the oldest
// packet holds up the window of sequence numbers.
func (sc *Scenario) drawStubborn(r *rand.Rand) {
	sc.Stubborn = between(r, 10*time.Millisecond, 2*time.Second)
	sc.Messages, sc.Burst, sc.Pattern = 2500, 100, OneToAll
	sc.Tasks = 2
	sc.Addresses = append(sc.Addresses, 1)[:2]
	sc.Think = between(r, time.Microsecond, 100*time.Microsecond)
	sc.Reply = 0
	for i := range sc.Ways {
		sc.Ways[i].Loss = min(sc.Ways[i].Loss, 0.02)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// share is 0 in one of two cases, else up to most.
func share(r *rand.Rand, most float64) float64 {
	if r.IntN(2) == 0 {
		return 0
	}
	return r.Float64() * most
}

// between is a time from the least to the most, each order of magnitude as likely as the next.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}

// Config is the protocol's settings for a task.
func (sc *Scenario) Config(task int) udp.Config {
	c := udp.Config{
		Task: task, NumTasks: sc.Tasks, Partition: "simulation", Round: 1,
		PacketSize: sc.PacketSize, CopyMax: sc.CopyMax,
		RexmitBufCount: sc.RexmitBufCount, AckThreshold: sc.AckThreshold,
		RetransmitInterval: sc.RetransmitInterval,
		PollingInterval:    sc.PollingInterval, Timeout: sc.Timeout, Level: sc.Level,
		Discover: sc.Discover,
	}
	if sc.HasKey {
		c.Key = []byte("a key of the simulation's tasks")
	}
	return c
}

// String is the scenario in some lines.
func (sc *Scenario) String() string {
	text := fmt.Sprintf("seed %d: %d tasks with %v addresses, LAPI_AUTH=%v, key %v; packets of %d (discovered: %v), CopyMax %d, %d retransmit buffers, ACK_THRESHOLD %d, "+
		"RETRANSMIT_INTERVAL %d, POLLING_INTERVAL %v, TIMEOUT %v, socket buffer %d\n", sc.Seed,
		sc.Tasks, sc.Addresses, sc.Level, sc.HasKey, sc.PacketSize, sc.Discover,
		sc.CopyMax, sc.RexmitBufCount, sc.AckThreshold, sc.RetransmitInterval, sc.PollingInterval,
		sc.Timeout, sc.ReceiveBuffer)
	text += fmt.Sprintf("  %d messages, %v, bursts of up to %d every %v; refused %.2f and the first until %v, answered %.2f, flushed %.2f, spread %v; full %.3f, deaf %.2f, service %v, gathered %v\n",
		sc.Messages, sc.Pattern, sc.Burst, sc.Think, sc.Refuse, sc.Stubborn, sc.Reply, sc.Flush,
		!sc.Single, sc.Full, sc.Deaf, sc.Service, sc.Gather)
	text += fmt.Sprintf("  %d disturbances of up to %v, %d restarts (unannounced: %v)\n",
		sc.Disturbances, sc.LongestDisturbance, sc.Restarts, sc.Unannounced)
	paths := 0
	for _, n := range sc.Addresses {
		paths = max(paths, n)
	}
	for i, w := range sc.Ways[:paths] {
		text += fmt.Sprintf("  path %d: loss %.4f, duplicates %.3f, strays %.3f, damage %.3f, delay %v to %v, rate %d B/s with a queue of %d B, MTU %d (told: %v)\n",
			i, w.Loss, w.Duplicate, w.Stray, w.Damage, w.DelayMin, w.DelayMax, w.Rate, w.Queue,
			w.MTU, w.Tells)
	}
	return text
}
