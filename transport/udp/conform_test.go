package udp

import (
	"net/netip"
	"testing"

	"lapi/transport/conform"
	"lapi/transport/emul"
)

var loopback = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

// links makes n connected links on the loopback interface; set changes the configuration of each.
func links(t testing.TB, n int, set func(task int, c *Config)) []*Link {
	t.Helper()
	all := make([]*Link, n)
	for i := range all {
		c := Config{Task: i, NumTasks: n, Key: []byte("a key"), Partition: t.Name(),
			Locals: []Local{{Addr: loopback}}}
		if set != nil {
			set(i, &c)
		}
		l, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = l
	}
	conform.ConnectAll(t, all)
	return all
}

// losing loses this share of all packets, by a seeded choice of its own for each task.
func losing(share float64) func(int, *Config) {
	return func(task int, c *Config) {
		if share != 0 {
			c.Drop = Losing(100*share, 42, task)
		}
	}
}

func factory(set func(int, *Config)) conform.Factory {
	return conform.Factory{MaxNodes: 4, New: func(t *testing.T, n int) *conform.Net {
		net := &conform.Net{}
		for _, l := range links(t, n, set) {
			net.Nodes = append(net.Nodes, conform.Node{Link: l,
				Emul: emul.New(l, conform.EmulRequest, conform.EmulReply)})
		}
		return net
	}}
}

func TestConform(t *testing.T) { conform.Run(t, factory(nil)) }

// Every packet small, as little copied as possible, few buffers: the other ways through Send.
func TestConformSmallPackets(t *testing.T) {
	conform.Run(t, factory(func(_ int, c *Config) {
		c.PacketSize = MinPacketSize
		c.CopyMax = 64
		c.RexmitBufCount = 1
		c.AckThreshold = 1
	}))
}

// Without GSO and GRO, as where the kernel has none.
func TestConformPlain(t *testing.T) {
	conform.Run(t, factory(func(_ int, c *Config) { c.Plain = true }))
}

// TestLoss in link_test.go has more loss; here every rule of the suite is tried with some.
func TestConformLoss(t *testing.T) { conform.Run(t, factory(losing(0.05))) }
