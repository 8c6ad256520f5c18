// Package sock is the kernel's side of LAPI over UDP/IP: one socket, sent to and received from by
// raw system calls that allocate nothing and never block. The kernel may lose a packet here as UDP
// may on the way: errors of sending are losses, except that memory could not be read.
//
// A packet costs the kernel the same whether it travels alone or with others of its size in one
// call (UDP_SEGMENT, "GSO"; UDP_GRO at the receiver). So packets are gathered (send_unsafe.go) and
// taken apart again (receive_unsafe.go).
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

	"lapi/descriptor"
	"lapi/transport/arena"
)

// MaxDatagram is room for anything that arrives.
const MaxDatagram = 1 << 16

// vector and header are the kernel's struct iovec and struct msghdr. Addresses are numbers, not
// pointers: user addresses may be wrong, and the garbage collector must not follow them.
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

// calls is the memory that system calls refer to. It lies outside the Go heap, where addresses held
// in numbers keep their meaning.
type calls struct {
	header     header
	vectors    [2 * maxSegments]vector // of the run
	pair       [2]vector               // of a datagram by itself
	segment    [32]byte                // control message with the run's segment size
	row        [maxRow]entry
	rowVectors [2 * maxRow]vector
	to         [28]byte // sockaddr_in or sockaddr_in6
	from       [28]byte
	fromLen    uint32
}

// Options are how a socket is opened.
type Options struct {
	Device        string // the interface that its packets must use; empty: any
	Receive, Send int    // buffer sizes to ask the kernel for, in bytes
	// Fragment: datagrams may be cut here and on their way, as they are longer than the path's
	// MTU on purpose. Else nobody cuts them: a router that cannot pass one on in one piece says
	// so, which PathPayload knows then (RFC 1191, RFC 8201), and a datagram longer than the
	// interface takes is lost.
	Fragment bool
	// Length says how long the datagram that b begins with is, by what stands in it; 0: no
	// datagram of ours. b may go on behind it with others of the same length, the last of them
	// perhaps shorter. Nil: they are to be received one by one.
	Length func(b []byte) int
	// Plain: every datagram is a system call of its own, as where the kernel has no UDP_SEGMENT
	// and UDP_GRO.
	Plain bool
}

// Socket is one UDP socket. Its owner's lock protects it.
type Socket struct {
	fd     int
	local  netip.AddrPort
	device string // what it is bound to; empty: nothing
	zone   string // the interface of a link-local address
	scope  uint32 // number of the interface of a link-local address; 0: local is not link-local
	memory []byte // calls, then the receive buffer
	calls  *calls
	toLen  uint32
	to     netip.AddrPort // what calls.to holds
	peer   netip.AddrPort // Connect's; not valid: anybody may send to this socket
	blame
	gathering
	receiving
}

const receiveAt = 4096 // of memory

// calls must fit before the receive buffer.
const _ = uint(receiveAt - unsafe.Sizeof(calls{}))

// Open binds a socket to local; port 0 lets the kernel choose.
func Open(local netip.AddrPort, o Options) (*Socket, error) {
	s := &Socket{fd: -1}
	if !local.Addr().IsValid() {
		return nil, fmt.Errorf("no address to bind to: %w", syscall.EADDRNOTAVAIL)
	}
	if err := s.open(local, &o); err != nil {
		s.Close()
		return nil, fmt.Errorf("socket on %v: %w", local, err)
	}
	return s, nil
}

func (s *Socket) open(local netip.AddrPort, o *Options) (err error) {
	family := unix.AF_INET
	if local.Addr().Unmap().Is6() {
		family = unix.AF_INET6
	}
	s.fd, err = descriptor.Own(descriptor.Socket(family,
		unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0))
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	// The kernel gives as much as it allows; ReceiveBuffer says how much that is.
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, o.Receive)
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, o.Send)
	s.discoverMTU(family, o.Fragment)
	if o.Device != "" {
		if err = unix.BindToDevice(s.fd, o.Device); err != nil {
			return os.NewSyscallError("bind to "+o.Device, err)
		}
		s.device = o.Device
	}
	if err = s.bind(local, o.Device); err != nil {
		return err
	}
	if s.memory, err = arena.Map(receiveAt + MaxDatagram); err != nil {
		return err
	}
	s.calls = (*calls)(unsafe.Pointer(unsafe.SliceData(s.memory)))
	s.buffer = s.memory[receiveAt:]
	if !o.Plain {
		s.probe(o.Length)
	}
	return nil
}

// discoverMTU says what becomes of datagrams that are too long for the path.
func (s *Socket) discoverMTU(family int, fragment bool) {
	v4, v6 := unix.IP_PMTUDISC_PROBE, unix.IPV6_PMTUDISC_PROBE
	if fragment {
		v4, v6 = unix.IP_PMTUDISC_DONT, unix.IPV6_PMTUDISC_DONT
	}
	if family == unix.AF_INET {
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, v4)
	} else {
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, v6)
	}
}

