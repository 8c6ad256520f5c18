package ibv_test

import (
	"os"
	"testing"
	"time"

	cshim "lapi/cshim/ibv"
	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/memory"
	"lapi/transport/verbs"
)

// open is the adapter that LAPI_TEST_VERBS names, or the first; without one the test is skipped,
// or fails where the variable says that there is one.
func open(t testing.TB) *cshim.Device {
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
	conform.ConnectAll(t, all)
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

// TestSilentPeer: a peer has ended its queue pair without a word, and does not answer; the adapter
// finds out, and the peer is given up.
func TestSilentPeer(t *testing.T) {
	all := links(t, 2, func(c *verbs.Config) { c.Timeout = int64(3 * time.Second) })
	got := false
	all[1].Handle(2, func(*transport.Msg) transport.Verdict { got = true; return transport.Accept })
	until := func(what string, done func() bool) {
		for end := time.Now().Add(time.Minute); !done(); {
			if time.Now().After(end) {
				t.Fatalf("never happened: %s", what)
			}
			for _, l := range all {
				l.Progress(16)
			}
		}
	}
	if _, err := all[0].Send(1, 2, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	until("a message", func() bool { return got })
	all[1].Disconnect(0, transport.ErrUnreachable)
	var ended error
	if _, err := all[0].Flush(1, &transport.Op{Done: func(_ *transport.Op, err error) {
		ended = err
	}}); err != nil {
		t.Fatal(err)
	}
	until("a queue pair that fails", func() bool { return all[0].Replaced() > 0 })
	until("the end of the flush", func() bool { return ended != nil })
	if ended != transport.ErrUnreachable {
		t.Errorf("the flush ends with %v", ended)
	}
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
