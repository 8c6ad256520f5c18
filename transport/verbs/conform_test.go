package verbs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/udp"
	"lapi/transport/verbs/internal/bulk"
)

// net is connected links over a fake network.
type net struct {
	fabric  *fake.Fabric
	devices []*fake.Device
	links   []*Link
	ports   [][]*fake.Device // of each node; the first is in devices
	// carriers are the links by UDP/IP that spare ports are over; see newSpareNet
	carriers []*udp.Link
	notices  []notice
	random   *rand.Rand // of notices
}

// notice is an address on its way to a task, by the channel of the tasks' job.
type notice struct {
	to, of  int
	address []byte
	turns   int
}

// moved sends a task's address to all others: late, twice, and overtaking others.
func (n *net) moved(task int) {
	for i := range n.links {
		for range 2 {
			n.notices = append(n.notices, notice{i, task, n.links[task].Address().Bytes,
				n.random.IntN(50)})
		}
	}
}

// deliver takes in the notices whose time has come.
func (n *net) deliver() {
	all := n.notices
	n.notices = nil
	for _, m := range all {
		if m.turns--; m.turns >= 0 {
			n.notices = append(n.notices, m)
			continue
		}
		n.links[m.to].Moved(transport.Endpoint(m.of), m.address)
	}
}

// newNet makes n connected links; set changes the network, and the configuration of each link.
func newNet(t testing.TB, n int, seed uint64, set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	return newNetOfPorts(t, make([]int, n), seed, set)
}

// newNetOfPorts is newNet; more says how many ports each node has beside its first.
func newNetOfPorts(t testing.TB, more []int, seed uint64, set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	all := makeNet(t, more, seed, set)
	conform.ConnectAll(t, all.links)
	return all
}

// makeNet makes links that are not connected yet.
func makeNet(t testing.TB, more []int, seed uint64, set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	return makeNetOver(t, more, seed, set, func(d *fake.Device) ibv.Device { return d })
}

// makeNetOver is makeNet with adapters that open makes of the network's.
func makeNetOver(t testing.TB, more []int, seed uint64, set func(*fake.Fabric, *Config),
	open func(*fake.Device) ibv.Device) *net {
	t.Helper()
	memory.Guard()
	all := &net{fabric: fake.NewRandom(seed), random: rand.New(rand.NewPCG(seed, 5))}
	for i, ports := range more {
		c := Config{Task: i, Key: []byte("a key")}
		if set != nil {
			set(all.fabric, &c)
		}
		var devices []*fake.Device
		for range 1 + ports {
			d, err := all.fabric.Device()
			if err != nil {
				t.Fatal(err)
			}
			devices = append(devices, d)
			c.More = append(c.More, open(d))
		}
		c.Adapter, c.More = c.More[0], c.More[1:]
		l, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		all.devices, all.links = append(all.devices, devices[0]), append(all.links, l)
		all.ports = append(all.ports, devices)
	}
	return all
}

// fast is a clock on which lost datagrams cost little time.
func fast() transport.Clock {
	start := time.Now()
	return func() int64 { return 50*int64(time.Since(start)) + 1 }
}

func factory(set func(*fake.Fabric, *Config), more ...int) conform.Factory {
	return conform.Factory{MaxNodes: 4, New: func(t *testing.T, n int) *conform.Net {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		out := &conform.Net{}
		net := newNetOfPorts(t, append(more, 0, 0, 0, 0)[:n], seed, set)
		if strings.HasSuffix(t.Name(), "/SteadyState") {
			net.fabric.Break = 0 // another queue pair is no steady state
		}
		t.Cleanup(func() {
			if n := net.fabric.Broken(); n > 0 {
				t.Logf("%d queue pairs have failed", n)
			}
		})
		for _, l := range net.links {
			out.Nodes = append(out.Nodes, conform.Node{Link: l,
				Emul: emul.New(l, conform.EmulRequest, conform.EmulReply)})
		}
		return out
	}}
}

func TestConform(t *testing.T) { conform.Run(t, factory(nil)) }

// TestConformShortRDMA: RDMA for nearly everything, in many pieces.
func TestConformShortRDMA(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, c *Config) {
		c.BulkMin, f.Info.MaxMessage = 8, 5000
	}))
}

// TestConformCopies: no RDMA at all.
func TestConformCopies(t *testing.T) {
	conform.Run(t, factory(func(_ *fake.Fabric, c *Config) { c.BulkMin = bulk.OneSidedMax + 1 }))
}

// TestConformScarce: an adapter that has little of everything.
func TestConformScarce(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, _ *Config) {
		f.Info.MaxCQE, f.Info.MaxReceives, f.Info.MaxInline = 64, 5, 0
	}))
}

// TestConformBreaking: queue pairs that fail all the time, and datagrams that are lost.
func TestConformBreaking(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, c *Config) {
		f.Break, f.Lose, c.BulkMin = 0.01, 0.3, 2000
		c.Clock = fast()
	}))
}

// TestConformPorts: tasks with different numbers of ports, and RDMA over all of them.
func TestConformPorts(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, c *Config) {
		c.BulkMin, f.Info.MaxMessage = 8, 5000
	}, 1, 2, 0, 1))
}

// TestConformPortsBreaking: the same, with queue pairs that fail and datagrams that are lost.
func TestConformPortsBreaking(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, c *Config) {
		f.Break, f.Lose, c.BulkMin = 0.01, 0.3, 2000
		c.Clock = fast()
	}, 1, 2, 2, 1))
}
