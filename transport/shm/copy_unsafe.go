package shm

import (
	"unsafe"

	"lapi/cshim/node"
	"lapi/transport"
)

// copyRanges moves all bytes. The kernel may stop early, at a bad range or at its limit for one
// call: the next call begins there.
func (l *Link) copyRanges(ep transport.Endpoint, local, remote []transport.Range, read bool) error {
	p, err := l.transferPath(ep)
	if err != nil {
		return err
	}
	if p.node.Direct == 0 {
		return transport.ErrNotSupported
	}
	if len(local) > transport.RangesMax || len(remote) > transport.RangesMax ||
		transport.Sum(local) != transport.Sum(remote) {
		return transport.ErrBadParam
	}
	for {
		local, remote = transport.Advance(local, 0), transport.Advance(remote, 0)
		if len(local) == 0 || len(remote) == 0 {
			return nil
		}
		n, rc := node.CopyRanges(l.node, p.ring, read, unsafe.Pointer(&local[0]), len(local),
			unsafe.Pointer(&remote[0]), len(remote))
		if rc != node.Sent {
			return l.outcome(p, rc)
		}
		local, remote = transport.Advance(local, n), transport.Advance(remote, n)
	}
}
