package verbs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/fake"
)

// net is connected links over a fake network.
type net struct {
	fabric  *fake.Fabric
	devices []*fake.Device
	links   []*Link
}

// newNet makes n connected links; set changes the network, and the configuration of each link.
func newNet(t testing.TB, n int, seed uint64, set func(*fake.Fabric, *Config)) *net {
	t.Helper()
	memory.Guard()
	all := &net{fabric: fake.NewFabric(seed)}
	for i := range n {
		c := Config{Task: i, Key: []byte("a key")}
		if set != nil {
			set(all.fabric, &c)
		}
		d, err := all.fabric.Device()
		if err != nil {
			t.Fatal(err)
		}
		c.Adapter = d
		l, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		all.devices, all.links = append(all.devices, d), append(all.links, l)
	}
	conform.ConnectAll(t, all.links)
	return all
}

// fast is a clock on which lost datagrams cost little time.
func fast() transport.Clock {
	start := time.Now()
	return func() int64 { return 50*int64(time.Since(start)) + 1 }
}

func factory(set func(*fake.Fabric, *Config)) conform.Factory {
	return conform.Factory{MaxNodes: 4, New: func(t *testing.T, n int) *conform.Net {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		out := &conform.Net{}
		net := newNet(t, n, seed, set)
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
	conform.Run(t, factory(func(_ *fake.Fabric, c *Config) { c.BulkMin = oneSidedMax + 1 }))
}

// TestConformScarce: an adapter that has little of everything.
func TestConformScarce(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, _ *Config) {
		f.Info.MaxCQE, f.Info.MaxReceive, f.Info.MaxInline = 64, 5, 0
	}))
}

// TestConformBreaking: queue pairs that fail all the time, and datagrams that are lost.
func TestConformBreaking(t *testing.T) {
	conform.Run(t, factory(func(f *fake.Fabric, c *Config) {
		f.Break, f.Lose, c.BulkMin = 0.01, 0.3, 2000
		c.Clock = fast()
	}))
}
