package sock

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// eventKind is what one of the kernel's messages tells.
type eventKind uint8

const (
	nothing     eventKind = iota // that is of use here
	linkIs                       // an interface's state
	linkWent                     // there is no such interface any more
	addressCame                  // an interface has an address
	addressWent                  // and now has it no more
)

// event is such a message.
type event struct {
	kind  eventKind
	index uint32     // of the interface
	up    bool       // linkIs: it is up and running
	addr  netip.Addr // addressCame, addressWent; without a zone
}

// Sizes of the messages behind their header (rtnetlink(7)): struct ifinfomsg and ifaddrmsg.
const (
	linkSize    = unix.SizeofIfInfomsg
	addressSize = unix.SizeofIfAddrmsg
)

// parse reads the first message of b and returns what follows it; nothing, if b ends inside a
// message.
func (e *event) parse(b []byte) (rest []byte) {
	if len(b) < unix.SizeofNlMsghdr {
		return nil
	}
	n := int(binary.NativeEndian.Uint32(b))
	if n < unix.SizeofNlMsghdr || n > len(b) {
		return nil
	}
	body := b[unix.SizeofNlMsghdr:n]
	switch binary.NativeEndian.Uint16(b[4:]) {
	case unix.RTM_NEWLINK:
		e.link(linkIs, body)
	case unix.RTM_DELLINK:
		e.link(linkWent, body)
	case unix.RTM_NEWADDR:
		e.address(addressCame, body)
	case unix.RTM_DELADDR:
		e.address(addressWent, body)
	}
	return b[min((n+3)&^3, len(b)):]
}

// link reads an ifinfomsg. That an interface has left a bridge is told as RTM_DELLINK of that
// family.
func (e *event) link(kind eventKind, b []byte) {
	if len(b) < linkSize || b[0] != unix.AF_UNSPEC {
		return
	}
	e.kind, e.index = kind, binary.NativeEndian.Uint32(b[4:])
	e.up = binary.NativeEndian.Uint32(b[8:])&running == running
}

// address reads an ifaddrmsg with its attributes. Of an interface with a peer, IFA_ADDRESS is the
// peer's; then there is IFA_LOCAL.
func (e *event) address(kind eventKind, b []byte) {
	if len(b) < addressSize {
		return
	}
	index := binary.NativeEndian.Uint32(b[4:])
	local := false
	for b = b[addressSize:]; len(b) >= 4; {
		n := int(binary.NativeEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return
		}
		of := binary.NativeEndian.Uint16(b[2:])
		if a, ok := netip.AddrFromSlice(b[4:n]); ok &&
			(of == unix.IFA_LOCAL || of == unix.IFA_ADDRESS && !local) {
			e.kind, e.index, e.addr = kind, index, a.Unmap()
			local = of == unix.IFA_LOCAL
		}
		b = b[min((n+3)&^3, len(b)):]
	}
}
