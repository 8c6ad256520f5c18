package congestion

// many origins of one target divide what is known to be a queue there.
const many = 4

// Where many origins share the target each knows how many they are, as the peer says so: its limit
// is what its buffer divided by their number is. They increase by manyPackets a round trip, divided
// by the square of their number, and at most by mostGrowth of the square of the window; while no
// queue shows by idleGrowth of it, or of its square if that is less. As that is the same for all,
// losses, of which each has its share, make the windows equal.
const (
	manyPackets = 2.4
	mostGrowth  = 0.03
	idleGrowth  = 1. / 256
)

// isMany says whether many origins share the peer's socket.
func (c *law) isMany() bool { return c.origins() > many }

// manyIncrease is by how many packets the window w of one of n origins grows in a round trip.
func manyIncrease(n, w float64, queueing bool) float64 {
	a := min(cubicAlpha, manyPackets/n/n, mostGrowth*w*w)
	if !queueing {
		a = max(a, idleGrowth*w*min(w, 1))
	}
	return a
}
