package udp

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// bottleneck is where flows to one task meet.
type bottleneck struct {
	name  string
	rate  int64         // bytes a second
	queue time.Duration // how long the last packet waits that it takes
}

var (
	slowBottleneck = bottleneck{"1 Gb/s, 0.5 ms", 125e6, 500 * time.Microsecond}
	fastBottleneck = bottleneck{"10 Gb/s, 80 us", 1250e6, 80 * time.Microsecond}
)

// way is the way through b; jitter: packets take up to a quarter of the queue longer.
func (b bottleneck) way(jitter bool) simLink {
	w := simLink{delay: 20 * time.Microsecond, rate: b.rate,
		queue: int(b.rate * int64(b.queue) / int64(time.Second))}
	if jitter {
		w.spread = b.queue / 4
	}
	return w
}

// shares is the result of flows that share a bottleneck.
type shares struct {
	used  float64 // of the rate, by packets that came for the first time
	lost  float64 // of the packets sent
	least float64 // the smallest share, of the mean
}

func (s shares) String() string {
	return fmt.Sprintf("%.2f of the rate used, %.2f %% lost, smallest share %.2f", s.used,
		100*s.lost, s.least)
}

// isGood has the requirements on a congestion law.
func (s shares) isGood() bool { return s.used >= 0.9 && s.lost <= 0.01 && s.least >= 0.5 }

// share starts the flows within 50 ms, lets settle pass, and measures for d. Each flow has a
// machine and a receive buffer of 4 MiB.
func share(t *testing.T, flows int, way simLink, settle, d time.Duration) (s shares) {
	const begin = 50 * time.Millisecond
	r := newSimNet(t, flows+1, func(c *Config) { c.ReceiveBuffer = 4 << 20 }, way)
	var streams []*stream
	for i := range flows {
		streams = append(streams, r.stream(i+1, 0, 1<<30))
	}
	start := r.now
	feed := func() bool {
		n := 1 + int(min(r.now-start, int64(begin))*int64(flows-1)/int64(begin))
		for _, s := range streams[:n] {
			if r.ms[s.from].connected(0).sender.window.Unsent() < maxWaitingIdle/2 {
				s.feed()
			}
		}
		return false
	}
	r.until(begin+settle, feed)
	w, before := &r.links[0][0], r.links[0][0]
	got := r.got[0]
	each := make([]uint64, flows)
	for i := range each {
		each[i] = r.ms[i+1].Stats().DataSent
	}
	r.until(d, feed)
	sum, least := uint64(0), ^uint64(0)
	for i := range each {
		n := r.ms[i+1].Stats().DataSent - each[i]
		sum += n
		least = min(least, n)
	}
	return shares{
		used:  float64((r.got[0]-got)*1472) / d.Seconds() / float64(way.rate),
		lost:  float64(w.lost-before.lost) / float64(w.sent-before.sent),
		least: float64(least) * float64(flows) / float64(sum),
	}
}

// Flows that share a bottleneck whose queue is short use it, lose little, and have about the same
// of it, whether packets keep their order or not.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		b     bottleneck
		flows int
	}{{slowBottleneck, 2}, {slowBottleneck, 4}, {slowBottleneck, 8}, {slowBottleneck, 32},
		{slowBottleneck, 128}, {fastBottleneck, 8}} {
		if raced && c.flows != 2 {
			continue // `make sim` runs all
		}
		for _, jitter := range []bool{false, true} {
			settle, d := 500*time.Millisecond, time.Second
			if c.b == fastBottleneck { // as many packets in less time
				settle, d = settle/4, d/4
			}
			s := share(t, c.flows, c.b.way(jitter), settle, d)
			t.Logf("%s, %d flows, jitter %v: %v", c.b.name, c.flows, jitter, s)
			if !s.isGood() {
				t.Errorf("%s, %d flows, jitter %v: the path is not shared well: %v", c.b.name,
					c.flows, jitter, s)
			}
		}
	}
}

// The table of docs/dev/udp.md: LAPI_SHARES=all go test -v -run TestAllShares. A number of flows in
// place of all: only its rows.
func TestAllShares(t *testing.T) {
	which := os.Getenv("LAPI_SHARES")
	if which == "" {
		t.Skip("skipped: takes minutes; LAPI_SHARES=all runs it")
	}
	fmt.Println("| bottleneck, its queue | jitter | flows | used | lost, % | smallest share |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, b := range []bottleneck{slowBottleneck, fastBottleneck} {
		for _, jitter := range []bool{false, true} {
			for _, flows := range []int{2, 4, 8, 32, 128} {
				if which != "all" && which != fmt.Sprint(flows) {
					continue
				}
				s := share(t, flows, b.way(jitter), time.Second, time.Second)
				fmt.Printf("| %s | %v | %d | %.2f | %.2f | %.2f |\n", b.name, jitter, flows, s.used,
					100*s.lost, s.least)
			}
		}
	}
}
