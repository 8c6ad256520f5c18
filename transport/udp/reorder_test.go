package udp

import (
	"testing"
	"time"
)

// Packets that overtake each other are not sent again in vain, but for some until the path is
// known; losses are noticed all the same.
func TestJitter(t *testing.T) {
	for name, spread := range map[string]time.Duration{"a tenth": 20 * time.Microsecond,
		"as long as the way": 200 * time.Microsecond, "long": 3 * time.Millisecond} {
		for _, loss := range []float64{0, 0.02} {
			way := simLink{delay: 200 * time.Microsecond, rate: 125e6, queue: 1 << 20,
				spread: spread, loss: loss}
			r := newSimNet(t, 2, nil, way)
			const packets = 20000
			rate := r.rate(packets, false)
			s := r.ms[0].stats
			again := float64(s.RetransmittedPackets) / float64(s.PacketsSent)
			t.Logf("%s, loss %.2f: %.2f of the path, %.3f of the packets were sent again", name,
				loss, rate/float64(way.rate), again)
			least := 0.8
			if spread >= time.Millisecond {
				least = 0.2 - 5*loss // late packets are not resent in vain for long
			}
			if again > 0.03+1.5*loss || rate < least*float64(way.rate) {
				t.Errorf("%s, loss %.2f: %.2f of the path, %.3f sent again", name, loss,
					rate/float64(way.rate), again)
			}
		}
	}
}

// The allowance for reordering is taken back when the path keeps the order again.
func TestJitterEnds(t *testing.T) {
	way := simLink{delay: 200 * time.Microsecond, rate: 125e6, queue: 1 << 20,
		spread: 2 * time.Millisecond}
	r := newSimNet(t, 2, nil, way)
	r.rate(5000, false)
	slack := r.ms[0].connected(1).paths.At(0).Slack()
	r.links[0][0].spread, r.links[1][0].spread = 0, 0
	for range 120 {
		r.rate(50, false)
		r.pass(100 * time.Millisecond)
	}
	if left := r.ms[0].connected(1).paths.At(0).Slack(); slack == 0 || left != 0 {
		t.Errorf("%v were allowed for, and %v in the end", time.Duration(slack),
			time.Duration(left))
	}
}
