package shm

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
)

// PutVector implements transport.Vectored.
func (l *Link) PutVector(ep transport.Endpoint, local, remote []transport.Range) error {
	n := transport.Sum(local)
	if err := l.transferVector(ep, unix.SYS_PROCESS_VM_WRITEV, local, remote); err != nil {
		return err
	}
	if n > 0 {
		l.stats.PacketsSent++
		l.stats.DataSent += n
	}
	return nil
}

// GetVector implements transport.Vectored.
func (l *Link) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	n := transport.Sum(local)
	if err := l.transferVector(ep, unix.SYS_PROCESS_VM_READV, local, remote); err != nil {
		return err
	}
	if n > 0 {
		l.stats.PacketsReceived++
		l.stats.DataReceived += n
	}
	return nil
}

// transferVector moves all bytes by cross-memory attach. The kernel may stop early, at a bad range or at its limit for one call:
// the next call begins there.
func (l *Link) transferVector(ep transport.Endpoint, trap uintptr, local, remote []transport.Range) error {
	p, err := l.path(ep)
	if err != nil {
		return err
	}
	if !p.direct {
		return transport.ErrNotSupported
	}
	if len(local) > transport.RangesMax || len(remote) > transport.RangesMax || transport.Sum(local) != transport.Sum(remote) {
		return transport.ErrBadParam
	}
	if err := inReach(local, remote); err != nil {
		return err
	}
	for {
		local, remote = transport.Advance(local, 0), transport.Advance(remote, 0)
		if len(local) == 0 || len(remote) == 0 {
			return nil
		}
		n, errno := l.attachVector(trap, p.pid, local, remote)
		if errno == unix.EFAULT || errno == unix.EINVAL {
			// Some range is bad, maybe not the first: the kernel looks at all local ones before it copies.
			n, errno = attach(trap, p.pid, local[0].Addr, remote[0].Addr, min(local[0].N, remote[0].N, pieceMax))
		}
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			return l.explain(p, errno, local[0].Addr, remote[0].Addr, trap == unix.SYS_PROCESS_VM_READV)
		}
		local, remote = transport.Advance(local, n), transport.Advance(remote, n)
	}
}

// inReach looks for ranges that this process cannot even name, where addresses have 32 bits: the kernel would be told of others. Of
// longer addresses the kernel knows by itself which ones nobody has.
func inReach(local, remote []transport.Range) error {
	if wordSize == 8 {
		return nil
	}
	for _, r := range remote {
		if beyond(r.Addr, r.N) {
			return &transport.FaultError{Addr: r.Addr, Remote: true}
		}
	}
	for _, r := range local {
		if beyond(r.Addr, r.N) {
			return &transport.FaultError{Addr: r.Addr}
		}
	}
	return nil
}

// attachVector is attach for lists, neither of them empty.
func (l *Link) attachVector(trap uintptr, pid int, local, remote []transport.Range) (uint64, unix.Errno) {
	here, there := l.kernel.lists(local, remote)
	moved, _, errno := unix.Syscall6(trap, uintptr(pid), uintptr(here), uintptr(len(local)), uintptr(there), uintptr(len(remote)), 0)
	if errno != 0 {
		return 0, errno
	}
	return uint64(moved), 0
}
