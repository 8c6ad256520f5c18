// Package sockets is uDAPL's network: the sockets of the connection manager, those by which
// processes of a node find each other (door.go), and the links for data. It implements dat.Network.
package sockets

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/core/dat/cm"
	"lapi/descriptor"
	"lapi/transport"
	"lapi/transport/shm"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// Network is the sockets of one process. It is driven under the owner's lock.
type Network struct {
	own    *socket
	ports  map[cm.Port]*portSockets
	byFD   map[int32]*socket
	epoll  int
	events [16]unix.EpollEvent
	buffer [cm.MessageSize + 1]byte
	oob    [256]byte
	turns  int
	cfg    Config
	door   door

	lastErr error // of the last datagram of the connection manager
	lastTo  netip.AddrPort
}

// socket is one of the connection manager's.
type socket struct {
	fd   int
	port cm.Port
	at   netip.Addr // it is bound to; invalid: to all addresses
	v6   bool
	sent bool // something was
}

// portSockets are the sockets of a port: one for all addresses, or one for each adapter's address.
type portSockets struct {
	users   int // listeners at qualifiers that share the port, and requests that hold it
	sockets []*socket
}

// of is the socket that receives what comes to an address; nil: none does.
func (p *portSockets) of(at netip.Addr) *socket {
	for _, s := range p.sockets {
		if !s.at.IsValid() || s.at == at {
			return s
		}
	}
	return nil
}

// Config is what Open needs to know.
type Config struct {
	Clock   transport.Clock
	Timeout time.Duration // after which a silent peer is gone
	NoShm   bool          // data between processes of a node goes over UDP
	Route   shm.Route     // that is forced for data that is too long for slots
	// Drop loses datagrams of data, for tests; nil: none.
	Drop func(packet []byte) bool
}

// Open makes the network, with a socket of its own.
func Open(cfg Config) (*Network, error) {
	n := &Network{ports: map[cm.Port]*portSockets{}, byFD: map[int32]*socket{}, epoll: -1, cfg: cfg,
		door: door{fd: -1}}
	var err error
	if n.epoll, err = descriptor.Own(descriptor.Epoll()); err == nil {
		n.own, err = n.open(0, cm.Own, netip.Addr{})
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("uDAPL's sockets: %w", err)
	}
	return n, nil
}

// open makes a socket at an address, or a socket that both kinds of addresses reach, where the kernel has
// both.
func (n *Network) open(port uint16, as cm.Port, at netip.Addr) (*socket, error) {
	var s *socket
	var err error
	switch {
	case at.Is4():
		s, err = n.bind(unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: at.As4()})
	case at.IsValid():
		s, err = n.bind(unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: at.As16()})
	default:
		s, err = n.bind(unix.AF_INET6, &unix.SockaddrInet6{Port: int(port)})
		if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) {
			s, err = n.bind(unix.AF_INET, &unix.SockaddrInet4{Port: int(port)})
		}
	}
	if err != nil {
		return nil, err
	}
	s.port, s.at = as, at
	n.byFD[int32(s.fd)] = s
	return s, nil
}

// receiveBuffer is how many bytes may wait in a socket; the kernel counts some 1,300 for a message.
const receiveBuffer = 4 << 20

