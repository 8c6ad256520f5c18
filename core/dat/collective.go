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

// Post posts an operation, whose arguments are legal, to a group of the plan's engine. The outcome
// is an event.
func (c *Collective) Post(a *coll.Args) codes.Return {
	if !c.made {
		return codes.BadHandle(codes.InvalidHandle1)
	}
	c.group.Post(a)
	return codes.Success
}

var _ coll.Memory = (*groupTable)(nil)
