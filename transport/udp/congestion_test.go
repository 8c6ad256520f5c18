package udp

import (
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
)

// tenGigabit is a short path inside a rack, with a queue of half a millisecond.
func tenGigabit() simLink {
	return simLink{delay: 10 * time.Microsecond, rate: 1250e6,
		queue: 625e3}
}

// far is a path of 10 ms there and back.
func far() simLink { return simLink{delay: 5 * time.Millisecond, rate: 125e6, queue: 500e3} }

// Losses at random cost little more than the packets that are lost.
func TestRandomLoss(t *testing.T) {
	for name, c := range map[string]struct {
		way                 func() simLink
		alone               float64 // of the path's rate, without losses
		one, ten            float64 // of the rate without losses, at 1 % and 10 %
		packets, packetSize int
	}{
		"gigabit":       {gigabit, 0.9, 0.85, 0.6, 20000, 1472},
		"ten gigabit":   {tenGigabit, 0.8, 0.7, 0.4, 40000, 1472},
		"large packets": {tenGigabit, 0.8, 0.6, 0.3, 4000, 65507},
		"far":           {far, 0.5, 0.6, 0.2, 60000, 1472},
	} {
		t.Run(name, func(t *testing.T) {
			var rates []float64
			for _, loss := range []float64{0, 0.01, 0.1} {
				way := c.way()
				way.loss = loss
				r := newSimNet(t, 2, func(cfg *Config) {
					cfg.PacketSize = c.packetSize
					cfg.ReceiveBuffer = 4 << 20
				}, way)
				rates = append(rates, r.rate(c.packets, false))
			}
			t.Logf("%.0f MB/s; 1%%: %.2f, 10%%: %.2f of it", rates[0]/1e6, rates[1]/rates[0],
				rates[2]/rates[0])
			if rates[0] < c.alone*float64(c.way().rate) || rates[1] < c.one*rates[0] ||
				rates[2] < c.ten*rates[0] {
				t.Errorf("less than %.2f of the path, then %.2f and %.2f of that", c.alone, c.one,
					c.ten)
			}
		})
	}
}

// Many origins that send to one target through one bottleneck share it, and few of their packets
// are sent in vain.
func TestBottleneck(t *testing.T) {
	for name, way := range map[string]simLink{"gigabit": gigabit(),
		"shallow": {delay: 20 * time.Microsecond, rate: 1250e6, queue: 100e3}, "far": far()} {
		for _, origins := range []int{1, 2, 4, 8} {
			r := newSimNet(t, origins+1, func(c *Config) { c.ReceiveBuffer = 212992 }, way)
			var streams []*stream
			for i := range origins {
				streams = append(streams, r.stream(i+1, 0, 1<<30))
			}
			feed := func() bool {
				for _, s := range streams {
					s.feed()
				}
				return false
			}
			d := time.Duration(20000 * 1472 * 1e9 / way.rate)
			r.until(d/2, feed)
			before, sent := r.got[0], r.sentBy[0]
			var each []uint64
			for i := range origins {
				each = append(each, r.ms[i+1].Stats().DataSent)
			}
			r.until(d, feed)
			good := float64((r.got[0]-before)*r.ms[0].Limits().SendMax) / d.Seconds() /
				float64(way.rate)
			useful := float64((r.got[0]-before)*r.ms[0].Limits().SendMax) / float64(r.sentBy[0]-
				sent)
			least, most := ^uint64(0), uint64(0)
			for i := range origins {
				n := r.ms[i+1].Stats().DataSent - each[i]
				least, most = min(least, n), max(most, n)
			}
			t.Logf(
				"%s, %d origins: %.2f of the path, %.2f of what was sent, least share / most %.2f",
				name, origins, good, useful, float64(least)/float64(most))
			enough := 0.8
			if name == "far" { // the smallest buffer is a sixth of the bytes on the way
				enough = 0.1
			}
			if good < enough || useful < 0.8 || float64(least) < 0.2*float64(most) {
				t.Errorf("%s, %d origins: the path is not used well", name, origins)
			}
		}
	}
}

// Two, four and eight origins, over real sockets whose target has the kernel's default buffer:
// nothing collapses. Few packets are resent.
func TestManyToOneDefaultBuffer(t *testing.T) {
	memory.Guard()
	for _, origins := range []int{2, 4, 8} {
		// of which the kernel makes 212992
		ls := links(t, origins+1, func(_ int, c *Config) { c.ReceiveBuffer = 212992 / 2 })
		size := ls[0].Limits().SendMax
		data := userMemory(t, size)
		got, packets := 0, 8<<20/size
		ls[0].Handle(5, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		ops := make([]transport.Op, origins)
		left, busy := make([]int, origins), make([]bool, origins)
		for i := range ops {
			left[i] = packets
			ops[i] = transport.Op{Local: memory.AddrOf(data), N: uint64(size),
				Done: func(_ *transport.Op, err error) {
					if busy[i] = false; err != nil {
						t.Error(err)
					}
				}}
		}
		until(t, ls, "all packets", func() bool {
			for i := range ops {
				if left[i] > 0 && !busy[i] {
					if _, err := ls[i+1].Send(0, 5, nil, &ops[i]); err == nil {
						left[i]--
						busy[i] = true
					}
				}
			}
			return got == origins*packets
		})
		again := uint64(0)
		for _, l := range ls[1:] {
			again += l.Stats().RetransmittedPackets
		}
		t.Logf("%d origins: %d packets, %d sent again", origins, origins*packets, again)
		if int(again) > origins*packets/2 {
			t.Errorf("%d origins: %d packets were sent again", origins, again)
		}
		closeAll(t, ls)
	}
}
