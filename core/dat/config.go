package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/coll"
	"lapi/core/job/wire"
	"lapi/transport"
	"lapi/transport/layout"
)

// Host is what the library's owner does for it: what only C can.
type Host interface {
	// Changed: what a thread in C may wait for has changed.
	Changed()
	// Message prints a line for the user.
	Message(text string)
	// Watch makes a thread that sleeps for the library wake up when a descriptor is readable;
	// Unwatch ends that.
	Watch(fd int)
	Unwatch(fd int)
}

// Network is the process's sockets.
type Network interface {
	cm.Outlet
	// Listen opens the port of a qualifier. Close gives it back; a port may be open several
	// times.
	Listen(port cm.Port) error
	Unlisten(port cm.Port)
	// Receive gives what has come to OnPacket and OnRefused, at most max datagrams.
	Receive(max int, m Arrivals) int
	// Woken makes the next Receive look at the sockets, which it does not each time.
	Woken()
	// LocalFor is the address of this process by which one is reached.
	LocalFor(to netip.Addr) (netip.Addr, error)
	// Link opens a link for data at an address of this process.
	Link(local netip.Addr, c LinkConfig) (transport.Link, netip.AddrPort, error)
	// Door lets processes of this node and user come by lines, under this process's name; an
	// error: it cannot be, or is not wanted.
	Door(name [16]byte) error
	// Dial opens a line to the process of that name; an error: there is none on this node. It
	// never waits.
	Dial(name [16]byte) (Line, error)
	// NodeLink opens one end, task me of 0 and 1, of a link between two processes of this node.
	// runs says whether the other process lives, and is not stopped.
	NodeLink(me int, runs func() bool, failed func(ep transport.Endpoint, err error)) (transport.Link,
		error)
	// CloseLink closes it.
	CloseLink(link transport.Link)
	Descriptors() []int
	Close()
}

// Arrivals is what a Network tells of.
type Arrivals interface {
	OnPacket(at cm.Port, local netip.Addr, from netip.AddrPort, b []byte)
	OnRefused(to netip.AddrPort)
	// OnLine: m has come by a line. Files that are not taken out of it are closed.
	OnLine(line Line, m *wire.Message)
	// OnLineEnd: the other process has closed it, or is gone. The line is closed.
	OnLineEnd(line Line)
}

// LinkConfig is what a link for data must know.
type LinkConfig struct {
	Peers  int
	Pair   func(ep transport.Endpoint) (number int, key []byte)
	Failed func(ep transport.Endpoint, err error)
}

// Config is what New needs.
type Config struct {
	Host    Host
	Network func() (Network, error) // opens the sockets, with the first adapter
	// Interfaces are the addresses of the network interfaces that are up.
	Interfaces func() []Interface
	Self       func() (transport.Link, error)
	// Adapters are the RDMA adapters; nil: there are none.
	Adapters Adapters
	// Attention prints a line that a user needs whatever MP_INFOLEVEL is; nil: nobody does.
	Attention func(text string)
	Random    func() uint64
	Clock     transport.Clock
	Kernel    coll.Kernel // does reductions
	// LinkErrors are what a network interface has counted; false: it cannot be read. Nil: none
	// can.
	LinkErrors func(device string) (LinkErrors, bool)
	Shared     []byte // the key file's
	Timeout    int64  // ns after which a silent peer is gone
	// Lane is what C's fast lane shares with this library; nil: there is none.
	Lane *layout.DatLane
}
