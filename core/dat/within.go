package dat

import "lapi/transport"

// Connections within this process go over a link of the node as well, whose two ends are here, so
// that C has them: that of the active side over the first end, that of the passive one over the
// second.

// within is the end of that link for one side; nil: there is none, and data goes over the link self.
func (h *neighbourhood) within(active bool) *neighbour {
	if !h.door {
		return nil
	}
	if !h.tried {
		h.tried = true
		h.openWithin()
	}
	if active {
		return h.own[0]
	}
	return h.own[1]
}

func (h *neighbourhood) openWithin() {
	if len(h.list)+len(h.own) > neighboursMax {
		return
	}
	var ends [2]*neighbour
	links, err := h.network.Within(func(me int) { h.part(ends[me]) })
	if err != nil {
		h.host.Message("data within this process goes without shared memory: " + err.Error())
		return
	}
	for me, link := range links {
		n := &neighbour{process: h.machine.PublicKey(), state: joined, inside: true}
		h.install(n, link, transport.Endpoint(1-me))
		n.peer().opened = true
		h.mapOwnTable(n)
		ends[me] = n
		h.use(n)
	}
	h.own = ends
}
