package hostile

import (
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"
)

// flood is how many packets a second the attacker sends.
const flood = 50000

// BenchmarkFlood compares a job's rate while the attacker floods one of its tasks with forged
// packets from the other's address to the rate while it floods a socket that has nothing to do with
// the job: medians of interleaved trials, and their ratio.
func BenchmarkFlood(b *testing.B) {
	for _, level := range levels {
		for _, mode := range []string{"small", "large"} {
			b.Run(level+" "+mode, func(b *testing.B) {
				for b.Loop() {
					var rates [2][]float64
					for range 7 {
						for attacked := range rates {
							rates[attacked] = append(rates[attacked],
								underFlood(b, mode, level, attacked == 1))
						}
					}
					bystander, victim := median(rates[0]), median(rates[1])
					b.ReportMetric(victim/bystander, "of-the-rate")
					b.ReportMetric(bystander, "puts/s-other-flooded")
					b.ReportMetric(victim, "puts/s-flooded")
				}
			})
		}
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// underFlood is the rate of a job while a flood goes to task 1, or to a socket that takes it in and
// drops it.
func underFlood(b *testing.B, mode, level string, attack bool) float64 {
	b.Helper()
	const d = 1500 * time.Millisecond
	a, err := NewAttacker(true)
	if err != nil {
		b.Skip("raw sockets need root: ", err)
	}
	defer a.Close()
	bystander, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	defer bystander.Close() // its buffer is soon full: the kernel drops what comes then
	to := uint16(bystander.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	j := start(b, mode, d, level)
	if attack {
		to = j.ports[1]
	}
	r := rand.New(rand.NewPCG(3, 4))
	packets := make([][]byte, 1024)
	for i := range packets {
		packets[i] = Forge(r, kinds[i%len(kinds)], 2, 0, 1)
	}
	Rate(flood, d, func() { a.Send(j.ports[0], to, packets[a.Sent%len(packets)]) })
	j.finish()
	if a.Sent < flood/2 {
		b.Errorf("only %d packets were sent", a.Sent)
	}
	if g := j.counts(1).ghosts; attack && g < a.Sent/4 {
		b.Errorf("of %d packets %d arrived", a.Sent, g)
	}
	return j.rate()
}
