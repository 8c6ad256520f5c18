package lapi

import (
	"slices"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
)

// The data that waits for one task is bounded (LAPI_SEND_QUEUE): a call that goes beyond the bound
// gets a ticket, which C waits for, so that the task makes progress until there is room. C does not
// wait in a handler.

// room is such a ticket.
type room struct {
	ticket uint64
	p      *peer.Peer
}

// askRoom is the end of a transfer.
func (c *Context) askRoom(kind uint32, x *Transfer) {
	if c.out.Waiting() == 0 && c.copier.Waiting() == 0 {
		return
	}
	if kind != XferMc {
		c.askRoomTo(x.Tgt, x)
		return
	}
	for _, id := range c.groups[x.Tgt] {
		if c.askRoomTo(id, x); x.Room != 0 {
			return
		}
	}
}

func (c *Context) askRoomTo(id uint32, x *Transfer) {
	if p := &c.peers[id]; c.out.Full(p) || c.copier.Full(p) {
		x.Room = c.tickets.New()
		c.rooms = append(c.rooms, room{x.Room, p})
	}
}

// checkRooms ends the tickets of tasks for which little enough waits.
func (c *Context) checkRooms() {
	c.rooms = slices.DeleteFunc(c.rooms, func(r room) bool {
		eased := c.out.Eased(r.p) && !c.copier.Full(r.p)
		if eased {
			c.tickets.End(r.ticket, codes.Success)
		}
		return eased || !c.tickets.Known(r.ticket)
	})
}