func (n *Network) bind(family int, a unix.Sockaddr) (*socket, error) {
	fd, err := descriptor.Own(descriptor.Socket(family,
		unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0))
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &socket{fd: fd, v6: family == unix.AF_INET6}
	set := func(level, option, value int) {
		if err == nil {
			err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, option, value))
		}
	}
	if s.v6 {
		set(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		set(unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
		set(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	}
	// Of a burst of connections nothing should be lost: the kernel gives what it allows.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	set(unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	set(unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, a))
	}
	if err == nil {
		err = os.NewSyscallError("epoll_ctl", n.watch(fd))
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return s, nil
}

func (n *Network) watch(fd int) error {
	return unix.EpollCtl(n.epoll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Listen implements dat.Network.
func (n *Network) Listen(port cm.Port, at netip.Addr) error {
	p := n.ports[port]
	if p == nil {
		p = &portSockets{}
	}
	if at = at.Unmap(); p.of(at) == nil {
		s, err := n.open(uint16(port), port, at)
		if at.IsValid() && errors.Is(err, unix.EADDRNOTAVAIL) { // an adapter's, and not the kernel's
			s, err = n.open(uint16(port), port, netip.Addr{})
		}
		if errors.Is(err, unix.EADDRINUSE) {
			s, err = n.giveUpOwn(port, err)
		}
		if err != nil {
			return err
		}
		p.sockets = append(p.sockets, s)
		n.ports[port] = p
	}
	p.users++
	return nil
}

// giveUpOwn is the process's own socket, for listeners at its port, which the kernel has chosen: it
// may be that of any qualifier. Once something was sent from it answers come there, and it stays.
func (n *Network) giveUpOwn(port cm.Port, inUse error) (*socket, error) {
	a, err := unix.Getsockname(n.own.fd)
	if err != nil || n.own.sent || addrPort(a).Port() != uint16(port) {
		return nil, inUse
	}
	next, err := n.open(0, cm.Own, netip.Addr{})
	if err != nil {
		return nil, err
	}
	listener := n.own
	n.own, listener.port = next, port
	return listener, nil
}

// Unlisten implements dat.Network.
func (n *Network) Unlisten(port cm.Port) {
	p := n.ports[port]
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(n.ports, port)
		for _, s := range p.sockets {
			n.closeSocket(s)
		}
	}
}

// Hold implements cm.Outlet: requests that arrived at the port are to be answered from it.
func (n *Network) Hold(port cm.Port) {
	if p := n.ports[port]; p != nil {
		p.users++
	}
}

// Release implements cm.Outlet.
func (n *Network) Release(port cm.Port) { n.Unlisten(port) }

func (n *Network) closeSocket(s *socket) {
	delete(n.byFD, int32(s.fd))
	unix.Close(s.fd)
}

// Close implements dat.Network.
func (n *Network) Close() {
	for _, s := range n.byFD {
		unix.Close(s.fd)
	}
	n.closeDoor()
	if n.epoll >= 0 {
		unix.Close(n.epoll)
	}
	n.epoll, n.byFD, n.ports = -1, nil, nil
}

// Descriptors implements dat.Network.
func (n *Network) Descriptors() []int { return []int{n.epoll} }

// Send implements cm.Outlet. A datagram that the kernel does not take is lost, as any may be.
func (n *Network) Send(by cm.Port, local netip.Addr, to netip.AddrPort, b []byte) {
	s := n.own
	if by != cm.Own {
		s = nil
		if p := n.ports[by]; p != nil {
			s = p.of(local.Unmap())
		}
	}
	if s == nil {
		return
	}
	s.sent = true
	n.lastErr, n.lastTo = unix.Sendmsg(s.fd, b, s.from(local), s.sockaddr(to),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), to
}

// LastError implements dat.Reasoner.
func (n *Network) LastError(to netip.AddrPort) error {
	if n.lastTo != to {
		return nil
	}
	return n.lastErr
}

// from is the control message that makes a datagram come from an address.
func (s *socket) from(local netip.Addr) []byte {
	local = local.Unmap()
	switch {
	case !local.IsValid() || local.IsUnspecified():
		return nil
	case local.Is4():
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: local.As4()})
	case s.v6:
		return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: local.As16()})
	}
	return nil
}

