package dat

import (
	"slices"

	"lapi/core/dat/rc"
	node "lapi/cshim/dat/rc"
	"lapi/transport/layout"
)

// nodeConns is the library's part of the connections that C has: where they are, by number, for
// messages that name them; their binds, which take effect here; and connections that are over, whose
// last message to the peer has found no room.
type nodeConns struct {
	cfg        *Config
	rings      *rings
	conns      []*onNode // by number; nil: there is none
	ends       []byte    // their addresses likewise
	shared     []*SRQ
	binds      map[uint64]*rc.Request // by number
	bindNumber uint64
	lingering  []lingering
}

// open readies what C shares, for the first adapter.
func (c *nodeConns) open(table *ownTable) {
	lane := c.cfg.Lane
	lane.Table = table.address()
	lane.On, lane.GoWork = 1, 1
}

// wanted says whether a connection over a link of the node is to be C's. With LAPI_FASTLANE=random that
// is a matter of chance.
func (c *nodeConns) wanted() bool {
	lane := c.cfg.Lane
	return c.cfg.Offload && lane != nil && lane.Table != 0 &&
		(lane.Random == 0 || c.cfg.Random()&1 == 0)
}

// grow makes room for the number of a connection; false: there is no memory.
func (c *nodeConns) grow(index uint32) bool {
	if index < c.cfg.Lane.NumEnds {
		return true
	}
	n := max(64, powerOfTwo(index+1))
	b := c.rings.get(int(n) * 8)
	if b == nil {
		return false
	}
	copy(b, c.ends)
	c.rings.put(c.ends)
	c.ends = b
	c.conns = append(c.conns, make([]*onNode, int(n)-len(c.conns))...)
	c.cfg.Lane.Ends, c.cfg.Lane.NumEnds = addressOf(b), n
	return true
}

// set says where the connection of a number is; 0: there is none.
func (c *nodeConns) set(index uint32, address uint64) { elements[uint64](c.ends)[index] = address }

// collect takes over the connections of C's that have ended, and reports shared queues in which few
// receives are left.
func (c *nodeConns) collect() {
	lane := c.cfg.Lane
	if lane == nil {
		return
	}
	c.freeLingering()
	for lane.Ended != 0 {
		lane.Ended = 0
		for i := 0; i < len(c.conns); i++ {
			if w := c.conns[i]; w != nil && w.On == 0 && w.Collected == 0 {
				w.over()
			}
		}
		for _, s := range slices.Clone(c.shared) {
			s.collectLow()
		}
	}
}

// bind posts a bind to C, which takeBind gives back in its turn. False: the connection is over.
func (c *nodeConns) bind(end *layout.DatEnd, r *rc.Request) bool {
	c.bindNumber++
	number := c.bindNumber
	if c.binds == nil {
		c.binds = map[uint64]*rc.Request{}
	}
	c.binds[number] = r
	if node.Bind(end, number, uint32(r.Owner.(*posted).flags)) {
		return true
	}
	delete(c.binds, number)
	return false
}

func (c *nodeConns) takeBind(number uint64) *rc.Request {
	r := c.binds[number]
	delete(c.binds, number)
	return r
}

// lingering is a connection that is over.
type lingering struct {
	end  *layout.DatEnd
	conn *rc.Conn
	peer *peer
}

// linger frees a connection that is over as soon as its message to the peer is sent.
func (c *nodeConns) linger(o lingering) {
	c.lingering = append(c.lingering, o)
	c.freeLingering()
}

// freeLingering frees those whose messages are sent, or whose peers are gone.
func (c *nodeConns) freeLingering() {
	if len(c.lingering) == 0 {
		return
	}
	kept := c.lingering[:0]
	for _, o := range c.lingering {
		if o.end.Tell&layout.RcTellEnd != 0 && o.peer.data.node.state != parted {
			kept = append(kept, o)
			continue
		}
		c.free(o)
	}
	clear(c.lingering[len(kept):])
	c.lingering = kept
}

func (c *nodeConns) free(o lingering) {
	c.set(o.end.Config.Index, 0)
	o.conn.Forget()
	node.Close(o.end)
}

// close frees all that is left, with the last adapter.
func (c *nodeConns) close() {
	for _, o := range c.lingering {
		c.free(o)
	}
	c.rings.put(c.ends)
	c.ends, c.conns, c.lingering = nil, nil, nil
	n := c.cfg.Lane
	n.On, n.NumLinks, n.NumEnds, n.Ends, n.Unsent, n.Ended = 0, 0, 0, 0, 0, 0
	n.Adapters, n.Table = 0, 0
}
