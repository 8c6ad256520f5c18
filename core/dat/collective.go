package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
)

// extGroupFailed is DAT_IB_COLLECTIVE_CREATE_STATUS.
const extGroupFailed = 12

// Size is how many members the group has, and Rank which one this is.
func (c *Collective) Size() int { return c.group.Size }

// Rank is which member this is.
func (c *Collective) Rank() int { return c.group.Self }

// Post is dat_collective_ of each operation. The outcome is an event.
func (c *Collective) Post(a *coll.Args) codes.Return {
	switch {
	case !c.made:
		return codes.BadHandle(codes.InvalidHandle1)
	case !c.group.Legal(a):
		return codes.InvalidParameter.With(codes.NoSubtype)
	}
	if r := c.queueForCore(a.Kind); r != codes.Success {
		return r
	}
	c.group.Post(a)
	return codes.Success
}

// ReadClock is dat_collective_read_clock.
func (c *Collective) ReadClock() uint64 { return c.group.ReadClock() }

var _ coll.Memory = (*Library)(nil)
