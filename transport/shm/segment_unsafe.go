package shm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/cshim/node"
	"lapi/descriptor"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
)

const (
	headSize    = uint64(unsafe.Sizeof(layout.SegmentHead{}))
	controlSize = uint64(unsafe.Sizeof(layout.RingControl{}))
	ringSize    = uint64(layout.SlotSize * layout.RingSlots)

	seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// segment is a mapping of one task's segment, its own or a peer's.
type segment struct {
	bytes []byte
	file  int // of an own segment: the memfd; else -1
}

// ringsAt is where the rings of a segment begin.
func ringsAt(rings int) uint64 {
	return layout.Paged(headSize + uint64(rings)*controlSize)
}

// chunksAt is where the chunk areas of a segment begin.
func chunksAt(rings int) uint64 { return layout.Paged(ringsAt(rings) + uint64(rings)*ringSize) }

// segmentSize is the size of a segment with that many rings, in bytes.
func segmentSize(rings int) uint64 { return chunksAt(rings) + uint64(rings)*chunkArea(rings) }

// chunkArea is the size of each chunk area of a segment with that many rings, in bytes. All the
// node's segments have as many areas as rings.
func chunkArea(rings int) uint64 {
	if rings <= layout.ChunkAreaRings {
		return layout.ChunkArea
	}
	return layout.ChunkAreaLeast
}

// createSegment makes this task's segment, zero. It takes memory only where it is touched, and can
// never change its size, so that a mapping of it is always good.
func createSegment(rings int) (segment, error) {
	const flags = unix.MFD_ALLOW_SEALING
	file, err := descriptor.Own(descriptor.Memory("lapi-shm", flags|unix.MFD_NOEXEC_SEAL))
	if err == unix.EINVAL { // before Linux 6.3
		file, err = descriptor.Own(descriptor.Memory("lapi-shm", flags))
	}
	if err != nil {
		return segment{file: -1}, os.NewSyscallError("memfd_create", err)
	}
	s := segment{file: file}
	size := segmentSize(rings)
	_ = unix.Fchmod(file, 0o600) // nobody else gets at it by /proc in any case
	if err = os.NewSyscallError("ftruncate", unix.Ftruncate(file, int64(size))); err == nil {
		if _, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err == nil {
			s.bytes, err = unix.Mmap(file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_SHARED)
		}
	}
	if err != nil {
		_ = unix.Close(file)
		return segment{file: -1}, err
	}
	return s, nil
}

// mapSegment maps a peer's segment. It must have exactly the size that rings demand, and be sealed:
// a peer that could truncate it could make every access here fault.
func mapSegment(file, rings int) (segment, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(file, &stat); err != nil {
		return segment{file: -1}, os.NewSyscallError("fstat", err)
	}
	size := segmentSize(rings)
	if uint64(stat.Size) != size {
		return segment{file: -1}, fmt.Errorf("the segment has %d bytes, want %d", stat.Size, size)
	}
	have, err := unix.FcntlInt(uintptr(file), unix.F_GET_SEALS, 0)
	if err != nil || have&seals != seals {
		return segment{file: -1}, errors.New("the segment is not sealed")
	}
	b, err := unix.Mmap(file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return segment{bytes: b, file: -1}, os.NewSyscallError("mmap", err)
}

func (s *segment) release() error {
	var err error
	if s.bytes != nil {
		err = unix.Munmap(s.bytes)
		s.bytes = nil
	}
	err = errors.Join(err, closeFile(s.file))
	s.file = -1
	return err
}

func (s *segment) at(offset uint64) unsafe.Pointer {
	return unsafe.Pointer(&s.bytes[offset])
}

func (s *segment) head() *layout.SegmentHead { return (*layout.SegmentHead)(s.at(0)) }

func (s *segment) control(ring int) *layout.RingControl {
	return (*layout.RingControl)(s.at(headSize + uint64(ring)*controlSize))
}

// ring is where the ring of a sender begins, and chunks its chunk area.
func (s *segment) ring(ring, rings int) unsafe.Pointer {
	return s.at(ringsAt(rings) + uint64(ring)*ringSize)
}

func (s *segment) chunks(ring, rings int) unsafe.Pointer {
	return s.at(chunksAt(rings) + uint64(ring)*chunkArea(rings))
}

// bytesAt is n bytes off the Go heap, at an address that C has checked.
func bytesAt(at, n uint64) []byte {
	return unsafe.Slice((*byte)(offHeap(at)), n)
}

// offHeap is an address as a pointer. It is never one into the Go heap.
func offHeap(at uint64) unsafe.Pointer {
	a := uintptr(at)
	return *(*unsafe.Pointer)(unsafe.Pointer(&a))
}

// private is the node_link of this process: memory off the Go heap, because C uses it as well.
type private struct{ bytes []byte }

// newPrivate makes the ends of all rings, closed, and puts cookie where peers can look for it. Only
// what is used takes memory.
func newPrivate(rings int, cookie uint64) (private, error) {
	b, err := arena.Map(int(unsafe.Sizeof(layout.NodeLink{})))
	if err != nil {
		return private{}, err
	}
	p := private{b}
	node.Init(p.link())
	p.link().Cookie = cookie
	for i := range rings {
		p.peer(i).Closed = layout.ClosedLink
		p.peer(i).Stopped = 1
	}
	return p, nil
}

func (p private) release() { arena.Unmap(p.bytes) }

func (p private) link() *layout.NodeLink {
	return (*layout.NodeLink)(unsafe.Pointer(&p.bytes[0]))
}
func (p private) peer(ring int) *layout.NodePeer { return &p.link().Peer[ring] }

// cookieAddr is the address of the cookie in this process.
func (p private) cookieAddr() transport.Addr {
	return transport.Addr(uintptr(unsafe.Pointer(&p.link().Cookie)))
}

func address64(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// locatePeer tells C where p's rings are.
func (l *Link) locatePeer(p *peer) {
	p.node.OutHead = address64(unsafe.Pointer(p.outHead))
	p.node.OutControl = address64(unsafe.Pointer(p.out.control(l.index)))
	p.node.OutSlots = address64(p.out.ring(l.index, len(l.tasks)))
	p.node.OutChunks = address64(p.out.chunks(l.index, len(l.tasks)))
	l.locateOwn(p.ring)
}

// locateOwn tells C where a peer's ring in this task's segment is.
func (l *Link) locateOwn(ring int) {
	end := l.private.peer(ring)
	end.InControl = address64(unsafe.Pointer(l.own.control(ring)))
	end.InSlots = address64(l.own.ring(ring, len(l.tasks)))
	end.InChunks = address64(l.own.chunks(ring, len(l.tasks)))
}

// locate tells C where this task's segment is.
func (l *Link) locate() { l.node.OwnHead = address64(unsafe.Pointer(l.own.head())) }
