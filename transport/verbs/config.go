package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/paths"
	"lapi/transport/verbs/internal/wire"
)

// PortsMax is how many ports a link may be over.
const PortsMax = wire.PortsMax

// Config has the settings and parts of a Link.
type Config struct {
	Adapter ibv.Device // the Link closes it
	// More are further ports of this task, of the same adapter or of others, PortsMax with
	// Adapter. Long puts and gets go over all at once; messages go over one, and over another
	// when that fails. The Link closes them.
	More []ibv.Device
	Task int // this task; its peers give it as Endpoint to Connect
	// Key is the job's: it proves Hellos. Without one, the addresses prove them.
	Key   []byte
	Clock transport.Clock // nil: the system's
	// Timeout is how long a peer may be silent, in nanoseconds, while something waits for it;
	// 0: 150 s.
	Timeout int64
	// NoTimeout: no peer is given up for its silence.
	NoTimeout bool
	// PeerFailed is called, once, for a peer that is given up, while the operations under way with it
	// end: ErrTimeout if it was silent for Timeout, ErrAdaptersDown if this task's adapters are
	// gone, else ErrUnreachable. Not of a peer that was disconnected, or has left. May be nil.
	PeerFailed func(ep transport.Endpoint, err error)
	// Unanswered is called, inside Progress and once a peer, if the peer has not answered this
	// task's Hellos for 5 s. It must not call the Link. May be nil.
	Unanswered func(ep transport.Endpoint, s Silence)
	// Event is called, inside Progress, Arm or Disarm, with each event of an adapter; may be nil. It
	// must not call the Link.
	Event func(e ibv.Event, of ibv.Info)
	// RequestFailed is called, inside any method and once a queue pair, when a request or a receive
	// with ep has failed. The operation goes on over another queue pair. It must not call the Link.
	// May be nil.
	RequestFailed func(ep transport.Endpoint, f ibv.Failure)
	// Expected says whether the owner waits for something from ep that is no answer to an
	// operation of the link; see Expect. Nil: it never does.
	Expected func(ep transport.Endpoint) bool
	// BulkMin is the length from which on puts and gets are RDMA; 0: 16 KiB.
	BulkMin uint64
	// RegistrationLimit is how many bytes of user memory each port may have registered at one
	// time, in use or kept for the next transfer; 0: 1 GiB. Data beyond it are copied.
	RegistrationLimit uint64
	// KeepNoRegistrations has each transfer register its memory anew.
	KeepNoRegistrations bool
	keyMax              uint64 // of tests; 0: keyMax
	// Say is called once, inside New, with why no registration can be kept; may be nil.
	Say func(text string)
	// Changed is called, inside Progress, Arm or Disarm, when a port goes down or up, or is gone;
	// may be nil. It must not call the Link.
	Changed func(PortChange)
	// Reopen is asked, inside Progress, for a port whose adapter is gone, by PortChange.Index:
	// after a second at first, at last each minute. It opens the same port of the same adapter,
	// which the Link then closes, or says why it cannot. It must not call the Link. Nil: no port
	// comes back.
	Reopen func(index int) (ibv.Device, error)
	// Moved is called, inside Progress, when a port was opened again and Address has changed: the
	// owner passes it to the other tasks, whose Link.Moved takes it in. It must not call this Link
	// but for Address. Nil: peers learn it by Hellos only, and not if all of their own ports were
	// opened again as well.
	Moved func()
	// Spared is called, inside any method, when packets to ep begin to go over the spare carrier, as
	// no adapter leads there, and when they go over an adapter again; may be nil. It must not
	// call the Link.
	Spared func(ep transport.Endpoint, spared bool)
}

// PortState is the state of a port.
type PortState = paths.State

// States of a port.
const (
	PortUp   = paths.Up
	PortDown = paths.Down // it may come up again
	PortGone = paths.Gone // the adapter has failed or was taken away; see Config.Reopen
)

// PortChange is a port with its new state, or with the reason why it stays PortGone. Index 0 is
// Config.Adapter; from 1 on Config.More.
type PortChange = paths.Change
