package lapi

import (
	"lapi/core/lapi/peer"
	"lapi/transport"
	"lapi/transport/memory"
)

// HasKeys says whether Register may give a key: there are adapters.
func (c *Context) HasKeys() bool { return c.net.Verbs != nil }

// Register makes memory known to the adapters until Deregister. key is what peers
// may pass along with puts and gets (Transfer.Key): then these need nothing of this task. Empty: there
// is none, and they do without. Until Deregister the memory must stay where it is.
func (c *Context) Register(a transport.Addr, n uint64, access transport.Access) (key []byte) {
	memory.Guard()
	if !c.HasKeys() {
		return nil
	}
	r, _ := c.net.Verbs.Register(a, n, access)
	return r.Key
}

// Deregister ends a region for which Register has given a key.
func (c *Context) Deregister(a transport.Addr, n uint64, key []byte) {
	memory.Guard()
	if c.HasKeys() {
		_ = c.net.Verbs.Deregister(transport.Region{Addr: a, N: n, Key: key})
	}
}

// keyOf is the key by which the link to p makes x, a put or get, alone; nil: there is none, or messages
// are better.
func (c *Context) keyOf(p *peer.Peer, x *Transfer) []byte {
	if x.Key == 0 || !p.OverAdapter() || !p.Transfers(x.N, c.copier.Route(p, x.N, x.hint())) {
		return nil
	}
	return memory.Bytes(x.Key, transport.KeyMax)
}
