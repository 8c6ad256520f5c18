package adapters

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"slices"
)

// A node as bytes, little-endian:
//
//	8  namespace
//	1  how many interfaces follow, each:
//	   1  length of the name    name
//	   1  flags
//	   4  MTU
//	   1  how many addresses follow, each:
//	      1  family, 4 or 6
//	      1  length of the subnet's prefix, in bits
//	      4 or 16  address

// Bounds of what is written.
const (
	maxInterfaces = 32
	maxAddresses  = 8 // of an interface
)

// Flags of an interface; one at least is set.
const (
	flagUp = 1 << iota
	flagLate
	allFlags = flagUp | flagLate
)

var errCode = errors.New("malformed list of network interfaces")

// Append writes n to the end of b: of its interfaces those that are no loopback and are up, or will
// be once they have a carrier. The first 32 of them are written, those with an address that is not
// link-local before others, and of each the first 8 addresses. So a node takes 5,321 bytes at most.
//
// A choice from nodes that were read by Decode knows nothing of the rest. Tasks whose choices must
// agree must all use what Decode gives, for their own node too. Nodes with one namespace need no
// such choice: List finds its loopback as well.
func (n Node) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, n.Namespace)
	all := n.worthTelling()
	b = append(b, byte(len(all)))
	for _, i := range all {
		b = i.append(b)
	}
	return b
}

// worthTelling are the interfaces that Append writes, in n's order.
func (n Node) worthTelling() (all []Interface) {
	told, left := make([]bool, len(n.Interfaces)), maxInterfaces
	for _, rank := range []int{withNetwork, linkLocalOnly, noAddress} {
		for k, i := range n.Interfaces {
			usable := (i.Up || i.Late) && !i.Loopback && ValidDevice(i.Name)
			if usable && i.rank() == rank && left > 0 {
				told[k] = true
				left--
			}
		}
	}
	for k, i := range n.Interfaces {
		if told[k] {
			all = append(all, i)
		}
	}
	return all
}

// Ranks of interfaces. Hosts of containers have many that no choice takes.
const (
	withNetwork = iota
	linkLocalOnly
	noAddress
)

func (i Interface) rank() int {
	switch {
	case len(i.Addrs) == 0:
		return noAddress
	case slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool {
		return !p.Addr().IsLinkLocalUnicast()
	}):
		return withNetwork
	}
	return linkLocalOnly
}

func (i Interface) append(b []byte) []byte {
	b = append(b, byte(len(i.Name)))
	b = append(b, i.Name...)
	var flags byte
	if i.Up {
		flags |= flagUp
	}
	if i.Late {
		flags |= flagLate
	}
	b = append(b, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(min(max(i.MTU, 0), math.MaxInt32)))
	at, count := len(b), 0
	b = append(b, 0)
	for _, p := range i.Addrs {
		a := p.Addr()
		if count == maxAddresses || !p.IsValid() || a.Is4In6() {
			continue
		}
		family := byte(4)
		if a.Is6() {
			family = 6
		}
		b = append(b, family, byte(p.Bits()))
		b = append(b, a.AsSlice()...)
		count++
	}
	b[at] = byte(count)
	return b
}

// Decode reads what Append has written at the beginning of b, and returns what follows it. It does
// not trust b: it refuses bytes that Append does not write.
func Decode(b []byte) (n Node, rest []byte, err error) {
	c := cursor{b: b}
	n.Namespace = binary.LittleEndian.Uint64(c.take(8))
	count := c.byte()
	if count > maxInterfaces {
		c.bad = true
	}
	for ; count > 0 && !c.bad; count-- {
		n.Interfaces = append(n.Interfaces, c.netInterface())
	}
	if c.bad {
		return Node{}, nil, errCode
	}
	return n, c.b, nil
}

// cursor reads bytes. Once bad it gives zeros.
type cursor struct {
	b   []byte
	bad bool
}

// take returns the next n bytes, of which b has as many unless it is bad.
func (c *cursor) take(n int) []byte {
	if c.bad = c.bad || n > len(c.b); c.bad {
		return make([]byte, n)
	}
	taken := c.b[:n]
	c.b = c.b[n:]
	return taken
}

func (c *cursor) byte() byte { return c.take(1)[0] }

func (c *cursor) netInterface() (i Interface) {
	i.Name = string(c.take(int(c.byte())))
	flags := c.byte()
	i.Up, i.Late = flags&flagUp != 0, flags&flagLate != 0
	mtu, count := binary.LittleEndian.Uint32(c.take(4)), c.byte()
	if !ValidDevice(i.Name) || flags == 0 || flags&^allFlags != 0 || mtu > math.MaxInt32 ||
		count > maxAddresses {
		c.bad = true
	}
	i.MTU = int(mtu)
	for ; count > 0 && !c.bad; count-- {
		i.Addrs = append(i.Addrs, c.prefix())
	}
	return i
}

func (c *cursor) prefix() netip.Prefix {
	family, bits := c.byte(), int(c.byte())
	var a netip.Addr
	switch family {
	case 4:
		a = netip.AddrFrom4([4]byte(c.take(4)))
	case 6:
		a = netip.AddrFrom16([16]byte(c.take(16)))
	}
	p := netip.PrefixFrom(a, bits)
	if !p.IsValid() || a.Is4In6() {
		c.bad = true
	}
	return p
}
