package lapi

import (
	"fmt"
	"net/netip"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// refusedRound in an wire.Exchange answers a task whose collective call cannot end, because the sender has given up collectives.
const refusedRound = 1<<32 - 1

// peer checks a task id that names another task.
func (c *Context) peer(id uint32) (*task, codes.Code) {
	if id >= uint32(len(c.tasks)) || int(id) == c.me {
		return nil, codes.ErrTgt
	}
	return &c.tasks[id], codes.Success
}

// Purge is LAPI_Purge_totask (guide, Chapter 19): gives up all that is under way to and from a task, without a word to it. Messages that
// are given up change no counter; operations towards the task fail with LAPI_ERR_TGT_PURGED until Resume. Purging twice is as once.
//
// Tasks no longer agree on how many collective calls there were: from now on these fail with LAPI_ERR_TGT_PURGED.
// It must not be called from a handler inside Dispatch. ErrTgt: dest is no other task of the job.
func (c *Context) Purge(dest uint32) codes.Code {
	memory.Guard()
	t, code := c.peer(dest)
	if code != codes.Success || t.purged {
		return code
	}
	t.purged = true // before operations end: what follows them must know why
	if !t.dead {
		c.cutOff(t)
	}
	c.giveUpCollectives()
	c.notePurged(t.id)
	c.wake.Changed()
	c.publish()
	return codes.Success
}

func (c *Context) giveUpCollectives() {
	c.everPurged = true
	c.failCollectives(codes.ErrTgtPurged)
	c.wake.Changed()
}

// refuseExchange is onExchange once collectives have been given up, here or there. Only a task that still hopes is answered.
func (c *Context) refuseExchange(t *task, round uint32) {
	if round == refusedRound {
		c.giveUpCollectives()
		return
	}
	h := wire.Exchange{Round: refusedRound}
	c.sendControl(t, wire.MsgExchange, IntErr, h.Encode)
}

// Resume is LAPI_Resume_totask: lets operations on a task that was purged, or has failed, begin anew, with whatever incarnation of it is
// there by then, or will be. For a task that is neither it does nothing. ErrTgt: dest is no other task; ErrNoConnectivity: there is no
// way to begin anew.
func (c *Context) Resume(dest uint32) codes.Code {
	memory.Guard()
	t, code := c.peer(dest)
	if code != codes.Success {
		return code
	}
	c.pollSession() // its process may have ended, or another one be there
	if !t.dead {
		return codes.Success
	}
	if err := c.reconnect(t); err != nil {
		c.host.Message(0, fmt.Sprintf("task %d: LAPI_Resume_totask: cannot begin anew with task %d: %v", c.me, t.id, err))
		return codes.ErrNoConnectivity
	}
	t.dead, t.purged = false, false
	c.mayRun(t)
	c.publish()
	return codes.Success
}

// reconnector is what a link offers whose peers may come back.
type reconnector interface {
	Reconnect(ep transport.Endpoint, a transport.Address) error
}

func (c *Context) reconnect(t *task) error {
	if t.shared && (t.died || c.net.Shm.Left(t.ep)) {
		return c.resumeShared(t)
	}
	l, ok := untraced(t.link).(reconnector)
	if !ok {
		return transport.ErrNotSupported
	}
	return l.Reconnect(t.ep, t.address)
}

// AddUDPDest is LAPI_Util's LAPI_ADD_UDP_DEST_PORT and LAPI_ADD_UDP_DEST_EXT: in a job started by hand, task tgt is, or will be, at
// another address. It is where LAPI_Resume_totask looks, or what has not reached the task yet goes. instance: of this context, or 0.
//
// ErrUtilCmd under lapirun, which knows the addresses; ErrTgt for a task that is not in the job; ErrUDPPortInfo for an
// address that cannot be, of another instance, or of a task that is not reached by UDP.
func (c *Context) AddUDPDest(tgt, instance uint32, a netip.AddrPort) codes.Code {
	if c.cfg.Launched {
		c.host.Message(0, fmt.Sprintf("task %d: LAPI_Util: UDP addresses cannot be given in a job that lapirun has started", c.me))
		return codes.ErrUtilCmd
	}
	if tgt >= uint32(len(c.tasks)) {
		return codes.ErrTgt
	}
	t := &c.tasks[tgt]
	bytes := udp.EncodeAddress(a)
	_, _, err := udp.DecodeAddress(bytes)
	if err != nil || instance != 0 && int(instance) != c.instance || c.net.UDP == nil || untraced(t.link) != transport.Link(c.net.UDP) ||
		a.Addr().Unmap().Is4() != c.net.Listed[c.me].Addr().Unmap().Is4() {
		return codes.ErrUDPPortInfo
	}
	c.net.Listed[tgt] = a
	t.address = transport.Address{Bytes: bytes}
	if t.dead {
		return codes.Success
	}
	// Open: the session goes on where it is; the address is for the next.
	if err := c.net.UDP.Reconnect(t.ep, t.address); err != nil && err != transport.ErrBusy {
		return codes.ErrUDPPortInfo
	}
	c.publish() // Hello may be due
	return codes.Success
}
