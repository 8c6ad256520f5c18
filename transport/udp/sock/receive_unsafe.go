package sock

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiving is the half of a socket that takes in. Datagrams that the kernel has merged are handed
// out one by one.
type receiving struct {
	length  func([]byte) int // Options.Length; nil: every datagram comes by itself
	buffer  []byte           // the datagrams that arrived last
	at, end int              // of buffer: the datagrams not yet handed out
	each    int              // their length; the last may be shorter
	from    netip.AddrPort   // where they came from
	raw     [28]byte         // and that as the kernel gave it
}

// Waiting says whether datagrams are here that Receive hands out without a system call.
func (s *Socket) Waiting() bool { return s.at < s.end }

// Receive takes one datagram from the socket. b is the socket's, outside the Go heap, on a multiple
// of 8 bytes, may be written, and is valid until the next Receive. False: there is none.
func (s *Socket) Receive() (b []byte, from netip.AddrPort, ok bool) {
	if s.at < s.end {
		return s.next(), s.from, true
	}
	n, errno := s.take()
	for errno != 0 {
		if errno == syscall.EAGAIN || errno == syscall.EBADF {
			return nil, netip.AddrPort{}, false
		}
		// EINTR; or an error of an earlier packet, which the kernel reports once. Only of a
		// connected socket it does.
		if errno != syscall.EINTR {
			s.failed(errno, s.peer)
		}
		n, errno = s.take()
	}
	s.source()
	s.arrived(s.from)
	if s.length != nil {
		if s.each = s.length(s.buffer[:n]); s.each > 0 && s.each < n {
			s.at, s.end = 0, n
			return s.next(), s.from, true
		}
	}
	return s.buffer[:n:n], s.from, true
}

// Drop discards the rest of the piece in which the last datagram came, because that datagram is not
// valid: nothing shows where the others begin. It returns how many there may have been.
func (s *Socket) Drop() (n int) {
	if s.at < s.end {
		n = (s.end - s.at + s.each - 1) / s.each
		s.at = s.end
	}
	return n
}

// take has the kernel fill the buffer with n bytes. The kernel's control message with the length of
// merged datagrams is not asked for: making it costs more than a twentieth of the time that a small
// datagram takes altogether.
func (s *Socket) take() (n int, errno syscall.Errno) {
	var name, nameLen uintptr
	if !s.peer.IsValid() {
		c := s.calls
		c.fromLen = uint32(len(c.from))
		name, nameLen = uintptr(unsafe.Pointer(&c.from)), uintptr(unsafe.Pointer(&c.fromLen))
	}
	r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(s.buffer))), uintptr(len(s.buffer)),
		unix.MSG_DONTWAIT, name, nameLen)
	return int(r), errno
}

// next hands out one of the datagrams that wait. A datagram that does not start on a multiple of 8
// bytes is moved down, over the end of the one before, which is over.
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
	if s.peer.IsValid() { // packets that others sent before Connect fail the check
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
