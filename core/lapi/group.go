package lapi

import (
	"slices"
	"sync/atomic"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// MaxGroups is how many groups a context may have at a time.
const MaxGroups = 16384

// lastGroup is the name given last. Names are numbers that the whole process counts, so that a name
// that was freed, or that belongs to another context, is unknown and not another group's.
var lastGroup atomic.Uint32

// GroupCreate is LAPI_Group_create: makes a group of the n tasks in the array of uint at list,
// which is copied, and stores its name, a uint that is not 0, at name. Tasks may be gone, or be
// purged: sending says so. Only this context knows the group.
//
// ErrRetPtrNull: list or name is 0 or cannot be accessed. ErrTgt: n is 0 or more than there are
// tasks, or an entry is no task or occurs twice. ErrMemoryExhausted: there are MaxGroups groups.
func (c *Context) GroupCreate(n uint32, list, name transport.Addr) codes.Code {
	memory.Guard()
	switch {
	case list == 0 || name == 0:
		return codes.ErrRetPtrNull
	case n == 0 || n > uint32(len(c.peers)):
		return codes.ErrTgt
	case len(c.groups) >= MaxGroups:
		return codes.ErrMemoryExhausted
	}
	members, err := c.readMembers(n, list)
	if err != nil {
		return c.groupFault(err)
	}
	if members == nil {
		return codes.ErrTgt
	}
	id := c.newGroupName()
	if err := memory.CopyIn(name, wire.Order.AppendUint32(nil, id)); err != nil {
		return c.groupFault(err)
	}
	if c.groups == nil {
		c.groups = make(map[uint32][]uint32)
	}
	c.groups[id] = members
	return codes.Success
}

// readMembers is the n tasks at list; nil if one is no task or occurs twice.
func (c *Context) readMembers(n uint32, list transport.Addr) ([]uint32, error) {
	raw := make([]byte, 4*n)
	if err := memory.CopyOut(raw, list); err != nil {
		return nil, err
	}
	members := make([]uint32, n)
	for i := range members {
		members[i] = wire.Order.Uint32(raw[4*i:])
	}
	sorted := slices.Sorted(slices.Values(members))
	if sorted[n-1] >= uint32(len(c.peers)) || len(slices.Compact(sorted)) != len(members) {
		return nil, nil
	}
	return members, nil
}

func (c *Context) newGroupName() uint32 {
	for {
		id := lastGroup.Add(1)
		if _, used := c.groups[id]; !used && id != 0 {
			return id
		}
	}
}

func (c *Context) groupFault(err error) codes.Code {
	c.faults.Here(err, codes.ErrRetPtrNull, codes.IntErr)
	return codes.ErrRetPtrNull
}

// GroupFree is LAPI_Group_free: the name is unknown from now on. Transfers to the group that have
// begun go on. ErrTgt: this context has no such group.
func (c *Context) GroupFree(name uint32) codes.Code {
	if _, ok := c.groups[name]; !ok {
		return codes.ErrTgt
	}
	delete(c.groups, name)
	return codes.Success
}
