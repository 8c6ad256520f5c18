// Package sock is the kernel's side of LAPI over UDP/IP: one socket, sent to and received from by raw system calls that allocate nothing
// and never block. What UDP may do to a packet on the way, the kernel may do to it here: errors of sending are
// losses, except that memory could not be read.
package sock

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Outcome is what the kernel did with a datagram to send.
type Outcome uint8

// Outcomes of Send.
const (
	Sent  Outcome = iota // gone, perhaps lost
	Full                 // not taken: the send buffer is full
	Fault                // the data could not be read; nothing was sent
)

// MaxDatagram is room for anything that arrives.
const MaxDatagram = 1 << 16

// vector and header are the kernel's struct iovec and struct msghdr. Addresses are numbers, not pointers: user addresses may be wrong, and the
// garbage collector must not follow them.
type vector struct{ base, length uintptr }

type header struct {
	name       uintptr
	nameLen    uint32
	vectors    uintptr
	numVectors uintptr
	control    uintptr
	controlLen uintptr
	flags      int32
}

// calls is the memory that system calls refer to. It lies outside the Go heap, where addresses held in numbers keep their meaning.
type calls struct {
	header  header
	vectors [2]vector
	to      [28]byte // sockaddr_in or sockaddr_in6
	from    [28]byte
	fromLen uint32
}

// Socket is one UDP socket. Its owner's lock protects it.
type Socket struct {
	fd     int
	local  netip.AddrPort
	scope  uint32 // number of the interface that local's zone names; 0: local is not link-local
	memory []byte // calls, then the receive buffer
	calls  *calls
	buffer []byte
	toLen  uint32
	to     netip.AddrPort // what calls.to holds
	from   netip.AddrPort // what calls.from held last
	raw    [28]byte       // and that itself
}

const receiveAt = 4096 // of memory

// Open binds a socket to local; port 0 lets the kernel choose. Its packets use device, if that is not empty. receive and send are the buffer sizes to ask for, in bytes.
func Open(local netip.AddrPort, device string, receive, send int) (*Socket, error) {
	s := &Socket{fd: -1}
	if !local.Addr().IsValid() {
		return nil, fmt.Errorf("no address to bind to: %w", syscall.EADDRNOTAVAIL)
	}
	if err := s.open(local, device, receive, send); err != nil {
		s.Close()
		return nil, fmt.Errorf("socket on %v: %w", local, err)
	}
	return s, nil
}

func (s *Socket) open(local netip.AddrPort, device string, receive, send int) (err error) {
	family := unix.AF_INET
	if local.Addr().Unmap().Is6() {
		family = unix.AF_INET6
	}
	if s.fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	// The kernel gives what it allows; ReceiveBuffer tells how much that is.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receive)
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, send)
	if family == unix.AF_INET { // datagrams larger than a link's MTU travel in pieces rather than not at all
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT)
	} else {
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DONT)
	}
	if device != "" {
		if err = unix.BindToDevice(s.fd, device); err != nil {
			return os.NewSyscallError("bind to "+device, err)
		}
	}
	if err = s.bind(local); err != nil {
		return err
	}
	if s.memory, err = unix.Mmap(-1, 0, receiveAt+MaxDatagram, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	s.calls = (*calls)(unsafe.Pointer(unsafe.SliceData(s.memory)))
	s.buffer = s.memory[receiveAt:]
	return nil
}

