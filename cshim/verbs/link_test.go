package verbs_test

import (
	"os"
	"testing"

	cshim "lapi/cshim/verbs"
	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/memory"
	"lapi/transport/verbs"
)

// open is the adapter that LAPI_TEST_VERBS names, or the first; without one the test is skipped,
// or fails where the variable says that there is one.
func open(t testing.TB) *cshim.Adapter {
	t.Helper()
	name, wanted := os.LookupEnv("LAPI_TEST_VERBS")
	a, err := cshim.Open(cshim.Choice{Name: name, GIDIndex: -1})
	if err != nil {
		if wanted {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return a
}

// links makes n connected links, each with the adapter opened anew.
func links(t testing.TB, n int, set func(*verbs.Config)) []*verbs.Link {
	t.Helper()
	memory.Guard()
	all := make([]*verbs.Link, n)
	for i := range all {
		c := verbs.Config{Adapter: open(t), Task: i, Key: []byte("a key")}
		if set != nil {
			set(&c)
		}
		l, err := verbs.New(c)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = l
	}
	for i, l := range all {
		for j := range all {
			if i != j {
				if err := l.Connect(transport.Endpoint(j), all[j].Address()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return all
}

func factory(set func(*verbs.Config)) conform.Factory {
	return conform.Factory{MaxNodes: 4, New: func(t *testing.T, n int) *conform.Net {
		out := &conform.Net{}
		for _, l := range links(t, n, set) {
			out.Nodes = append(out.Nodes, conform.Node{Link: l,
				Emul: emul.New(l, conform.EmulRequest, conform.EmulReply)})
		}
		return out
	}}
}

func TestConform(t *testing.T) { conform.Run(t, factory(nil)) }

// TestConformRDMA: RDMA for nearly everything.
func TestConformRDMA(t *testing.T) {
	conform.Run(t, factory(func(c *verbs.Config) { c.BulkMin = 8 }))
}
