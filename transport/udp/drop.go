package udp

import "math/rand/v2"

// Losing is a Config.Drop that loses this share of all packets, 0 to 100 percent, by a choice that
// seed and task determine.
func Losing(percent float64, seed uint64, task int) func(packet []byte) bool {
	r := rand.New(rand.NewPCG(seed, uint64(task)))
	return func([]byte) bool { return 100*r.Float64() < percent }
}
