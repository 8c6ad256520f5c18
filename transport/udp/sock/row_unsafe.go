package sock

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxRow datagrams make a row. A longer one would keep the first waiting, and gains no more.
const maxRow = 8

// entry is the kernel's struct mmsghdr.
type entry struct {
	header
	sent uint32 // bytes, as the kernel tells
}

// row is datagrams to one address that are too long to share one packet of the kernel, and go by
// one system call all the same. This saves the kernel no work. But each long datagram that it
// copies drives the program out of the processor's caches, and in a row the program prepares
// several before the kernel begins.
type row struct {
	rowTo    netip.AddrPort
	rowCount int
	rowTags  [maxRow]int
}

// enrow puts a datagram at the row's end. A datagram that could have been sent with others in a run
// ends the row.
func (s *Socket) enrow(tag int, to netip.AddrPort, head []byte, data uint64, n int) {
	c, i := s.calls, s.rowCount
	s.rowTo, s.rowTags[i] = to, tag
	s.rowCount++
	v := c.rowVectors[2*i : 2*i+2]
	v[0], v[1] = vectorOf(head), vector{userMemory(data), uintptr(n)}
	c.row[i].header = header{vectors: uintptr(unsafe.Pointer(&v[0])), numVectors: 1}
	if n > 0 {
		c.row[i].numVectors = 2
	}
	if s.rowCount == maxRow || !s.isLong(len(head)+n) {
		s.sendRow()
	}
}

// isLong says whether a datagram is so long that it would travel by itself.
func (s *Socket) isLong(size int) bool { return 2*size > s.most }

// sendRow sends the row. The kernel stops at a datagram that it refuses; that one goes by itself,
// which tells why. So it does not matter either if the program's filter of system calls knows no
// sendmmsg.
func (s *Socket) sendRow() {
	c, n := s.calls, s.rowCount
	s.rowCount = 0
	s.nameAt, s.nameLen = s.name(s.rowTo)
	for i := range n {
		c.row[i].name, c.row[i].nameLen = s.nameAt, s.nameLen
	}
	for at := 0; at < n; at++ {
		if !s.full && n-at > 1 {
			at += s.sendSome(at, n)
		}
		if at == n {
			return
		}
		errno := syscall.EAGAIN
		if !s.full {
			errno = s.sendVectors(c.rowVectors[2*at:][:c.row[at].numVectors], 0)
		}
		s.failed(errno, s.rowTo)
		s.note(s.rowTags[at], errno)
	}
}

// sendSome sends calls.row[from:to] as far as the kernel takes them, and returns how many that
// were.
func (s *Socket) sendSome(from, to int) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.fd),
		uintptr(unsafe.Pointer(&s.calls.row[from])), uintptr(to-from),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}
