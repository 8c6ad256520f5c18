package shm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
)

const (
	headSize    = uint64(unsafe.Sizeof(layout.SegmentHead{}))
	controlSize = uint64(unsafe.Sizeof(layout.RingControl{}))
	ringSize    = uint64(layout.SlotSize * layout.RingSlots)
	placeSize   = uint64(unsafe.Sizeof(layout.Place{}))        // of what says where a chunk is
	headWord    = uint64(unsafe.Offsetof(layout.Slot{}.Bytes)) // bytes of the head word in front of header and data

	seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// segment is a mapping of one task's segment, its own or a peer's.
type segment struct {
	bytes []byte
	file  int // of an own segment: the memfd; else -1
}

// ringsAt is where the rings of a segment begin.
func ringsAt(rings int) uint64 {
	return (headSize + uint64(rings)*controlSize + layout.Page - 1) &^ (layout.Page - 1)
}

// chunksAt is where the chunk areas of a segment begin.
func chunksAt(rings int) uint64 { return ringsAt(rings) + uint64(rings)*ringSize }

// segmentSize is the size of a segment with that many rings, in bytes.
func segmentSize(rings int) uint64 { return chunksAt(rings) + uint64(rings)*chunkArea(rings) }

// chunkArea is the size of each chunk area of a segment with that many rings, in bytes. All the node's segments have as many areas as rings.
func chunkArea(rings int) uint64 {
	if rings <= layout.ChunkAreaRings {
		return layout.ChunkArea
	}
	return layout.ChunkAreaLeast
}

// createSegment makes this task's segment, zero. It takes memory only where it is touched, and can never change its size, so that a
// mapping of it is always good.
func createSegment(rings int) (segment, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	file, err := unix.MemfdCreate("lapi-shm", flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		file, err = unix.MemfdCreate("lapi-shm", flags)
	}
	if err != nil {
		return segment{file: -1}, os.NewSyscallError("memfd_create", err)
	}
	s := segment{file: file}
	size := segmentSize(rings)
	_ = unix.Fchmod(file, 0o600) // nobody else gets at it by /proc in any case
	if err = os.NewSyscallError("ftruncate", unix.Ftruncate(file, int64(size))); err == nil {
		if _, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err == nil {
			s.bytes, err = unix.Mmap(file, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		}
	}
	if err != nil {
		_ = unix.Close(file)
		return segment{file: -1}, err
	}
	return s, nil
}

// mapSegment maps a peer's segment. It must have exactly the size that rings demand, and be sealed: a peer that could truncate it
// could make every access here fault.
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

func (s *segment) ring(ring, rings int) slots {
	return slots{s.at(ringsAt(rings) + uint64(ring)*ringSize)}
}

func (s *segment) chunks(ring, rings int) chunks {
	return chunks{s.at(chunksAt(rings) + uint64(ring)*chunkArea(rings))}
}

// slots is the memory of one ring. Positions are slot indices modulo the ring; callers keep position and length inside.
type slots struct{ base unsafe.Pointer }

// head is the head word of a slot.
func (s slots) head(position uint64) *uint64 {
	return (*uint64)(unsafe.Add(s.base, position*layout.SlotSize))
}

// body is n bytes of the message that starts in a slot, beginning offset bytes after its head word.
func (s slots) body(position, offset, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(s.base, position*layout.SlotSize+headWord+offset)), n)
}

// private is the cshim_paths of this process: memory off the Go heap, because the lane uses it as well.
type private struct{ bytes []byte }

// newPrivate makes the ends of all rings, closed, and puts cookie where peers can look for it. Only what is used takes memory.
func newPrivate(rings int, cookie uint64) (private, error) {
	b, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(layout.Paths{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return private{}, os.NewSyscallError("mmap", err)
	}
	p := private{b}
	p.paths().Cookie = cookie
	for i := range rings {
		p.path(i).Closed = layout.ClosedLink
		p.path(i).Stopped = 1
	}
	return p, nil
}

func (p private) release() error {
	if p.bytes == nil {
		return nil
	}
	return unix.Munmap(p.bytes)
}

func (p private) paths() *layout.Paths       { return (*layout.Paths)(unsafe.Pointer(&p.bytes[0])) }
func (p private) path(ring int) *layout.Path { return &p.paths().Path[ring] }

// cookieAddr is the address of the cookie in this process.
func (p private) cookieAddr() transport.Addr {
	return transport.Addr(uintptr(unsafe.Pointer(&p.paths().Cookie)))
}

// scratch is 8 bytes for the probe of a peer's cookie.
func (p private) scratch() []byte { return p.paths().Scratch[:8] }

// locate tells the lane where a path's rings are.
func (p *peer) locate() {
	p.path.OutHead = uint64(uintptr(unsafe.Pointer(p.outHead)))
	p.path.OutControl = uint64(uintptr(unsafe.Pointer(p.outControl)))
	p.path.OutSlots = uint64(uintptr(p.outSlots.base))
	p.path.OutChunks = uint64(uintptr(p.outChunks.base))
	p.path.InChunks = uint64(uintptr(p.inChunks.base))
	p.path.InControl = uint64(uintptr(unsafe.Pointer(p.inControl)))
	p.path.InSlots = uint64(uintptr(p.inSlots.base))
}

// locate tells the lane where this task's segment is.
func (l *Link) locate() {
	l.paths.OwnHead = uint64(uintptr(unsafe.Pointer(l.own.head())))
}
