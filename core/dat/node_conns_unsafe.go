package dat

import (
	"lapi/core/dat/rc"
	node "lapi/cshim/dat/rc"
	"lapi/transport/layout"
)

// nodeConns is the library's part of the connections that C has: where they are, by number, for
// messages that name them; their binds, which take effect here; and connections that are over, whose
// last message to the peer has found no room.
type nodeConns struct {
	lane       *layout.DatLane
	rings      *rings
	ends       []byte                 // addresses, by number
	binds      map[uint64]*rc.Request // by number
	bindNumber uint64
	lingering  []lingering
}

// grow makes room for the number of a connection; false: there is no memory.
func (c *nodeConns) grow(index uint32) bool {
	if index < c.lane.NumEnds {
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
	c.lane.Ends, c.lane.NumEnds = addressOf(b), n
	return true
}

// set says where the connection of a number is; 0: there is none.
func (c *nodeConns) set(index uint32, address uint64) { elements[uint64](c.ends)[index] = address }

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
	c.ends, c.lingering = nil, nil
}
