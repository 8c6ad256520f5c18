package sock

import (
	"net/netip"
	"syscall"
)

// blame is the last error that lost a packet, and where that was to go. Errors by which the kernel
// asks for another try, or for another form of the packet, are not kept.
type blame struct {
	lastError syscall.Errno
	lastTo    netip.AddrPort
}

// failed keeps the error of a packet to that address.
func (b *blame) failed(errno syscall.Errno, to netip.AddrPort) {
	if errno != 0 && lost(errno) {
		b.lastError, b.lastTo = errno, to
	}
}

// arrived forgets the error once anything comes from its address.
func (b *blame) arrived(from netip.AddrPort) {
	if b.lastError != 0 && b.lastTo == from {
		b.lastError = 0
	}
}

// LastError is the last error of a packet to that address, since anything came from there; nil:
// there was none, or an error of another address was later.
func (b *blame) LastError(to netip.AddrPort) error {
	if b.lastError == 0 || b.lastTo != to {
		return nil
	}
	return b.lastError
}
