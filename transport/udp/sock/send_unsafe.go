package sock

import (
	"encoding/binary"
	"math"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Outcome is what the kernel did with a datagram to send.
type Outcome uint8

// Outcomes of Send and Gather.
const (
	Sent     Outcome = iota // gone, perhaps lost
	Full                    // not taken: the send buffer is full
	Fault                   // the data could not be read; nothing was sent
	Gathered                // waits for others to go with, until Push
)

// Bounce tells of a gathered datagram that was not sent after all.
type Bounce struct {
	Tag     int
	Outcome Outcome // Full or Fault
}

const (
	maxSegments = 64    // datagrams of a run; kernels before 6.9 allow no more
	maxRun      = 65507 // bytes of a run: the kernel makes one packet of it first
	// recheck: so many datagrams are sent one by one after the kernel has refused a run, before one
	// is tried again.
	recheck = 4096
)

// gathering is the half of a socket that sends. The run is what one system call is to send:
// datagrams to one address, all as long as the first but for the last, which may be shorter.
type gathering struct {
	most    int     // bytes of a run; 0: every datagram goes by itself
	nameAt  uintptr // where what is sent next goes, as the kernel reads it: in calls, or 0
	nameLen uint32
	runTo   netip.AddrPort
	segment int // length of the run's datagrams
	bytes   int
	count   int
	used    int // of calls.vectors
	parts   [maxSegments]datagram
	full    bool     // the kernel took no more: until Push
	bounces []Bounce // of runs sent since the last Push
	// the kernel has refused runs of datagrams of this length; longer ones go by themselves, too
	refused  int
	refusals int // how many have; at recheck, refused is forgotten
	row
}

// datagram is one of the run.
type datagram struct{ tag, end int } // end: of its vectors

// Gather sends head and n bytes of memory at data behind it as one datagram, perhaps together with
// others, at Push at the latest. Gathered: head, outside the Go heap, and the data must stay as
// they are until then; what became of it is known then by its tag. Any other outcome is final.
func (s *Socket) Gather(tag int, to netip.AddrPort, head []byte, data uint64, n int) Outcome {
	size := len(head) + n
	if s.rowCount > 0 && s.rowTo != to {
		s.sendRow()
	}
	if s.count > 0 && (size > s.segment || s.bytes+size > s.most || s.runTo != to) {
		s.sendRun()
	}
	if s.full {
		return Full
	}
	if s.count == 0 {
		if s.most == 0 || s.rowCount == 0 && !s.isLong(size) && s.isRefused(size) {
			return s.Send(to, head, data, n)
		}
		if s.rowCount > 0 || s.isLong(size) { // no other would fit
			s.enrow(tag, to, head, data, n)
			return Gathered
		}
		s.runTo, s.segment = to, size
	}
	s.append(tag, head, data, n)
	if size < s.segment || s.count == maxSegments || s.bytes+s.segment > s.most {
		s.sendRun()
	}
	return Gathered
}

// userMemory is a user's address for the kernel. Where addresses have 32 bits, one that does not
// fit, which a peer may have named, is the last page: the kernel's, as no other memory is to be
// sent instead.
func userMemory(data uint64) uintptr {
	if a := uintptr(data); uint64(a) == data {
		return a
	}
	return ^uintptr(4095)
}

// append puts a datagram at the run's end.
func (s *Socket) append(tag int, head []byte, data uint64, n int) {
	s.calls.vectors[s.used] = vector{uintptr(unsafe.Pointer(unsafe.SliceData(head))),
		uintptr(len(head))}
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
func (s *Socket) Push(b []Bounce) []Bounce {
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
	var errno syscall.Errno
	s.nameAt, s.nameLen = s.name(s.runTo)
	if s.used == 1 { // a lone packet in one stretch of memory: sendto is the cheaper call
		v := &s.calls.vectors[0]
		s.note(s.parts[0].tag, s.sendMemory(v.base, v.length))
	} else if s.count == 1 {
		s.note(s.parts[0].tag, s.sendVectors(0, s.used, 0))
	} else {
		// or so a router has said of a packet before, which is told once
		if errno = s.sendVectors(0, s.used, s.segment); errno == syscall.EMSGSIZE {
			errno = s.sendVectors(0, s.used, s.segment)
		}
		if errno != 0 && !lost(errno) {
			s.sendApart(errno)
		}
	}
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
			errno = s.sendVectors(start, end, 0)
		}
		s.note(s.parts[i].tag, errno)
		start = end
	}
	switch why {
	case syscall.EAGAIN, syscall.EFAULT:
	case syscall.EIO: // the device, or the way to it, cannot
		s.refuse(0)
	default: // too long for the path
		s.refuse(s.segment)
	}
}

