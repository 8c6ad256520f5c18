package lapi

import (
	"errors"

	"lapi/core/job"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// peerPart is what a task tells the others in LAPI_Init: its version and the addresses of its links.
type peerPart struct{ udp, shm []byte }

// partVersion changes with the wire formats of this package and its links.
const partVersion = 5

// part is this task's; withShared: with its shared memory.
func (c *Context) part(withShared bool) job.Part {
	b := []byte{partVersion}
	p := job.Part{}
	for i, l := range []transport.Link{c.udp, c.shm} {
		if isNil(l) || i == 1 && !withShared {
			b = wire.Order.AppendUint16(b, 0)
			continue
		}
		a := l.Address()
		b = wire.Order.AppendUint16(b, uint16(len(a.Bytes)))
		b = append(b, a.Bytes...)
		p.Files = append(p.Files, a.Files...)
	}
	p.Data = b
	return p
}

func isNil(l transport.Link) bool {
	u, ok := l.(udpLink)
	return l == nil || ok && u == nil
}

func decodePart(b []byte) (p peerPart, err error) {
	bad := errors.New("it runs another version of the library")
	if len(b) < 1 || b[0] != partVersion {
		return p, bad
	}
	b = b[1:]
	for _, field := range []*[]byte{&p.udp, &p.shm} {
		if len(b) < 2 || len(b) < 2+int(wire.Order.Uint16(b)) {
			return p, bad
		}
		n := int(wire.Order.Uint16(b))
		if n > 0 {
			*field = b[2 : 2+n]
		}
		b = b[2+n:]
	}
	return p, nil
}