func (s *socket) sockaddr(a netip.AddrPort) unix.Sockaddr {
	if s.v6 {
		return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet4{Addr: a.Addr().Unmap().As4(), Port: int(a.Port())}
}

func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// idleTurns is how many calls of Receive share one look, which costs a system call.
const idleTurns = 16

// Woken implements dat.Network.
func (n *Network) Woken() { n.turns = 0 }

// Receive implements dat.Network.
func (n *Network) Receive(max int, m dat.Arrivals) (got int) {
	if n.turns--; n.turns > 0 {
		return 0
	}
	n.turns = idleTurns
	ready, err := unix.EpollWait(n.epoll, n.events[:], 0)
	if err != nil {
		return 0
	}
	for _, e := range n.events[:ready] {
		s := n.byFD[e.Fd]
		if s == nil {
			got += n.receiveNode(e.Fd, m)
		}
		for s != nil && n.byFD[e.Fd] == s && got < max && n.receive(s, m) {
			got++
		}
		if s != nil && n.byFD[e.Fd] == s && e.Events&unix.EPOLLERR != 0 {
			n.receiveError(s, m)
		}
	}
	if got > 0 {
		n.turns = 0
	}
	return got
}

// receive takes one datagram; false: there is none.
func (n *Network) receive(s *socket, m dat.Arrivals) bool {
	length, control, _, from, err := unix.Recvmsg(s.fd, n.buffer[:], n.oob[:], unix.MSG_DONTWAIT)
	if err != nil {
		return err != unix.EAGAIN && err != unix.EBADF && n.receiveError(s, m)
	}
	m.OnPacket(s.port, localOf(n.oob[:control]), addrPort(from), n.buffer[:length])
	return true
}

// receiveError takes what the kernel says of a datagram that was sent; false: nothing.
func (n *Network) receiveError(s *socket, m dat.Arrivals) bool {
	_, _, _, to, err := unix.Recvmsg(s.fd, n.buffer[:], n.oob[:],
		unix.MSG_DONTWAIT|unix.MSG_ERRQUEUE)
	if err != nil {
		return false
	}
	if s == n.own {
		m.OnRefused(addrPort(to))
	}
	return true
}

// localOf is the address that a datagram has come to.
func localOf(control []byte) netip.Addr {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return netip.Addr{}
	}
	for _, c := range messages {
		switch {
		case c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_PKTINFO &&
			len(c.Data) >= 12:
			return netip.AddrFrom4([4]byte(c.Data[8:12]))
		case c.Header.Level == unix.IPPROTO_IPV6 && c.Header.Type == unix.IPV6_PKTINFO &&
			len(c.Data) >= 16:
			return netip.AddrFrom16([16]byte(c.Data[:16])).Unmap()
		}
	}
	return netip.Addr{}
}

// LocalFor implements dat.Network.
func (n *Network) LocalFor(to netip.Addr) (netip.Addr, error) {
	to = to.Unmap()
	if !to.IsValid() || to.IsUnspecified() || to.IsMulticast() {
		return netip.Addr{}, unix.EADDRNOTAVAIL
	}
	s := socket{v6: to.Is6()}
	family := unix.AF_INET
	if s.v6 {
		family = unix.AF_INET6
	}
	fd, err := descriptor.Socket(family, unix.SOCK_DGRAM, 0)
	if err != nil {
		return netip.Addr{}, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, s.sockaddr(netip.AddrPortFrom(to, 1))); err != nil {
		return netip.Addr{}, err
	}
	a, err := unix.Getsockname(fd)
	return addrPort(a).Addr(), err
}

// Link implements dat.Network.
func (n *Network) Link(local netip.Addr, c dat.LinkConfig) (transport.Link, netip.AddrPort, error) {
	l, err := udp.New(udp.Config{Locals: []udp.Local{{Addr: netip.AddrPortFrom(local, 0)}},
		Clock: n.cfg.Clock, NumTasks: c.Peers, Level: wire.LevelCookie, Partition: "dat",
		Timeout: n.cfg.Timeout, Pair: c.Pair, PeerFailed: c.Failed, Drop: n.cfg.Drop})
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	for _, fd := range l.Descriptors() {
		if err := n.watch(fd); err != nil {
			l.Close()
			return nil, netip.AddrPort{}, os.NewSyscallError("epoll_ctl", err)
		}
	}
	return l, l.Locals()[0], nil
}

// Interfaces are the network interfaces that are up, and their addresses.
func Interfaces() (list []dat.Interface) {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil &&
				!p.Addr().IsLinkLocalUnicast() {
				list = append(list, dat.Interface{Name: i.Name, Addr: p.Addr(),
					Hardware: i.HardwareAddr, MTU: i.MTU,
					Running: i.Flags&net.FlagRunning != 0})
			}
		}
	}
	return list
}

var _ dat.Network = (*Network)(nil)