// note keeps what became of a gathered datagram.
func (s *Socket) note(tag int, errno syscall.Errno) {
	switch errno {
	case syscall.EAGAIN:
		s.full = true
		s.bounces = append(s.bounces, Bounce{tag, Full})
	case syscall.EFAULT:
		s.bounces = append(s.bounces, Bounce{tag, Fault})
	}
}

// refuse: runs of datagrams so long, or longer, do not go for the time being. Another network may
// take them, or this one later.
func (s *Socket) refuse(segment int) {
	s.refused, s.refusals = segment, recheck
}

func (s *Socket) isRefused(size int) bool {
	if s.refusals == 0 || size < s.refused {
		return false
	}
	s.refusals--
	return true
}

// lost says whether errno means that what was to be sent is gone, as packets may be. Not so: it was
// refused in this form.
func lost(errno syscall.Errno) bool {
	switch errno {
	case syscall.EAGAIN, syscall.EFAULT, syscall.EIO, syscall.EINVAL, syscall.EMSGSIZE,
		syscall.EOPNOTSUPP:
		return false
	}
	return true // EPERM, ENOBUFS, ENETUNREACH, ECONNREFUSED and so on
}

// sendVectors sends calls.vectors[from:to] to nameAt: one datagram, or, if segment is not 0,
// datagrams of that length.
func (s *Socket) sendVectors(from, to, segment int) syscall.Errno {
	c := s.calls
	c.header = header{
		name: s.nameAt, nameLen: s.nameLen,
		vectors: uintptr(unsafe.Pointer(&c.vectors[from])), numVectors: uintptr(to - from),
	}
	if segment != 0 {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&c.segment))
		h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		h.SetLen(unix.CmsgLen(2))
		binary.NativeEndian.PutUint16(c.segment[unix.CmsgLen(0):], uint16(segment))
		c.header.control, c.header.controlLen = uintptr(unsafe.Pointer(&c.segment)),
			uintptr(unix.CmsgSpace(2))
	}
	return s.sendMessage()
}

// sendMessage has the kernel send what calls.header describes.
func (s *Socket) sendMessage() syscall.Errno {
	for {
		_, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(s.fd),
			uintptr(unsafe.Pointer(&s.calls.header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno != syscall.EINTR {
			return errno
		}
	}
}

// Send sends head, and n bytes of memory at data behind it, as one datagram, now. head may lie on
// the Go heap if n is 0.
func (s *Socket) Send(to netip.AddrPort, head []byte, data uint64, n int) Outcome {
	s.nameAt, s.nameLen = s.name(to)
	var errno syscall.Errno
	if n == 0 {
		errno = s.sendOne(head)
	} else {
		c := s.calls
		c.pair = [2]vector{{uintptr(unsafe.Pointer(unsafe.SliceData(head))), uintptr(len(head))},
			{userMemory(data), uintptr(n)}}
		c.header = header{name: s.nameAt, nameLen: s.nameLen,
			vectors: uintptr(unsafe.Pointer(&c.pair)), numVectors: 2}
		errno = s.sendMessage()
	}
	switch errno {
	case syscall.EAGAIN:
		return Full
	case syscall.EFAULT:
		return Fault
	}
	return Sent // or lost: EPERM, ENOBUFS, ENETUNREACH, ECONNREFUSED, EMSGSIZE and so on
}

// sendMemory sends n bytes at base, outside the Go heap.
func (s *Socket) sendMemory(base, n uintptr) syscall.Errno {
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), base, n,
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
			s.nameAt, uintptr(s.nameLen))
		if errno != syscall.EINTR {
			return errno
		}
	}
}

// sendOne sends one stretch of memory. Its address is taken in the expression of the call: so it
// may lie on the Go heap.
func (s *Socket) sendOne(b []byte) syscall.Errno {
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, s.nameAt, uintptr(s.nameLen))
		if errno != syscall.EINTR {
			return errno
		}
	}
}

// A segment's length must fit the kernel's 16 bits.
const _ = uint(math.MaxUint16 - maxRun)
