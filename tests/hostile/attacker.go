package hostile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport/udp/wire"
)

// loopback is where the jobs under attack are.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Attacker sends datagrams on the loopback interface. A forging attacker gives them any source
// port; that takes root. Not for concurrent use.
type Attacker struct {
	fd    int
	forge bool
	Sent  int // datagrams that the kernel took
	buf   [1 << 16]byte
}

const ipUDP = 20 + 8 // bytes of both headers

// NewAttacker returns an attacker. If forge it fails with unix.EPERM without the right to raw
// sockets.
func NewAttacker(forge bool) (*Attacker, error) {
	kind, protocol := unix.SOCK_DGRAM, 0
	if forge {
		kind, protocol = unix.SOCK_RAW, unix.IPPROTO_RAW
	}
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	return &Attacker{fd: fd, forge: forge}, nil
}

// Close closes the socket.
func (a *Attacker) Close() { unix.Close(a.fd) }

// Send sends b to a port of this host, from another if the attacker forges. A packet that the
// kernel refuses is not sent.
func (a *Attacker) Send(from, to uint16, b []byte) {
	packet := b
	if a.forge {
		packet = a.buf[:min(ipUDP+len(b), 65535)]
		clear(packet[:ipUDP])
		// the kernel fills in length and checksum
		packet[0], packet[8], packet[9] = 0x45, 64, unix.IPPROTO_UDP
		copy(packet[12:], loopback.AsSlice())
		copy(packet[16:], loopback.AsSlice())
		binary.BigEndian.PutUint16(packet[20:], from)
		binary.BigEndian.PutUint16(packet[22:], to)
		binary.BigEndian.PutUint16(packet[24:], uint16(len(packet)-20)) // a checksum of 0: none
		copy(packet[ipUDP:], b)
	}
	if unix.Sendto(a.fd, packet, 0, &unix.SockaddrInet4{Port: int(to),
		Addr: loopback.As4()}) == nil {
		a.Sent++
	}
}

// Rate calls send so often a second, in bursts of a millisecond, until the time is over.
func Rate(perSecond int, d time.Duration, send func()) {
	begin := time.Now()
	for sent := 0; ; {
		passed := time.Since(begin)
		if passed >= d {
			return
		}
		for ; sent < int(passed.Seconds()*float64(perSecond)); sent++ {
			send()
		}
		time.Sleep(time.Millisecond)
	}
}

// Forge makes a packet of a kind as origin would send it to target in a job of `tasks` tasks, valid
// except for the check, which is random: half the time it is well formed inside, too.
func Forge(r *rand.Rand, kind wire.Kind, tasks, origin, target int) []byte {
	if kind == wire.KindHello {
		h := wire.Hello{Level: wire.Level(r.IntN(4)), Flags: wire.Flags(r.IntN(16)),
			Task: uint32(origin), Target: uint32(target), NumTasks: uint32(tasks), Partition: r.Uint64(),
			Incarnation: r.Uint64(), Nonce: r.Uint64(), TargetIncarnation: r.Uint64(),
			TargetNonce: r.Uint64(), ReceiveBuffer: r.Uint32(), Round: r.Uint32N(3)}
		b := make([]byte, wire.HelloSize)
		h.Put(b, wire.HelloKey{})
		return b
	}
	b := make([]byte, wire.HeaderSize, wire.HeaderSize+256)
	h := wire.Header{Kind: kind, Flags: wire.Flags(r.IntN(16)), AckBlock: uint8(r.IntN(8)),
		Task: uint16(origin), Tx: uint16(r.Uint32()), Echo: uint16(r.Uint32()),
		Seq: wire.Seq(r.Uint32()), Ack: wire.Seq(r.Uint32()), Bits: r.Uint64()}
	h.Put(b)
	binary.LittleEndian.PutUint64(b[8:], r.Uint64()) // the check
	switch {
	case kind != wire.KindData:
		for range r.IntN(4) {
			b = append(b, make([]byte, wire.BlockSize)...)
			block := wire.Block{First: wire.Seq(r.Uint32()), Received: r.Uint64(),
				NotReady: r.Uint64()}
			block.Put(b[len(b)-wire.BlockSize:])
		}
	case r.IntN(2) == 0:
		b = append(b, make([]byte, wire.MessageSize+48+64)...)
		wire.PutMessage(b[wire.HeaderSize:], uint8(1+r.IntN(21)), 48, 64)
		noise(r, b[wire.HeaderSize+wire.MessageSize:])
	default:
		b = b[:wire.HeaderSize+r.IntN(200)]
		noise(r, b[wire.HeaderSize:])
	}
	return b
}

func noise(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// Capture listens to the loopback interface for datagrams between two ports, either way. It takes
// root.
type Capture struct {
	fd  int
	buf [1 << 17]byte
}

// Datagram is a captured datagram.
type Datagram struct {
	From, To uint16
	B        []byte
}

// NewCapture begins to listen.
func NewCapture() (*Capture, error) {
	const ip = 0x0008 // ETH_P_IP in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, ip)
	if err != nil {
		return nil, err
	}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100000})
	return &Capture{fd: fd}, nil
}

// Close ends it.
func (c *Capture) Close() { unix.Close(c.fd) }

// Take returns the next n datagrams between the two ports; fewer if the time is over before.
func (c *Capture) Take(n int, limit time.Duration, a, b uint16) (all []Datagram) {
	for end := time.Now().Add(limit); len(all) < n && time.Now().Before(end); {
		k, from, err := unix.Recvfrom(c.fd, c.buf[:], 0)
		if err != nil || k < ipUDP {
			continue
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue // comes once more, as it comes in
		}
		p := c.buf[:k]
		if p[0] != 0x45 || p[9] != unix.IPPROTO_UDP || binary.BigEndian.Uint16(p[6:])&0x3fff != 0 {
			continue // fragments
		}
		d := Datagram{binary.BigEndian.Uint16(p[20:]), binary.BigEndian.Uint16(p[22:]),
			append([]byte(nil), p[ipUDP:]...)}
		if d.From == a && d.To == b || d.From == b && d.To == a {
			all = append(all, d)
		}
	}
	return all
}

func (d Datagram) String() string {
	return fmt.Sprintf("%d bytes from %d to %d", len(d.B), d.From, d.To)
}
