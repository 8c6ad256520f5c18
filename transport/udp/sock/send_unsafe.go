package sock

import (
	"encoding/binary"
	"math"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/internal/medium"
)

const (
	maxSegments = 64    // datagrams of a run; kernels before 6.9 allow no more
	maxRun      = 65507 // bytes of a run: the kernel makes one packet of it first
	// recheck: after the kernel has refused a run, this many datagrams are sent one by one
	// before a run is tried again.
	recheck = 4096
)

// gathering is the half of a socket that sends. The run is what one system call is to send:
// datagrams to one address, all as long as the first but for the last, which may be shorter.
type gathering struct {
	most    int     // bytes of a run; 0: every datagram goes by itself
	nameAt  uintptr // where what is sent next goes, as the kernel reads it: in calls, or 0
	nameLen uint32
	runTo   netip.AddrPort
	first   []byte // head of the run's first datagram
	segment int    // length of the run's datagrams
	bytes   int
	count   int
	used    int // of calls.vectors
	parts   [maxSegments]datagram
	full    bool            // the kernel took no more: until Push
	bounces []medium.Bounce // of runs sent since the last Push
	// the kernel has refused runs of datagrams of this length; longer ones go by themselves,
	// too
	refused  int
	refusals int // how many have; at recheck, refused is forgotten
	row
}

// datagram is one of the run.
type datagram struct{ tag, end int } // end: of its vectors

// Gather sends head and n bytes of memory at data behind it as one datagram, perhaps together with
// others, at Push at the latest. Gathered: head, outside the Go heap, and the data must stay as
// they are until then; its outcome is known then by its tag. Any other outcome is final.
func (s *Socket) Gather(tag int, to netip.AddrPort, head []byte, data uint64,
	n int) medium.Outcome {
	size := len(head) + n
	if s.rowCount > 0 && s.rowTo != to {
		s.sendRow()
	}
	if s.count > 0 && (size > s.segment || s.bytes+size > s.most || s.runTo != to) {
		s.sendRun()
	}
	if s.full {
		return medium.Full
	}
	if s.count == 0 {
		if s.most == 0 || s.rowCount == 0 && !s.isLong(size) && s.isRefused(size) {
			return s.Send(to, head, data, n)
		}
		if s.rowCount > 0 || s.isLong(size) { // no other would fit
			s.enrow(tag, to, head, data, n)
			return medium.Gathered
		}
		s.runTo, s.first, s.segment = to, head, size
	}
	s.append(tag, head, data, n)
	if size < s.segment || s.count == maxSegments || s.bytes+s.segment > s.most {
		s.sendRun()
	}
	return medium.Gathered
}

// userMemory is a user's address for the kernel. Where addresses have 32 bits, an address that does
// not fit, which a peer may have named, becomes the last page: it is the kernel's, as no other
// memory is to be sent instead.
func userMemory(data uint64) uintptr {
	if a := uintptr(data); uint64(a) == data {
		return a
	}
	return ^uintptr(4095)
}

// append puts a datagram at the run's end.
func (s *Socket) append(tag int, head []byte, data uint64, n int) {
	s.calls.vectors[s.used] = vectorOf(head)
	s.used++
	if n > 0 {
		s.calls.vectors[s.used] = vector{userMemory(data), uintptr(n)}
		s.used++
	}
	s.parts[s.count] = datagram{tag, s.used}
	s.count++
	s.bytes += len(head) + n
}

// Push sends what waits and appends to b what was not sent of all that was gathered since the last
// Push.
func (s *Socket) Push(b []medium.Bounce) []medium.Bounce {
	if s.count > 0 {
		s.sendRun()
	}
	if s.rowCount > 0 {
		s.sendRow()
	}
	s.full = false
	if len(s.bounces) > 0 {
		b = append(b, s.bounces...)
		s.bounces = s.bounces[:0]
	}
	return b
}

// sendRun sends the run.
func (s *Socket) sendRun() {
	s.nameAt, s.nameLen = s.name(s.runTo)
	run := s.calls.vectors[:s.used]
	var errno syscall.Errno
	switch {
	case s.used == 1: // a lone packet in one stretch of memory: sendto is the cheaper call
		errno = s.sendOne(s.first)
		s.note(s.parts[0].tag, errno)
	case s.count == 1:
		errno = s.sendVectors(run, 0)
		s.note(s.parts[0].tag, errno)
	default:
		errno = s.sendVectors(run, s.segment)
		if errno == syscall.EMSGSIZE { // or a router's report on an earlier packet
			errno = s.sendVectors(run, s.segment)
		}
		if errno != 0 && !lost(errno) {
			s.sendApart(errno)
		}
	}
	s.failed(errno, s.runTo)
	s.count, s.used, s.bytes = 0, 0, 0
}

