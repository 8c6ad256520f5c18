package lapi

import (
	"unsafe"

	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// nodeAddress is where C finds the link's ends.
func nodeAddress(link laneLink) uint64 { return uint64(uintptr(unsafe.Pointer(link.Node()))) }

// newLane makes the lane's memory: the struct, the ring of each task, room for a user header.
func newLane(peers []peer.Peer, link laneLink) (*lane, error) {
	const size = int(unsafe.Sizeof(layout.Lane{}))
	b, err := arena.Map(size + wire.Pad8(wire.MaxUhdrSize) + 2*len(peers))
	if err != nil {
		return nil, err
	}
	l := &lane{Lane: (*layout.Lane)(unsafe.Pointer(&b[0])),
		nodes: make([]*layout.NodePeer, len(peers)), memory: b}
	l.Link = nodeAddress(link)
	l.Scratch = uint64(memory.AddrOf(b[size:]))
	rings := b[size+wire.Pad8(wire.MaxUhdrSize):]
	l.RingOf = uint64(memory.AddrOf(rings))
	for i := range peers {
		ring := -1
		if p := &peers[i]; p.Shared {
			l.nodes[i], ring = link.NodePeer(p.Ep)
		}
		wire.Order.PutUint16(rings[2*i:], uint16(int16(ring)))
	}
	return l, nil
}

func (l *lane) address() uint64 { return uint64(uintptr(unsafe.Pointer(l.Lane))) }

func (l *lane) close() {
	if l != nil {
		arena.Unmap(l.memory)
	}
}
