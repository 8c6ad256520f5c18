package congestion

import (
	"testing"

	"lapi/transport/udp/internal/rtt"
)

// Whatever the law, a loss behind a queue makes the window smaller, and losses of what was in
// flight at that time do not make it much smaller still.
func TestLossBehindQueueShrinks(t *testing.T) {
	c := New(packet)
	c.Reset(1 << 22)
	var e rtt.Estimator
	now := int64(1)
	round := func(took int64) { // all that the window allows arrives
		now += took
		e.Sample(now, took)
		c.Blocked()
		c.Acked(c.Window())
		c.Update(now, &e)
	}
	for range 4 {
		round(1e6)
	}
	for range 20 { // a queue builds up
		round(2e6)
	}
	before := c.Window()
	c.Lost(Loss{Tx: 1000, Newest: 1100, Bytes: packet}, &e)
	once := c.Window()
	if once >= before {
		t.Fatalf("the window stays at %d of %d bytes", once, before)
	}
	for tx := range uint64(10) {
		c.Lost(Loss{Tx: 1001 + tx, Newest: 1100, Bytes: packet}, &e)
	}
	if w := c.Window(); w < once/2 {
		t.Errorf("losses of one flight take the window from %d to %d bytes", once, w)
	}
}