func (s *Socket) bind(local netip.AddrPort) error {
	var sa unix.Sockaddr
	if a := local.Addr().Unmap(); a.Is4() {
		sa = &unix.SockaddrInet4{Addr: a.As4(), Port: int(local.Port())}
	} else {
		if err := s.findScope(a); err != nil {
			return err
		}
		sa = &unix.SockaddrInet6{Addr: a.As16(), Port: int(local.Port()), ZoneId: s.scope}
	}
	if err := unix.Bind(s.fd, sa); err != nil {
		return os.NewSyscallError("bind", err)
	}
	bound, err := unix.Getsockname(s.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	switch b := bound.(type) {
	case *unix.SockaddrInet4:
		s.local = netip.AddrPortFrom(netip.AddrFrom4(b.Addr), uint16(b.Port))
	case *unix.SockaddrInet6:
		s.local = netip.AddrPortFrom(netip.AddrFrom16(b.Addr), uint16(b.Port))
	}
	return nil
}

// findScope looks up the zone of a link-local address. Peers' addresses have none: they are met on the same interface.
func (s *Socket) findScope(a netip.Addr) error {
	if a.Zone() == "" {
		return nil
	}
	i, err := net.InterfaceByName(a.Zone())
	if err != nil {
		return fmt.Errorf("zone %s: %w", a.Zone(), syscall.ENODEV)
	}
	s.scope = uint32(i.Index)
	return nil
}

// Descriptor becomes readable when a datagram waits. It stays the socket's.
func (s *Socket) Descriptor() int { return s.fd }

// Local is where the socket is bound.
func (s *Socket) Local() netip.AddrPort { return s.local }

// ReceiveBuffer is how many bytes the kernel keeps for this socket, bookkeeping excluded, about.
func (s *Socket) ReceiveBuffer() int {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	return n / 2 // the kernel doubles what was asked for, to have room for its bookkeeping
}

// address puts to into calls.to, unless it is there.
func (s *Socket) address(to netip.AddrPort) {
	if to == s.to {
		return
	}
	s.to = to
	b := s.calls.to[:]
	clear(b)
	binary.BigEndian.PutUint16(b[2:], to.Port())
	if a := to.Addr(); a.Is4() {
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		ip := a.As4()
		copy(b[4:], ip[:])
		s.toLen = unix.SizeofSockaddrInet4
	} else {
		binary.NativeEndian.PutUint16(b, unix.AF_INET6)
		ip := a.As16()
		copy(b[8:], ip[:])
		if a.IsLinkLocalUnicast() {
			binary.NativeEndian.PutUint32(b[24:], s.scope)
		}
		s.toLen = unix.SizeofSockaddrInet6
	}
}

// Send sends head, and n bytes of memory at data behind it, as one datagram.
func (s *Socket) Send(to netip.AddrPort, head []byte, data uint64, n int) Outcome {
	s.address(to)
	for {
		var errno syscall.Errno
		if n == 0 {
			_, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(head))), uintptr(len(head)),
				unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&s.calls.to)), uintptr(s.toLen))
		} else {
			errno = s.sendTwo(head, data, n)
		}
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return Full
		case syscall.EFAULT:
			return Fault
		}
		return Sent // or lost: EPERM, ENOBUFS, ENETUNREACH, ECONNREFUSED, EMSGSIZE and so on
	}
}

// sendTwo sends two pieces. head may lie on the Go heap: its address is taken in the expression of the call only for pieces
// that sendto takes, so here it must not; packets with lent data have their head in memory of their own.
func (s *Socket) sendTwo(head []byte, data uint64, n int) syscall.Errno {
	c := s.calls
	c.vectors[0] = vector{uintptr(unsafe.Pointer(unsafe.SliceData(head))), uintptr(len(head))}
	c.vectors[1] = vector{uintptr(data), uintptr(n)}
	c.header = header{
		name: uintptr(unsafe.Pointer(&c.to)), nameLen: s.toLen,
		vectors: uintptr(unsafe.Pointer(&c.vectors)), numVectors: 2,
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&c.header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return errno
}

// Receive takes one datagram from the socket. b is the socket's, outside the Go heap, on a multiple of 8 bytes, valid until the next
// Receive. False: there is none.
func (s *Socket) Receive() (b []byte, from netip.AddrPort, ok bool) {
	c := s.calls
	for {
		c.fromLen = uint32(len(c.from))
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(s.buffer))), uintptr(len(s.buffer)),
			unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&c.from)), uintptr(unsafe.Pointer(&c.fromLen)))
		if errno == 0 {
			return s.buffer[:n:n], s.source(), true
		}
		if errno == syscall.EAGAIN || errno == syscall.EBADF {
			return nil, netip.AddrPort{}, false
		}
		// EINTR; or an error of an earlier packet, told once and cleared by telling
	}
}

// source is where the last datagram came from.
func (s *Socket) source() netip.AddrPort {
	if s.calls.from == s.raw {
		return s.from
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
	return s.from
}

// Wait sleeps until one of the sockets' descriptors has a datagram or timeout nanoseconds have passed. It may return early.
func Wait(descriptors []int, timeout int64) {
	t := unix.NsecToTimespec(max(timeout, 0))
	set := make([]unix.PollFd, len(descriptors))
	for i, fd := range descriptors {
		set[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	_, _ = unix.Ppoll(set, &t, nil)
}

// Close releases the socket and its memory.
func (s *Socket) Close() error {
	var err error
	if s.fd >= 0 {
		err = unix.Close(s.fd)
		s.fd = -1
	}
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
		s.memory, s.calls, s.buffer = nil, nil, nil
	}
	return err
}
