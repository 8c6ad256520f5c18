package udp

import (
	"fmt"
	"testing"
	"time"
)

// besideTCP is our share of a bottleneck, of the share of one TCP connection that was there first,
// for d after settle.
func besideTCP(t *testing.T, way simLink, reno bool, settle, d time.Duration) float64 {
	r := newSimNet(t, 3, func(c *Config) { c.ReceiveBuffer = 4 << 20 }, way)
	r.links[1][0].spread = time.Duration(tcpHost) // as the TCP model has it
	f := r.tcp(2, 0, reno)
	r.pass(time.Second)
	s := r.stream(1, 0, 1<<30)
	feed := func() bool {
		if r.ms[1].connected(0).sender.window.Unsent() < maxWaitingIdle/2 {
			s.feed()
		}
		return false
	}
	r.until(settle, feed)
	ours, theirs := r.got[0], f.delivered
	r.until(d, feed)
	ours, theirs = r.got[0]-ours, f.delivered-theirs
	if used := float64((ours+theirs)*tcpPacket) / d.Seconds() / float64(way.rate); used < 0.9 {
		t.Errorf("only %.2f of the rate is used", used)
	}
	return float64(ours) / float64(max(theirs, 1))
}

// Beside a TCP connection we have between a half of its share of a bottleneck and twice that, be
// its law CUBIC or Reno's, its queue long or short.
func TestBesideTCP(t *testing.T) {
	for _, c := range []struct {
		b         bottleneck
		settle, d time.Duration
	}{
		{bottleneck{"400 Mbit, 2 ms", 50e6, 2 * time.Millisecond}, time.Second, 4 * time.Second},
		{bottleneck{"400 Mbit, 20 ms", 50e6, 20 * time.Millisecond}, 3 * time.Second,
			12 * time.Second},
		{bottleneck{"1 Gbit, 2 ms", 125e6, 2 * time.Millisecond}, time.Second, 2 * time.Second},
		{bottleneck{"1 Gbit, 0.5 ms", 125e6, 500 * time.Microsecond}, time.Second,
			2 * time.Second},
	} {
		for _, reno := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reno %v", c.b.name, reno), func(t *testing.T) {
				if raced && (reno || c.d != 4*time.Second) {
					t.Skip("skipped: the law is the same without the race detector")
				}
				way := c.b.way(false)
				way.delay = 50 * time.Microsecond
				share := besideTCP(t, way, reno, c.settle, c.d)
				t.Logf("%.2f of TCP's share", share)
				if share < 0.5 || share > 2 {
					t.Errorf("%.2f of TCP's share", share)
				}
			})
		}
	}
}
