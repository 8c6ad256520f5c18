package lapi

import (
	"unsafe"

	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/shm"
)

// canLane says whether the kernel lets this process use the lane: peers' barriers must reach it,
// and its own the peers.
func canLane() bool { return shm.BeFenced() && shm.CanFenceAll() }

// pathsAddress is where C finds the link's ends.
func pathsAddress(link laneLink) uint64 { return uint64(uintptr(unsafe.Pointer(link.Paths()))) }

// newLane makes the lane's memory: the struct, the ring of each task, room for a user header.
func newLane(peers []peer.Peer, link laneLink) (*lane, error) {
	const size = int(unsafe.Sizeof(layout.Lane{}))
	b, err := arena.Map(size + wire.Pad8(wire.MaxUhdrSize) + 2*len(peers))
	if err != nil {
		return nil, err
	}
	l := &lane{Lane: (*layout.Lane)(unsafe.Pointer(&b[0])), paths: make([]*layout.Path, len(peers)),
		memory: b}
	l.Paths = pathsAddress(link)
	l.Scratch = uint64(memory.AddrOf(b[size:]))
	rings := b[size+wire.Pad8(wire.MaxUhdrSize):]
	l.RingOf = uint64(memory.AddrOf(rings))
	paths := link.Paths()
	for i := range peers {
		ring := int16(-1)
		if p := &peers[i]; p.Shared {
			l.paths[i] = link.PathOf(p.Ep)
			for r := range paths.Path {
				if l.paths[i] == &paths.Path[r] {
					ring = int16(r)
				}
			}
		}
		wire.Order.PutUint16(rings[2*i:], uint16(ring))
	}
	for i := range l.Op {
		l.Op[i].Token, l.Op[i].NextFree = uint32(i), uint32(i+1)
	}
	return l, nil
}

func (l *lane) address() uint64 { return uint64(uintptr(unsafe.Pointer(l.Lane))) }

func (l *lane) close() {
	if l != nil {
		arena.Unmap(l.memory)
	}
}
