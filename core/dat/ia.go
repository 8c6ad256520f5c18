package dat

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// IA is an interface adapter that a program has opened.
type IA struct {
	base
	Name  string
	Async *EVD // for asynchronous errors
	Addr  netip.Addr

	library   *Library
	engine    engine
	limits    Limits
	contexts  *contexts // the library's
	freed     uint64    // changes when memory that was looked up may be another's
	objects   []Object
	query     bool      // by dat_ib_open_query
	port      Interface // whose counts and attributes it shows
	addresses map[netip.Addr]*memoryBlock
	table     uint64 // of every slot
	counters  counters
	stopped   bool // the connection manager's counters
	errors    linkCount
	members   []*Member
}

// add gives an object of the adapter a handle.
func (ia *IA) add(kind Kind, o Object) bool {
	if !ia.library.handles.add(kind, ia, o) {
		return false
	}
	ia.objects = append(ia.objects, o)
	return true
}

// remove makes an object's handle useless.
func (ia *IA) remove(o Object) {
	if i := slices.Index(ia.objects, o); i >= 0 {
		last := len(ia.objects) - 1
		ia.objects[i] = ia.objects[last]
		ia.objects[last] = nil
		ia.objects = ia.objects[:last]
	}
	ia.library.handles.remove(o)
	ia.library.host.Changed() // for a thread that waits for it, and may be asleep by now
}

// Device is the name of the network interface.
func (ia *IA) Device() string { return ia.port.Name }

// asyncError reports to the consumer an error that belongs to no call.
func (ia *IA) asyncError(number EventNumber, h Handle, reason uint32) {
	ia.count(iaAsyncError)
	if ia.Async != nil {
		ev := asyncEvent(number, h, reason)
		ia.Async.post(&ev)
	}
}

// counted implements counted.
func (ia *IA) counted() (*counters, int) {
	ia.readLinks()
	for _, o := range ia.objects {
		if e, ok := o.(*EVD); ok {
			e.collectCounters()
		}
	}
	return &ia.counters, numIACounters
}

// Reasons of asynchronous errors of an SRQ.
const asyncSRQLow = 2

// address is where the sockaddr of an address is, as long as the adapter is open.
func (ia *IA) address(a netip.Addr) uint64 {
	b := ia.addresses[a]
	if b == nil {
		b = &memoryBlock{}
		ia.addresses[a] = b
		at, _ := b.keep(ia, sockaddr(netip.AddrPortFrom(a, 0)))
		return at
	}
	return blockAddress(b)
}

// Address is where the sockaddr of the adapter's own address is.
func (ia *IA) Address() uint64 { return ia.address(ia.Addr) }

// AddressOf is where the sockaddr of another one is.
func (ia *IA) AddressOf(a netip.Addr) uint64 { return ia.address(a) }

// sockaddr is a struct sockaddr_in or sockaddr_in6.
func sockaddr(a netip.AddrPort) []byte {
	ip := a.Addr().Unmap()
	if ip.Is4() || !ip.IsValid() {
		b := make([]byte, 16)
		binary.NativeEndian.PutUint16(b, 2)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		if ip.IsValid() {
			copy(b[4:], ip.AsSlice())
		}
		return b
	}
	b := make([]byte, 28)
	binary.NativeEndian.PutUint16(b, 10)
	binary.BigEndian.PutUint16(b[2:], a.Port())
	copy(b[8:], ip.AsSlice())
	return b
}

// SockaddrSize is how many bytes of a sockaddr of that family Addr needs; 0: no family of this
// library.
func SockaddrSize(family uint16) int {
	switch family {
	case 2:
		return 16
	case 10:
		return 28
	}
	return 0
}

// Addr reads a sockaddr.
func Addr(b []byte) (netip.Addr, bool) {
	if len(b) < 2 {
		return netip.Addr{}, false
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == 2 && len(b) >= 16:
		return netip.AddrFrom4([4]byte(b[4:8])), true
	case family == 10 && len(b) >= 28:
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap(), true
	}
	return netip.Addr{}, false
}