// sendApart sends the run's datagrams one by one, because together the kernel refused them for the
// reason why: the data of one cannot be read, there is no room, or they cannot be sent together.
func (s *Socket) sendApart(why syscall.Errno) {
	start := 0
	for i := range s.count {
		end := s.parts[i].end
		errno := syscall.EAGAIN
		if !s.full && why != syscall.EAGAIN {
			errno = s.sendVectors(s.calls.vectors[start:end], 0)
		}
		s.note(s.parts[i].tag, errno)
		start = end
	}
	if why == syscall.EAGAIN || why == syscall.EFAULT {
		return
	}
	// No runs for the time being. Another network may take them, or this one later.
	if s.refused, s.refusals = s.segment, recheck; why == syscall.EIO {
		s.refused = 0 // the device, or the way to it, cannot; else they were too long for the path
	}
}

// note keeps what became of a gathered datagram.
func (s *Socket) note(tag int, errno syscall.Errno) {
	switch errno {
	case syscall.EAGAIN:
		s.full = true
		s.bounces = append(s.bounces, medium.Bounce{Tag: tag, Outcome: medium.Full})
	case syscall.EFAULT:
		s.bounces = append(s.bounces, medium.Bounce{Tag: tag, Outcome: medium.Fault})
	}
}

func (s *Socket) isRefused(size int) bool {
	if s.refusals == 0 || size < s.refused {
		return false
	}
	s.refusals--
	return true
}

// lost says whether errno means that the datagrams are lost, as packets may be. Else the kernel
// refused them in this form.
func lost(errno syscall.Errno) bool {
	switch errno {
	case syscall.EAGAIN, syscall.EFAULT, syscall.EIO, syscall.EINVAL, syscall.EMSGSIZE,
		syscall.EOPNOTSUPP:
		return false
	}
	return true // EPERM, ENOBUFS, ENETUNREACH, ECONNREFUSED and so on
}

// sendVectors sends v, a part of calls, to nameAt: one datagram, or, if segment is not 0, datagrams
// of that length. None of these calls sleeps (MSG_DONTWAIT), so signals do not interrupt them.
func (s *Socket) sendVectors(v []vector, segment int) syscall.Errno {
	c := s.calls
	c.header = header{name: s.nameAt, nameLen: s.nameLen,
		vectors: uintptr(unsafe.Pointer(unsafe.SliceData(v))), numVectors: uintptr(len(v))}
	if segment != 0 {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&c.segment))
		h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		h.SetLen(unix.CmsgLen(2))
		binary.NativeEndian.PutUint16(c.segment[unix.CmsgLen(0):], uint16(segment))
		c.header.control, c.header.controlLen = uintptr(unsafe.Pointer(&c.segment)),
			uintptr(unix.CmsgSpace(2))
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(s.fd),
		uintptr(unsafe.Pointer(&c.header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return errno
}

// Send sends head, and n bytes of memory at data behind it, as one datagram, now. head may lie on
// the Go heap if n is 0.
func (s *Socket) Send(to netip.AddrPort, head []byte, data uint64, n int) medium.Outcome {
	s.nameAt, s.nameLen = s.name(to)
	var errno syscall.Errno
	if n == 0 {
		errno = s.sendOne(head)
	} else {
		s.calls.pair = [2]vector{vectorOf(head), {userMemory(data), uintptr(n)}}
		errno = s.sendVectors(s.calls.pair[:], 0)
	}
	s.failed(errno, to)
	switch errno {
	case syscall.EAGAIN:
		return medium.Full
	case syscall.EFAULT:
		return medium.Fault
	}
	return medium.Sent // or lost: EPERM, ENOBUFS, ENETUNREACH, ECONNREFUSED, EMSGSIZE and so on
}

// sendOne sends one stretch of memory. Its address is taken in the expression of the call: so it
// may lie on the Go heap.
func (s *Socket) sendOne(b []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, s.nameAt, uintptr(s.nameLen))
	return errno
}

// vectorOf is b, which lies outside the Go heap, for the kernel.
func vectorOf(b []byte) vector {
	return vector{uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))}
}

// A segment's length must fit the kernel's 16 bits.
const _ = uint(math.MaxUint16 - maxRun)
