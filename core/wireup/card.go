package wireup

import (
	"encoding/binary"
	"errors"

	"lapi/core/job"
	"lapi/transport"
)

// Card is the data that a task sends to the others: the addresses of its links, empty for a link
// that it has not, and where it runs (processors.go). On the wire there are a version (8), and for
// each of these a length (16) and its bytes.
type Card struct{ UDP, Shm, Verbs, Where []byte }

// Card is this task's card, with the files that go along; withShared: with its shared memory.
func (n *Net) Card(withShared bool) job.Part {
	var links [3]transport.Link // nil: none
	if n.UDP != nil {
		links[0] = n.UDP
	}
	if n.Shm != nil && withShared {
		links[1] = n.Shm
	}
	if n.Verbs != nil {
		links[2] = n.Verbs
	}
	p := job.Part{Data: []byte{n.cfg.Card}}
	for _, l := range links {
		var a transport.Address
		if l != nil {
			a = l.Address()
		}
		p.Data = binary.LittleEndian.AppendUint16(p.Data, uint16(len(a.Bytes)))
		p.Data = append(p.Data, a.Bytes...)
		p.Files = append(p.Files, a.Files...)
	}
	place := where{machineID(), ownProcessors()}.append(nil)
	p.Data = binary.LittleEndian.AppendUint16(p.Data, uint16(len(place)))
	p.Data = append(p.Data, place...)
	return p
}

// DecodeCard reads another task's card of that version.
func DecodeCard(b []byte, version byte) (c Card, err error) {
	bad := errors.New("it runs another version of the library")
	if len(b) < 1 || b[0] != version {
		return c, bad
	}
	b = b[1:]
	for _, field := range []*[]byte{&c.UDP, &c.Shm, &c.Verbs, &c.Where} {
		if len(b) < 2 || len(b) < 2+int(binary.LittleEndian.Uint16(b)) {
			return c, bad
		}
		n := int(binary.LittleEndian.Uint16(b))
		if n > 0 {
			*field = b[2 : 2+n]
		}
		b = b[2+n:]
	}
	return c, nil
}
