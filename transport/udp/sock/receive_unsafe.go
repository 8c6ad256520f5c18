package sock

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiving is the half of a socket that takes in. What the kernel has merged is handed out datagram by datagram.
type receiving struct {
	merged  bool           // UDP_GRO is on
	buffer  []byte         // what arrived last
	at, end int            // of buffer: the datagrams not yet handed out
	each    int            // their length; the last may be shorter
	from    netip.AddrPort // where they came from
	raw     [28]byte       // and that as the kernel told it
}

// Waiting says whether datagrams are here that Receive hands out without a system call.
func (s *Socket) Waiting() bool { return s.at < s.end }

// Receive takes one datagram from the socket. b is the socket's, outside the Go heap, on a multiple of 8 bytes, may be written, and is valid
// until the next Receive. False: there is none.
func (s *Socket) Receive() (b []byte, from netip.AddrPort, ok bool) {
	if s.at < s.end {
		return s.next(), s.from, true
	}
	n, errno := s.take()
	for errno != 0 {
		if errno == syscall.EAGAIN || errno == syscall.EBADF {
			return nil, netip.AddrPort{}, false
		}
		n, errno = s.take() // EINTR; or an error of an earlier packet, told once and cleared by telling
	}
	s.source()
	if s.each <= 0 || s.each >= n {
		return s.buffer[:n:n], s.from, true
	}
	s.at, s.end = 0, n
	return s.next(), s.from, true
}

// take has the kernel fill the buffer: n bytes in datagrams of s.each, 0: one datagram.
func (s *Socket) take() (n int, errno syscall.Errno) {
	c := s.calls
	c.into = vector{uintptr(unsafe.Pointer(unsafe.SliceData(s.buffer))), uintptr(len(s.buffer))}
	c.receiving = header{vectors: uintptr(unsafe.Pointer(&c.into)), numVectors: 1}
	if !s.peer.IsValid() {
		c.receiving.name, c.receiving.nameLen = uintptr(unsafe.Pointer(&c.from)), uint32(len(c.from))
	}
	if s.merged {
		c.receiving.control, c.receiving.controlLen = uintptr(unsafe.Pointer(&c.received)), uintptr(len(c.received))
	}
	r, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&c.receiving)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, errno
	}
	s.each = 0
	if c.receiving.controlLen != 0 && s.merged {
		s.each = segmentOf(c.received[:min(int(c.receiving.controlLen), len(c.received))])
	}
	return int(r), 0
}

// segmentOf reads the length of merged datagrams from the kernel's control messages; 0: there is one datagram.
func segmentOf(control []byte) int {
	const head = unix.SizeofCmsghdr
	for len(control) >= head {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(control)))
		n := int(h.Len)
		if n < head || n > len(control) {
			return 0
		}
		if h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && n >= head+4 {
			return int(int32(binary.NativeEndian.Uint32(control[head:])))
		}
		control = control[min(unix.CmsgSpace(n-head), len(control)):]
	}
	return 0
}

// next hands out one of the datagrams that wait. One that does not start on a multiple of 8 bytes is moved down, over the end of the
// one before, which is over.
func (s *Socket) next() []byte {
	n := min(s.each, s.end-s.at)
	at := s.at &^ 7
	if at != s.at {
		copy(s.buffer[at:at+n], s.buffer[s.at:])
	}
	s.at += n
	return s.buffer[at : at+n : at+n]
}

// source notes where the last datagram came from.
func (s *Socket) source() {
	if s.peer.IsValid() { // what strangers sent before Connect fails the packets' check
		s.from = s.peer
		s.raw = [28]byte{}
		return
	}
	if s.calls.from == s.raw {
		return
	}
	s.raw = s.calls.from
	b := s.raw[:]
	port := binary.BigEndian.Uint16(b[2:])
	var ip netip.Addr
	if binary.NativeEndian.Uint16(b) == unix.AF_INET {
		ip = netip.AddrFrom4([4]byte(b[4:8]))
	} else {
		ip = netip.AddrFrom16([16]byte(b[8:24])).Unmap()
	}
	s.from = netip.AddrPortFrom(ip, port)
}