// probe finds out whether the kernel sends (since 4.18) and receives (since 5.0) several datagrams
// in one piece.
func (s *Socket) probe(length func([]byte) int) {
	if _, err := unix.GetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_SEGMENT); err == nil {
		s.most = maxRun
	}
	if length != nil && unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_GRO, 1) == nil {
		s.length = length
	}
}

// Merges says whether the socket receives them together.
func (s *Socket) Merges() bool { return s.length != nil }

func (s *Socket) bind(local netip.AddrPort, device string) error {
	if err := s.findScope(local.Addr().Unmap(), device); err != nil {
		return err
	}
	if err := unix.Bind(s.fd, s.sockaddr(local)); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return os.NewSyscallError("bind to the port that the kernel chose", s.pin())
}

// pin finds where the socket is bound, and binds it there by name if the kernel chose the port: it
// would take such a port back when the socket is not connected any more. A socket that loses the
// port in between takes another.
func (s *Socket) pin() (err error) {
	for range pinTries {
		if s.local, err = s.bound(); err != nil {
			return err
		}
		s.disconnect()
		if now, err := s.bound(); err != nil || now.Port() != 0 { // it was bound by name
			return err
		}
		if unix.Bind(s.fd, s.sockaddr(s.local)) == nil {
			return nil
		}
		any := netip.AddrPortFrom(s.local.Addr(), 0)
		if err := unix.Bind(s.fd, s.sockaddr(any)); err != nil {
			return err
		}
	}
	return syscall.EADDRINUSE
}

// pinTries is how often a port is lost to somebody else before there is none.
const pinTries = 32

// bound is where the kernel says that the socket is bound.
func (s *Socket) bound() (netip.AddrPort, error) {
	a, err := unix.Getsockname(s.fd)
	switch b := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(b.Addr), uint16(b.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(b.Addr), uint16(b.Port)), nil
	}
	return netip.AddrPort{}, err
}

// disconnect lets anybody send to the socket again.
func (s *Socket) disconnect() {
	nobody := [unix.SizeofSockaddrInet6]byte{} // family AF_UNSPEC
	_, _, _ = syscall.RawSyscall(unix.SYS_CONNECT, uintptr(s.fd), uintptr(unsafe.Pointer(&nobody)),
		unsafe.Sizeof(nobody))
}

// findScope looks up the interface of a link-local address: its zone or the device. Peers'
// addresses have none: the peers are on the same interface.
func (s *Socket) findScope(a netip.Addr, device string) error {
	if a.Is4() || !a.IsLinkLocalUnicast() {
		return nil
	}
	zone := a.Zone()
	if zone == "" {
		zone = device
	}
	if zone == "" {
		return fmt.Errorf("link-local address without an interface: %w", syscall.ENODEV)
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return fmt.Errorf("zone %s: %w", zone, syscall.ENODEV)
	}
	s.scope, s.zone = uint32(i.Index), zone
	return nil
}

// Local is where the socket is bound.
func (s *Socket) Local() netip.AddrPort { return s.local }

// Interface is the local address, with a zone if it is link-local.
func (s *Socket) Interface() netip.Addr { return s.local.Addr().WithZone(s.zone) }

// Rebind is called when the local address can be used again: an interface that was removed and came
// back under its name is another one to the kernel. Where that refuses, the socket stays as it was.
func (s *Socket) Rebind() {
	if s.device != "" {
		_ = unix.BindToDevice(s.fd, s.device)
	}
	if i, err := net.InterfaceByName(s.zone); s.zone != "" && err == nil {
		s.scope, s.to = uint32(i.Index), netip.AddrPort{}
	}
	if peer := s.peer; peer.IsValid() { // the address through which it was reached is gone
		s.Connect(netip.AddrPort{})
		s.Connect(peer)
	}
}

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

// Connect says that only to is sent to and received from: then the kernel need not look up the way
// for each datagram, and drops what anybody else sends. An address that is not valid ends this.
// Where the kernel refuses, all stays as if there were none.
func (s *Socket) Connect(to netip.AddrPort) {
	if to == s.peer {
		return
	}
	if s.peer.IsValid() {
		s.peer = netip.AddrPort{}
		s.disconnect()
	}
	if !to.IsValid() {
		return
	}
	s.address(to)
	if _, _, errno := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(s.fd),
		uintptr(unsafe.Pointer(&s.calls.to)), uintptr(s.toLen)); errno == 0 {
		s.peer = to
	}
}

// name is the address for the kernel to send to; none if the socket is connected to it.
func (s *Socket) name(to netip.AddrPort) (name uintptr, n uint32) {
	if to == s.peer {
		return 0, 0
	}
	s.address(to)
	return uintptr(unsafe.Pointer(&s.calls.to)), s.toLen
}

// Wait sleeps until one of the sockets' descriptors has a datagram or timeout nanoseconds have
// passed. It may return early.
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
	arena.Unmap(s.memory)
	s.memory, s.calls, s.buffer = nil, nil, nil
	return err
}
