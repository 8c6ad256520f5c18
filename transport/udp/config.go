package udp

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"lapi/transport"
	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/wire"
)

// Local is an address of this task.
type Local struct {
	Addr netip.AddrPort // where its socket is bound; port 0: the kernel chooses
	// the interface that its packets must use; empty: any. Of the Link, not the Machine
	Device string
}

// Config has the settings of a Link. Zero values mean the defaults of params.go where there is one.
type Config struct {
	Locals []Local         // this task's addresses, 1 to MaxPaths
	Clock  transport.Clock // of the Link, not the Machine; nil: the monotonic clock
	// Plain: each packet is a system call of its own; else the kernel is given, and gives,
	// several in one where it can. Of the Link.
	Plain bool
	// Drop, if not nil, is asked for each packet going out whether to lose it: for tests of the
	// Link.
	Drop func(packet []byte) bool

	Task     int // this task; 0 <= Task < NumTasks
	NumTasks int
	// Key is the job key; without one the handshake proves only that the peer receives packets
	// sent to its address. It must stay as it is until Close.
	Key   []byte
	Level wire.Level // what a packet's check covers; equal in all tasks
	// Pair is for tasks that come and go, and belong to no job: peers of one task know it by
	// different numbers, which they have agreed on, and each pair has a key of its own. It is
	// asked in Connect; nil: Task and Key. The number takes the place of Task for that peer.
	Pair      func(ep transport.Endpoint) (number int, key []byte)
	Partition string // packets of another partition are dropped
	Instance  int    // LAPI instance; likewise
	// Incarnation is the generation of this task: it tells this use of the address from all
	// earlier ones; 0: a random one.
	Incarnation uint64
	// Round tells sessions at fixed addresses apart, where peers cannot know each other's
	// generation beforehand: a task in its second LAPI_Init must not connect to a task that is
	// still in its first. Hellos of another round are dropped. A Link at a fixed port counts by
	// itself.
	Round uint32

	// bytes of a datagram, MinPacketSize to 65536, of which wire.MaxDatagram are sent; 0: as
	// many as the path takes in one piece
	PacketSize int
	// Discover: each path's packet size is found, PacketSize at the most; packets may not be
	// cut on their way. Else PacketSize is that of all. New sets it if PacketSize is 0.
	Discover bool
	// bytes that may wait at this task's socket, for peers' windows; the Link asks the kernel
	// for this size (0: for as much as it gives)
	ReceiveBuffer int

	AckThreshold       int           // 1 to MaxAckThreshold packets
	PollingInterval    time.Duration // bounds every timer of acknowledgement and retransmission
	RetransmitInterval int           // calls of Turn between two runs of that logic, at most
	// retransmit buffers for data that does not fit a packet's own memory
	RexmitBufCount int
	RexmitBufSize  int // bytes of data that one holds
	// Send copies up to CopyMax bytes of data and returns Done; -1: none
	CopyMax int

	// a peer that is silent for this long, while something is due from it, has failed
	Timeout   time.Duration
	NoTimeout bool // never
	// PeerFailed is called once for such a peer, from inside OnTimeout; everything queued for
	// it has completed or will in Complete. err is transport.ErrAdaptersDown if this task could
	// send by none of its addresses, transport.ErrUnreachable if none of several paths to the
	// peer worked, transport.ErrTimeout if it was silent on the only one. May be nil.
	PeerFailed func(ep transport.Endpoint, err error)
	// Unanswered is called, from inside OnTimeout and once a session, for a peer that has not
	// answered this task's Hellos for 5 s. May be nil.
	Unanswered func(ep transport.Endpoint, s Silence)
	// Expected says whether the owner waits for something from ep that is no acknowledgement;
	// see Machine.Expect. Nil: it never does.
	Expected func(ep transport.Endpoint) bool
	// PathChanged is called when one of several paths to ep is marked down because it does not
	// work (used is false), or reinstated. May be nil.
	PathChanged func(ep transport.Endpoint, path Path, used bool)

	// SendMaxChanged is called when the length changes of messages, header and data, that go to
	// ep in one packet: sendMax bytes from now on, at most Limits().SendMax, which is the value
	// at the beginning. Longer messages are taken as before, and are cut again, which costs
	// more. It may be called inside any method. May be nil.
	SendMaxChanged func(ep transport.Endpoint, sendMax int)

	// Disagreement is called from inside OnPacket, once a session, for a peer whose Hello fits
	// but for its level, theirs, or, if that is the same, its key. Nothing proves that the
	// Hello is the peer's own. There will be no session with it. May be nil.
	Disagreement func(ep transport.Endpoint, theirs wire.Level)

	// law makes the congestion law of a path; nil: the usual one.
	law func(packetSize int) congestion.Controller

	// Random is a source of unpredictable numbers; nil: the kernel's. For simulations.
	Random func() uint64
}

