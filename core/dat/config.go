package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/coll"
	"lapi/core/job/wire"
	"lapi/transport"
	"lapi/transport/ibv"
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
	// Listen opens the port of a qualifier at an address of this process; invalid: at all of
	// them. Unlisten gives it back; a port may be open several times.
	Listen(port cm.Port, at netip.Addr) error
	Unlisten(port cm.Port)
	// Receive passes arrived datagrams to OnPacket and OnRefused, at most max.
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
	// Within opens both ends of such a link within this process, connected. failed reports
	// that end me has failed.
	Within(failed func(me int)) ([2]transport.Link, error)
	// CloseLink closes it.
	CloseLink(link transport.Link)
	Descriptors() []int
	Close()
}

// Arrivals takes what arrives at a Network.
type Arrivals interface {
	OnPacket(at cm.Port, local netip.Addr, from netip.AddrPort, b []byte)
	OnRefused(to netip.AddrPort)
	// OnLine: m has come by a line. Files that are not taken out of it are closed.
	OnLine(line Line, m *wire.Message)
	// OnLineEnd: the other process has closed it, or is gone. The line is closed.
	OnLineEnd(line Line)
}

// Line is a connection to another process of this node and this user.
type Line interface {
	// Send sends a message. Its files stay the sender's. False: it cannot go, and never will.
	Send(m wire.Message) bool
	// Runs says whether the process at the other end is known to live, and is not stopped.
	Runs() bool
	// Watched says whether OnLineEnd reports the end of that process, even if others have the
	// line open.
	Watched() bool
	Close()
}

// Adapters are the RDMA adapters of this machine.
type Adapters interface {
	// Find is the address of the adapter that a name means: of an adapter, of a network interface,
	// or an address itself; false: it means none.
	Find(name string) (netip.Addr, bool)
	// Open opens it. The error says why it cannot be.
	Open(addr netip.Addr) (ibv.Adapter, error)
	// OpenPort opens a port of an adapter that is open once more. Device.Files report nothing of what
	// the adapter's other users do.
	OpenPort(port ibv.Info) (ibv.Device, error)
	// Look is the address of a function of C's, int (*)(void), that says whether some device has
	// completions, or should be asked for other events; 0: there is none, and core asks.
	Look() uintptr
}

// LinkConfig is what a link for data must know.
type LinkConfig struct {
	Peers  int
	Pair   func(ep transport.Endpoint) (number int, key []byte)
	Failed func(ep transport.Endpoint, err error)
}

// Interface is one address of a network interface.
type Interface struct {
	Name     string
	Addr     netip.Addr
	Hardware []byte // the interface's hardware address; empty: it has none
	MTU      int    // bytes
	Running  bool   // it has a carrier
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
	// Debug prints a line about a failure of an adapter; nil: it is not wanted.
	Debug  func(text string)
	Random func() uint64
	Clock  transport.Clock
	Kernel coll.Kernel // does reductions
	// Processors names the processors that this process runs on: processes with the same number
	// compete for them. Nil, or 0: it is not known.
	Processors func() uint16
	// LongDouble is how many bits the significand of C's long double has. Members with other ones
	// do not reduce it.
	LongDouble uint8
	// LinkErrors are what a network interface has counted; false: it cannot be read. Nil: none
	// can.
	LinkErrors func(device string) (LinkErrors, bool)
	Shared     []byte // the key file's
	Timeout    int64  // ns after which a silent peer is gone
	// Lane is what C and this library share; nil: there is none. Offload: it is C's own, which then
	// has connections between processes of the node.
	Lane    *layout.DatLane
	Offload bool
}
