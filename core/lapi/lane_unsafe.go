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

// newLane makes the lane's memory: the struct, room for a user header, and the ring of each task.
// Where no task is reached by shared memory (link is nil) there is a node link without rings in it,
// which C finds nothing in. packets may be nil.
func newLane(peers []peer.Peer, link laneLink, packets packetLink) (*lane, error) {
	const size = int(unsafe.Sizeof(layout.Lane{}))
	const none = int(unsafe.Sizeof(layout.NodeLink{}))
	const before = size + wire.MaxUhdrSize + 8
	n := before + wire.Pad8(2*len(peers))
	if link == nil {
		n += none + int(unsafe.Sizeof(layout.SegmentHead{}))
	}
	b, err := arena.Map(n)
	if err != nil {
		return nil, err
	}
	l := &lane{Lane: (*layout.Lane)(unsafe.Pointer(&b[0])), link: link, packets: packets,
		nodes: make([]*layout.NodePeer, len(peers)), memory: b}
	rings := b[before:]
	l.Scratch = uint64(memory.AddrOf(b[size:]))
	l.RingOf = uint64(memory.AddrOf(rings))
	if packets != nil {
		l.Verbs = packets.Shared()
	}
	if link != nil {
		l.Link = nodeAddress(link)
	} else {
		ringless := rings[wire.Pad8(2*len(peers)):]
		l.Link = uint64(memory.AddrOf(ringless))
		(*layout.NodeLink)(unsafe.Pointer(&ringless[0])).OwnHead =
			uint64(memory.AddrOf(ringless[none:]))
	}
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