func systemRandom() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails: the run-time ends the process if the kernel has no randomness
	return binary.LittleEndian.Uint64(b[:])
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// complete fills in defaults and checks ranges.
func (c *Config) complete() error {
	orDefault(&c.PacketSize, wire.MaxDatagram)
	if c.PacketSize > wire.MaxDatagram && c.PacketSize <= 1<<16 {
		c.PacketSize = wire.MaxDatagram
	}
	orDefault(&c.ReceiveBuffer, 1<<18)
	orDefault(&c.AckThreshold, DefaultAckThreshold)
	orDefault(&c.PollingInterval, DefaultPollingInterval)
	orDefault(&c.RetransmitInterval, DefaultRetransmitInterval)
	orDefault(&c.RexmitBufCount, DefaultRexmitBufCount)
	orDefault(&c.RexmitBufSize, DefaultRexmitBufSize)
	orDefault(&c.CopyMax, c.RexmitBufSize)
	orDefault(&c.Timeout, DefaultTimeout)
	if c.law == nil {
		c.law = congestion.New
	}
	if c.Random == nil {
		c.Random = systemRandom
	}
	for c.Incarnation == 0 {
		c.Incarnation = c.Random()
	}
	wrong := ""
	switch {
	case len(c.Locals) > MaxPaths:
		wrong = fmt.Sprintf("%d addresses", len(c.Locals))
	case c.NumTasks < 1 || c.NumTasks > wire.MaxTask+1 || c.Task < 0 || c.Task >= c.NumTasks:
		wrong = fmt.Sprintf("task %d of %d", c.Task, c.NumTasks)
	case c.PacketSize < MinPacketSize || c.PacketSize > wire.MaxDatagram:
		wrong = fmt.Sprintf("packet size %d", c.PacketSize)
	case c.AckThreshold < 1 || c.AckThreshold > MaxAckThreshold:
		wrong = fmt.Sprintf("acknowledgement threshold %d", c.AckThreshold)
	case c.PollingInterval < 0 || c.RetransmitInterval < 0 || c.Timeout < 0:
		wrong = "negative interval"
	case c.RexmitBufCount < 0 || c.RexmitBufSize < 0 || c.ReceiveBuffer < 0:
		wrong = "negative buffer size"
	case c.Level > wire.LevelNone || c.Level == wire.LevelMAC && len(c.Key) == 0:
		wrong = fmt.Sprintf("%v with a key of %d bytes", c.Level, len(c.Key))
	case c.Instance < 0 || c.Instance > 0xffff:
		wrong = fmt.Sprintf("instance %d", c.Instance)
	default:
		return nil
	}
	return fmt.Errorf("udp: %s: %w", wrong, transport.ErrBadParam)
}

// EncodeAddress makes the address to Connect to a peer of which only the sockets' addresses are
// known, as in a job whose tasks were started by hand: one address for each path, at least one.
// Link.Address also names the generation.
func EncodeAddress(addrs ...netip.AddrPort) []byte { return encodeAddress(addrs, 0) }

func encodeAddress(addrs []netip.AddrPort, incarnation uint64) []byte {
	b := make([]byte, 0, 8+len(addrs)*(1+16+2))
	b = binary.LittleEndian.AppendUint64(b, incarnation)
	for _, a := range addrs {
		ip := a.Addr().Unmap()
		b = append(b, byte(ip.BitLen()/8))
		b = append(b, ip.AsSlice()...)
		b = binary.LittleEndian.AppendUint16(b, a.Port())
	}
	return b
}

// DecodeAddress takes such bytes apart; the generation is 0 if they do not name one. The error
// wraps transport.ErrBadParam.
func DecodeAddress(b []byte) (addrs []netip.AddrPort, incarnation uint64, err error) {
	malformed := fmt.Errorf("udp: malformed address of %d bytes: %w", len(b), transport.ErrBadParam)
	if len(b) < 8 {
		return nil, 0, malformed
	}
	incarnation = binary.LittleEndian.Uint64(b)
	for b = b[8:]; len(b) > 0; {
		n := 1 + int(b[0])
		if n != 1+4 && n != 1+16 || len(b) < n+2 || len(addrs) == MaxPaths {
			return nil, 0, malformed
		}
		ip, _ := netip.AddrFromSlice(b[1:n])
		ip = ip.Unmap()
		port := binary.LittleEndian.Uint16(b[n:])
		if port == 0 || ip.IsUnspecified() || ip.IsMulticast() {
			return nil, 0, malformed
		}
		addrs, b = append(addrs, netip.AddrPortFrom(ip, port)), b[n+2:]
	}
	if addrs == nil {
		return nil, 0, malformed
	}
	return addrs, incarnation, nil
}
