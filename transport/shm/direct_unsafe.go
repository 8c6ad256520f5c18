package shm

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// pieceMax is how much one system call is asked to move; the kernel stops a page short of 2 GiB. A variable for tests.
var pieceMax uint64 = 1 << 30

// vector is the kernel's iovec. Its base is no Go pointer, because it is an address of a user's or a peer's memory.
type vector struct{ base, length uintptr }

// attach moves n bytes between local memory and that of process pid with one system call, and returns how many it moved.
func attach(trap uintptr, pid int, local, remote transport.Addr, n uint64) (uint64, unix.Errno) {
	here, there := vector{uintptr(local), uintptr(n)}, vector{uintptr(remote), uintptr(n)}
	moved, _, errno := unix.Syscall6(trap, uintptr(pid), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
	if errno != 0 {
		return 0, errno
	}
	return uint64(moved), 0
}

// probe says whether cross-memory attach reaches the task that gave cookie: the process may be in another namespace (then pid
// means nothing or someone else here), or the kernel may forbid it. scratch is 8 bytes off the Go heap.
func probe(pid int, at transport.Addr, cookie uint64, scratch []byte) bool {
	n, errno := attach(unix.SYS_PROCESS_VM_READV, pid, memory.AddrOf(scratch), at, uint64(len(scratch)))
	return errno == 0 && n == uint64(len(scratch)) && binary.NativeEndian.Uint64(scratch) == cookie
}

// Put implements transport.Link. It never returns Queued.
func (l *Link) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if err := l.transfer(ep, unix.SYS_PROCESS_VM_WRITEV, op); err != nil {
		return transport.Done, err
	}
	if op.N > 0 {
		l.stats.PacketsSent++
		l.stats.DataSent += op.N
	}
	return transport.Done, nil
}

// Get implements transport.Link. It never returns Queued.
func (l *Link) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if err := l.transfer(ep, unix.SYS_PROCESS_VM_READV, op); err != nil {
		return transport.Done, err
	}
	if op.N > 0 {
		l.stats.PacketsReceived++
		l.stats.DataReceived += op.N
	}
	return transport.Done, nil
}

// transfer moves all of op by cross-memory attach.
func (l *Link) transfer(ep transport.Endpoint, trap uintptr, op *transport.Op) error {
	p, err := l.path(ep)
	if err != nil {
		return err
	}
	if !p.direct {
		return transport.ErrNotSupported
	}
	if op.N > 1<<63-1 {
		return transport.ErrBadParam
	}
	if beyond(op.Remote, op.N) {
		return &transport.FaultError{Addr: op.Remote, Remote: true}
	}
	if beyond(op.Local, op.N) {
		return &transport.FaultError{Addr: op.Local}
	}
	for moved := uint64(0); moved < op.N; {
		local, remote := op.Local+transport.Addr(moved), op.Remote+transport.Addr(moved)
		n, errno := attach(trap, p.pid, local, remote, min(op.N-moved, pieceMax))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			return l.explain(p, errno, local, remote, trap == unix.SYS_PROCESS_VM_READV)
		}
		moved += n
	}
	return nil
}

// beyond says whether n bytes at a pass the end of this process's address space, or of any.
func beyond(a transport.Addr, n uint64) bool {
	last := uint64(a) + n
	return last < uint64(a) || last > uint64(^uintptr(0))
}

// explain turns the error of a system call, which moved nothing between these addresses, into the link's.
func (l *Link) explain(p *peer, errno unix.Errno, local, remote transport.Addr, get bool) error {
	switch errno {
	case unix.ESRCH:
		return transport.ErrUnreachable
	case unix.EPERM, unix.ENOSYS:
		p.direct = false // it was permitted at Connect: the peer has changed its credentials, or left
		p.settle()
		return transport.ErrNotSupported
	case unix.ENOMEM:
		return transport.ErrBusy
	}
	if l.sourceReadable(p, local, remote, get) != get {
		return &transport.FaultError{Addr: remote, Remote: true}
	}
	return &transport.FaultError{Addr: local}
}

// sourceReadable says whether the first byte that could not be moved can be read: then its destination is at fault. Reading
// the source is enough, and unlike writing the destination it changes nothing.
func (l *Link) sourceReadable(p *peer, local, remote transport.Addr, get bool) bool {
	var b [1]byte
	if !get {
		return memory.CopyOut(b[:], local) == nil
	}
	n, errno := attach(unix.SYS_PROCESS_VM_READV, p.pid, memory.AddrOf(l.private.scratch()), remote, 1)
	return errno == 0 && n == 1
}
