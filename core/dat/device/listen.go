package device

import (
	"errors"

	"lapi/core/dat/codes"
	"lapi/transport/ibv"
)

// Listener is a qualifier that is listened at: for connections, and for datagrams.
type Listener struct {
	k         *Device
	qualifier uint64
	service   Service
	ids       [2]ibv.ID
}

// Listen makes requests for a qualifier come to a service.
func (k *Device) Listen(qualifier uint64, service Service) (*Listener, codes.Return) {
	s := &Listener{k: k, qualifier: qualifier, service: service}
	for _, o := range k.listeners {
		if o.qualifier == qualifier {
			return nil, codes.ConnQualInUse.With(codes.NoSubtype)
		}
	}
	for i := range s.ids {
		id, err := k.d.NewID(i == 1)
		if err == nil {
			s.ids[i] = id
			err = k.d.Listen(id, PortOf(qualifier))
		}
		if err != nil {
			s.Close()
			return nil, codes.NotListening(err)
		}
		k.listeners[id] = s
	}
	k.host.Count(Listens)
	return s, codes.Success
}

// Close ends the listener. Requests that have arrived stay.
func (s *Listener) Close() {
	for _, id := range s.ids {
		if id != 0 {
			s.k.d.FreeID(id)
			delete(s.k.listeners, id)
		}
	}
}

// onRequest takes a request that has arrived at a listener.
func (k *Device) onRequest(e *ibv.CMEvent) {
	s := k.listeners[e.Listener]
	if s == nil {
		k.d.FreeID(e.ID)
		return
	}
	c := k.newCall(e.ID)
	c.state, c.qualifier, c.peer = undecided, s.qualifier, e.Peer
	c.in, c.out = e.ReadsIn, e.ReadsOut
	private := e.Private
	if c.datagrams = e.Listener == s.ids[1]; c.datagrams {
		if !c.from.read(private) { // its peer does not use this library
			c.free()
			return
		}
		private = private[datagramEndSize:]
	}
	k.host.Count(RequestsReceived)
	s.service.Requested(Arrival{Call: c, Datagrams: c.datagrams, Local: e.Local.Addr(),
		Peer: e.Peer, Qualifier: s.qualifier}, private[:min(len(private), PrivateConnect)])
}

var errNoAccept = errors.New("uDAPL: the request cannot be accepted any more")

// Accept accepts a request, for the endpoint that SetEndpoint has named.
func (c *Call) Accept(private []byte) error {
	e := c.end
	k, q := c.k, e.Pair()
	if c.state != undecided {
		return errNoAccept
	}
	c.in, c.out = min(c.in, uint8(k.info.MaxReadsIn)), min(c.out, uint8(k.info.MaxReadsOut))
	if c.datagrams {
		return c.acceptDatagrams(e, private)
	}
	t := c.terms(e, private)
	t.ReadsIn, t.ReadsOut = c.in, c.out
	err := k.d.Ready(c.id, q.qp, int(c.in), int(c.out))
	if err == nil {
		c.state = accepting
		err = k.d.Accept(c.id, t)
		k.host.Count(RepliesSent)
	}
	if err != nil {
		_ = k.d.Reject(c.id, rejectHead[:])
		c.free()
	}
	return err
}

// Reject rejects a request.
func (c *Call) Reject(private []byte) error {
	if c.state != undecided {
		return errNoAccept
	}
	err := c.k.d.Reject(c.id, append(rejectHead[:], private...))
	c.free()
	return err
}
