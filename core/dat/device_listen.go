package dat

import (
	"errors"

	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
)

// service is a qualifier that is listened at: for connections, and for datagrams.
type service struct {
	k         *device
	qualifier uint64
	sp        servicePoint
	ids       [2]adapter.ID
}

func (k *device) listen(qualifier uint64, sp servicePoint) (listening, codes.Return) {
	s := &service{k: k, qualifier: qualifier, sp: sp}
	for _, o := range k.services {
		if o.qualifier == qualifier {
			return nil, codes.ConnQualInUse.With(codes.NoSubtype)
		}
	}
	for i := range s.ids {
		id, err := k.d.NewID(i == 1)
		if err == nil {
			s.ids[i] = id
			err = k.d.Listen(id, devicePort(qualifier))
		}
		if err != nil {
			s.unlisten()
			return nil, notListening(err)
		}
		k.services[id] = s
	}
	k.ia.count(iaCMListen)
	return s, codes.Success
}

func (s *service) unlisten() {
	for _, id := range s.ids {
		if id != 0 {
			s.k.d.FreeID(id)
			delete(s.k.services, id)
		}
	}
}

func (k *device) service(qualifier uint64) servicePoint {
	for _, s := range k.services {
		if s.qualifier == qualifier {
			return s.sp
		}
	}
	return nil
}

// onRequest takes a request that has come to a listener.
func (k *device) onRequest(e *adapter.Event) {
	s := k.services[e.Listener]
	if s == nil {
		k.d.FreeID(e.ID)
		return
	}
	c := k.newCall(e.ID)
	c.state, c.qualifier, c.peer = undecided, s.qualifier, e.Peer
	c.in, c.out = e.ReadsIn, e.ReadsOut
	private, kind := e.Private, uint8(ServiceRC)
	if c.datagrams = e.Listener == s.ids[1]; c.datagrams {
		if kind = ServiceUD; !c.from.read(private) { // of no peer of this library's
			c.free()
			return
		}
		private = private[datagramEndSize:]
	}
	k.ia.count(iaCMReqRX)
	requested(s.sp, arrival{attempt: c, service: kind, local: e.Local.Addr(), peer: e.Peer,
		qualifier: s.qualifier}, private[:min(len(private), privateConnect)])
}

func (k *device) meet(a attempt, e *EP) codes.Return {
	if e.way.(*pair).qp == 0 {
		return codes.InvalidState.With(codes.InvalidStateEPUnconfigured)
	}
	return codes.Success
}

var errNoAccept = errors.New("uDAPL: the request cannot be accepted any more")

// Accept implements attempt.
func (c *call) Accept(_ int64, private []byte) error {
	e := c.owner.(*EP)
	k, q := c.k, e.way.(*pair)
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
		k.ia.count(iaCMRepTX)
	}
	if err != nil {
		_ = k.d.Reject(c.id, rejectHead[:])
		c.free()
	}
	return err
}

// Reject implements attempt.
func (c *call) Reject(_ int64, private []byte) error {
	if c.state != undecided {
		return errNoAccept
	}
	err := c.k.d.Reject(c.id, append(rejectHead[:], private...))
	c.free()
	return err
}
