package shm

import (
	"testing"

	"lapi/transport"
	"lapi/transport/conform"
	"lapi/transport/emul"
)

func factory(extra int, change ...func(*Config)) conform.Factory {
	return conform.Factory{MaxNodes: 8, New: func(t *testing.T, n int) *conform.Net {
		net := &conform.Net{Self: true}
		links := newLinks(t, n+extra, change...)
		for _, l := range links[:n] {
			net.Nodes = append(net.Nodes,
				conform.Node{Link: l, Emul: emul.New(l, conform.EmulRequest, conform.EmulReply)})
		}
		return net
	}}
}

func TestConform(t *testing.T) { conform.Run(t, factory(0)) }

func TestConformWithoutCMA(t *testing.T) {
	conform.Run(t, factory(0, func(c *Config) { c.DisableCMA = true }))
}

// messageLink is a link without transfers.
type messageLink struct {
	transport.Link
	transport.Waiter
}

func TestConformMessagesOnly(t *testing.T) {
	f := factory(0, func(c *Config) { c.MessagesOnly = true })
	conform.Run(t, conform.Factory{MaxNodes: f.MaxNodes, New: func(t *testing.T,
		n int) *conform.Net {
		net := f.New(t, n)
		for i := range net.Nodes {
			l := net.Nodes[i].Link.(*Link)
			net.Nodes[i].Link = messageLink{l, l}
		}
		return net
	}})
}

// TestConformColdRings has enough tasks on the node that silent rings are not looked at. All rings
// are mapped in one process; where addresses have 32 bits, there is not room for many.
func TestConformColdRings(t *testing.T) {
	conform.Run(t, factory(map[int]int{4: 20, 8: 70}[wordSize]))
}
