package udp

import (
	"math/rand/v2"
	"net/netip"

	"lapi/transport"
)

// Losing is a Config.Drop that loses this share of all packets, 0 to 100 percent, by a choice that
// seed and task determine.
func Losing(percent float64, seed uint64, task int) func(packet []byte) bool {
	r := rand.New(rand.NewPCG(seed, uint64(task)))
	return func([]byte) bool { return 100*r.Float64() < percent }
}

// lossy loses packets between protocol and sockets, for tests.
type lossy struct {
	Gatherer
	drop func(packet []byte) bool
}

func (o *lossy) Transmit(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	if o.drop(head) {
		return Sent
	}
	return o.Gatherer.Transmit(path, to, head, data, n)
}

// PathMTU implements MTUSource.
func (o *lossy) PathMTU(path Path, to netip.AddrPort) int {
	if s, ok := o.Gatherer.(MTUSource); ok {
		return s.PathMTU(path, to)
	}
	return 0
}

func (o *lossy) Gather(path Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	if o.drop(head) {
		return Sent
	}
	return o.Gatherer.Gather(path, to, head, data, n)
}
