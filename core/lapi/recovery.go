package lapi

import (
	"net/netip"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/wireup"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// other checks a task id that names another task.
func (c *Context) other(id uint32) (*peer.Peer, codes.Code) {
	if id >= uint32(len(c.peers)) || int(id) == c.me {
		return nil, codes.ErrTgt
	}
	return &c.peers[id], codes.Success
}

// Purge is LAPI_Purge_totask (guide, Chapter 19): gives up all that is under way to and from a
// task, without notifying it. Messages that are given up change no counter; operations towards the
// task fail with LAPI_ERR_TGT_PURGED until Resume. Purging twice is as once.
//
// Tasks no longer agree on how many collective calls there were: from now on these fail with
// LAPI_ERR_TGT_PURGED. It must not be called from a handler inside Dispatch. ErrTgt: dest is no
// other task of the job.
func (c *Context) Purge(dest uint32) codes.Code {
	memory.Guard()
	p, code := c.other(dest)
	if code != codes.Success || p.Purged() {
		return code
	}
	p.Purge() // before operations end: what follows them must know why
	if !p.Dead() {
		c.cutOff(p)
	}
	c.collectives.GiveUp()
	c.counters.NotePurged(p.ID)
	c.wake.Changed()
	c.publish()
	return codes.Success
}

// Resume is LAPI_Resume_totask: lets operations on a task that was purged, or has failed, begin
// anew, with whatever process of it is there by then, or will be. For any other task it does
// nothing. ErrTgt: dest is no other task; ErrNoConnectivity: there is no way to begin anew.
func (c *Context) Resume(dest uint32) codes.Code {
	memory.Guard()
	p, code := c.other(dest)
	if code != codes.Success {
		return code
	}
	if s, ok := c.net.Session.(job.Rejoiner); ok && p.Shared {
		s.Settle(p.ID)
	}
	c.pollSession() // its process may have ended, or another one be there
	if !p.Dead() {
		return codes.Success
	}
	if err := c.reconnect(p); err != nil {
		c.faults.Message(0, "LAPI_Resume_totask: cannot begin anew with task %d: %v", p.ID, err)
		return codes.ErrNoConnectivity
	}
	p.Resume()
	c.collectives.Found(p.ID)
	c.fences.Forget(p.ID)
	c.mayRun(p)
	c.publish()
	return codes.Success
}

// remote is the link to p, which is reached by no shared memory.
func remote(p *peer.Peer) wireup.RemoteLink { return untraced(p.Link).(wireup.RemoteLink) }

// reconnector is implemented by links whose peers may rejoin.
type reconnector interface {
	Reconnect(ep transport.Endpoint, a transport.Address) error
}

func (c *Context) reconnect(p *peer.Peer) error {
	r := c.rejoins.known(p.ID)
	if p.Shared && (r.died || c.net.Shm.HasLeft(p.Ep)) {
		return c.resumeShared(p)
	}
	l, ok := untraced(p.Link).(reconnector)
	if !ok {
		return transport.ErrNotSupported
	}
	a := r.moved
	if a.Bytes == nil && !p.Shared {
		a = remote(p).AddressOf(p.Ep)
	}
	return l.Reconnect(p.Ep, a)
}

// AddUDPDest is LAPI_Util's LAPI_ADD_UDP_DEST_PORT and LAPI_ADD_UDP_DEST_EXT: in a job started by
// hand, task tgt is, or will be, at another address. LAPI_Resume_totask looks there, and data that
// has not reached the task yet goes there. instance: of this context, or 0.
//
// ErrUtilCmd under a launcher, which knows the addresses; ErrTgt for a task that is not in the job;
// ErrUDPPortInfo for an address that cannot be, of another instance, or of a task that is not
// reached by UDP.
func (c *Context) AddUDPDest(tgt, instance uint32, a netip.AddrPort) codes.Code {
	if c.cfg.Gathered() {
		c.faults.Message(0,
			"LAPI_Util: UDP addresses cannot be given in a job that a launcher has started")
		return codes.ErrUtilCmd
	}
	if tgt >= uint32(len(c.peers)) {
		return codes.ErrTgt
	}
	p := &c.peers[tgt]
	bytes := udp.EncodeAddress(a)
	_, _, err := udp.DecodeAddress(bytes)
	if err != nil || instance != 0 && int(instance) != c.instance || c.net.UDP == nil ||
		untraced(p.Link) != transport.Link(c.net.UDP) ||
		a.Addr().Unmap().Is4() != c.net.Listed[c.me].Addr().Unmap().Is4() {
		return codes.ErrUDPPortInfo
	}
	c.net.Listed[tgt] = a
	r := c.rejoins.of(int(tgt))
	r.moved = transport.Address{Bytes: bytes}
	if p.Dead() {
		return codes.Success
	}
	// Open: the session goes on where it is; the address is for the next.
	if err := c.net.UDP.Reconnect(p.Ep, r.moved); err != nil && err != transport.ErrBusy {
		return codes.ErrUDPPortInfo
	}
	c.publish() // Hello may be due
	return codes.Success
}
