package verbs

import (
	"testing"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/wire"
)

// again makes node i connect node 1-i anew, at the address that it has now.
func (n *net) again(t *testing.T, i int) {
	t.Helper()
	if err := n.links[i].Reconnect(transport.Endpoint(1-i), n.links[1-i].Address()); err != nil {
		t.Fatal(err)
	}
}

// TestReconnect: messages sent after both have connected anew arrive, and none that were sent in
// between, whichever of them was first.
func TestReconnect(t *testing.T) {
	for first := range 2 {
		n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
		for range 3 {
			n.sendNumbers(t, 100, func(int) {})
			n.links[first].Disconnect(transport.Endpoint(1-first), transport.ErrUnreachable)
			n.again(t, first)
			got := 0
			for _, l := range n.links {
				l.Handle(2, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
			}
			_, _ = n.links[1-first].Send(transport.Endpoint(first), 2, nil, &transport.Op{})
			for range 3000 {
				n.turn()
			}
			if got != 0 {
				t.Error("a message of the old connection comes over the new")
			}
			n.links[1-first].Disconnect(transport.Endpoint(first), transport.ErrUnreachable)
			n.again(t, 1-first)
		}
		n.sendNumbers(t, 100, func(int) {})
		n.transfer(t, false, 1<<18, func() {})
		n.close(t)
	}
}

// TestDisconnectKeepsBuffers: the buffers of packets that were received, and not polled before their
// peer is disconnected, are free again, although the adapter discards these completions with the
// queue pair: each slot is free or with the adapter, and messages arrive over the next connection.
func TestDisconnectKeepsBuffers(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	for range 20 {
		n.sendNumbers(t, 1, func(int) {})
		for range wire.Window / 2 {
			if _, err := n.links[0].Send(1, 2, nil, &transport.Op{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 { // node 1 polls nothing, so the packets stay in its completion queue
			n.links[0].Progress(16)
		}
		for i, l := range n.links {
			l.Disconnect(transport.Endpoint(1-i), transport.ErrUnreachable)
		}
		for i := range n.links {
			n.again(t, i)
		}
	}
	n.sendNumbers(t, 4*wire.Window, func(int) {})
	l := n.links[1]
	found := int(l.shared.NumFree+l.shared.Sending) + int(l.ports.Ports()[0].Receives)
	if all := l.ports.Slots(); found != all || all > 10*wire.Window {
		t.Errorf("of %d slots %d are free or used", all, found)
	}
	n.close(t)
}

// TestReconnectToRestarted: a task that has begun again, at another address, is connected to.
func TestReconnectToRestarted(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	n.sendNumbers(t, 50, func(int) {})
	n.devices[1].Kill()
	d, err := n.fabric.Device()
	if err != nil {
		t.Fatal(err)
	}
	dead := n.links[1]
	if n.links[1], err = New(Config{Adapter: d, Task: 1, Key: []byte("a key"),
		Clock: fast()}); err != nil {
		t.Fatal(err)
	}
	if err := n.links[1].Connect(0, n.links[0].Address()); err != nil {
		t.Fatal(err)
	}
	n.links[0].Disconnect(1, transport.ErrUnreachable)
	n.again(t, 0)
	n.sendNumbers(t, 50, func(int) {})
	n.close(t)
	_ = dead.Close()
}

// TestReconnectErrors: peers that cannot be connected anew, and peers that are connected at another
// address.
func TestReconnectErrors(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.Clock = fast() })
	l, there := n.links[0], n.links[1].Address()
	for what, got := range map[string]error{
		"another's address": l.Reconnect(0, there),
		"never connected":   l.Reconnect(7, there),
		"no address":        l.Reconnect(1, transport.Address{Bytes: []byte("x")}),
	} {
		if got != transport.ErrBadParam {
			t.Errorf("%s: %v", what, got)
		}
	}
	elsewhere := n.links[1].own
	elsewhere.Places = []wire.Place{{QPN: 99999}}
	if err := l.Reconnect(1, transport.Address{Bytes: elsewhere.Encode()}); err != nil {
		t.Fatal(err)
	}
	got := false
	n.links[1].Handle(3, func(*transport.Msg) transport.Verdict { got = true; return transport.Accept })
	if _, err := l.Send(1, 3, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		n.turn()
	}
	n.again(t, 0)
	n.until(t, "the message that waited", func() bool { return got })
	if err := l.Reconnect(1, there); err != transport.ErrBusy {
		t.Errorf("of an open connection: %v", err)
	}
	n.close(t)
	if err := l.Reconnect(1, there); err != transport.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
