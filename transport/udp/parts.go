package udp

import (
	"slices"

	"lapi/transport/udp/wire"
)

// partial is a received packet of which parts are missing.
type partial struct {
	of               wire.Seq
	buf              []byte // of the machine's
	total, got, keep int    // bytes: of the whole, received, of use
}

// takePart takes in a part, which packet s holds, of a longer packet, whose messages are offered
// once all of it is there. Not accepted: a handler, or lack of memory, refuses it for now.
func (c *receiver) takePart(s wire.Seq, content []byte) (offered int, accepted bool) {
	var w wire.Part
	_, header, _ := wire.Split(content)
	bytes := content[header:]
	if w.Decode(content[wire.MessageSize:header], len(bytes)) != nil {
		c.m.stats.GhostPackets++
		return 0, true
	}
	k, wanted := c.partialOf(s, &w)
	if k == nil {
		return 0, !wanted
	}
	copy(k.buf[w.Offset:], bytes)
	k.keep = min(k.keep, w.Keep)
	// it is more if the last part comes again, as it was refused
	if k.got += len(bytes); k.got < k.total {
		return 0, true
	}
	whole := k.buf[:k.keep]
	count, err := wire.Count(whole)
	if err != nil || count > maxMessages {
		c.m.stats.GhostPackets++
		count = 0
	}
	if offered, accepted = c.offer(w.Of, whole, count); accepted {
		c.forget(w.Of)
	}
	return offered, accepted
}

// partialOf is what there is of the packet that the part w in packet s belongs to. Nil: there is no
// memory for it, or it is not wanted, as the whole had arrived before it was cut.
func (c *receiver) partialOf(s wire.Seq, w *wire.Part) (k *partial, wanted bool) {
	if k = c.find(w.Of); k != nil {
		return k, true
	}
	if w.Of != s && c.received.Has(w.Of) {
		return nil, false
	}
	buf := c.m.wholes.Get()
	if buf == nil {
		return nil, true
	}
	c.partials = append(c.partials, partial{of: w.Of, buf: buf, total: w.Total, keep: w.Total})
	return &c.partials[len(c.partials)-1], true
}

func (c *receiver) find(of wire.Seq) *partial {
	i := slices.IndexFunc(c.partials, func(k partial) bool { return k.of == of })
	if i < 0 {
		return nil
	}
	return &c.partials[i]
}

// forget drops what there is of packet s, if there is something.
func (c *receiver) forget(s wire.Seq) {
	if k := c.find(s); k != nil {
		c.m.wholes.Put(k.buf)
		last := len(c.partials) - 1
		*k = c.partials[last]
		c.partials = c.partials[:last]
	}
}
