package congestion

import "math"

// The constants of RFC 9438, section 4: C in packets a second to the third, and the part of the
// window that a loss leaves.
const (
	cubicC    = 0.4
	cubicBeta = 0.7
	// cubicAlpha packets a round trip give Reno's share beside Reno, with cubicBeta.
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
)

// cubic is congestion avoidance as RFC 9438 has it, in packets and seconds. Time counts as long as
// the window is in use only (section 5.8).
type cubic struct {
	most     float64 // W_max
	prior    float64 // cwnd_prior: the window before the latest reduction
	k        float64 // K: when the window is W_max again
	t        float64 // since the latest reduction
	friendly float64 // W_est: what Reno would have
}

// begin begins with a window of w that no loss has bounded.
func (c *cubic) begin(w float64) { *c = cubic{most: w, prior: w, friendly: w} }

// reduced takes in that a loss took the window from w down to after. A flow whose window came back
// to less than before leaves room for others (fast convergence, section 4.7).
func (c *cubic) reduced(w, after float64) {
	if w < c.most {
		c.most = w * (1 + cubicBeta) / 2
	} else {
		c.most = w
	}
	c.prior, c.friendly, c.t = w, after, 0
	c.k = math.Cbrt(max(c.most-after, 0) / cubicC)
}

// at is W_cubic.
func (c *cubic) at(t float64) float64 {
	d := t - c.k
	return cubicC*d*d*d + c.most
}

// grown is the window after w, when acked packets were acknowledged in the time seconds, with a
// round trip of rtt. friendliness scales the growth of Reno's share.
func (c *cubic) grown(w, acked, seconds, rtt, friendliness float64) float64 {
	alpha := 1.0
	if c.friendly < c.prior {
		alpha = cubicAlpha
	}
	c.t += seconds
	c.friendly += alpha * friendliness * acked / w
	if c.at(c.t) < c.friendly {
		return max(w, c.friendly)
	}
	target := min(max(c.at(c.t+rtt), w), 1.5*w)
	return w + (target-w)*acked/w
}
