package congestion

import (
	"math"
	"testing"
)

// growFor lets the time seconds go by in round trips of rtt, each of which acknowledges the window.
func (c *cubic) growFor(w, seconds, rtt float64) float64 {
	for t := 0.; t < seconds; t += rtt {
		w = c.grown(w, w, rtt, rtt, 1)
	}
	return w
}

// Where round trips are long the window is W_max again after K seconds, and has hardly changed
// around that time (RFC 9438, figure 1).
func TestCubicPlateau(t *testing.T) {
	const rtt = 0.1
	var c cubic
	c.begin(1000)
	c.reduced(1000, 700)
	if k := math.Cbrt(300 / cubicC); math.Abs(c.k-k) > 1e-9 {
		t.Fatalf("K is %v, want %v", c.k, k)
	}
	half := c.growFor(700, c.k/2, rtt)
	full := c.growFor(half, c.k/2, rtt)
	if math.Abs(full-1000) > 10 || half < 950 || half > 1000 {
		t.Errorf("%v after half of K, %v after K", half, full)
	}
	if late := c.growFor(full, c.k, rtt); late < 1200 || late > 1400 {
		t.Errorf("%v after twice K", late)
	}
}

// Where round trips are short the window is that of Reno with the same decrease (section 4.3): it
// grows by cubicAlpha in each until it has its old size, then by one.
func TestCubicIsRenoFriendly(t *testing.T) {
	const rtt = 1e-4
	var c cubic
	c.begin(100)
	c.reduced(100, 70)
	w := c.growFor(70, 50*rtt, rtt)
	if math.Abs(w-(70+50*cubicAlpha)) > 0.1 {
		t.Errorf("%v after 50 round trips", w)
	}
	w = c.growFor(w, 7*rtt, rtt)
	if before := w; math.Abs(c.growFor(w, 10*rtt, rtt)-before-10) > 1.5 {
		t.Errorf("%v, and 10 round trips later %v", before, c.friendly)
	}
}

// A flow that is reduced before its window has recovered leaves room: W_max is less than that
// window.
func TestFastConvergence(t *testing.T) {
	var c cubic
	c.begin(100)
	c.reduced(100, 70)
	c.reduced(90, 63)
	if want := 90 * (1 + cubicBeta) / 2; math.Abs(c.most-want) > 1e-9 {
		t.Errorf("W_max is %v, want %v", c.most, want)
	}
	c.reduced(95, 66)
	if c.most != 95 {
		t.Errorf("W_max is %v after a window of 95", c.most)
	}
}
