package conform

import (
	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// changes are what a program may do to its memory between two transfers: at the same address there
// are other pages then.
var changes = map[string]func(at transport.Addr, n int) error{
	"munmap and mmap": func(at transport.Addr, n int) error {
		if err := call(unix.SYS_MUNMAP, uintptr(at), uintptr(n)); err != nil {
			return err
		}
		return mapAt(at, n)
	},
	"mmap": mapAt,
	"mremap": func(at transport.Addr, n int) error {
		elsewhere, err := unix.Mmap(-1, 0, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		to := memory.AddrOf(elsewhere)
		if err := call(unix.SYS_MREMAP, uintptr(at), uintptr(n), uintptr(n),
			unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, uintptr(to)); err != nil {
			return err
		}
		if err := mapAt(at, n); err != nil {
			return err
		}
		return unix.Munmap(elsewhere)
	},
	"mremap to less and to more": func(at transport.Addr, n int) error {
		if err := call(unix.SYS_MREMAP, uintptr(at), uintptr(n), uintptr(n)/4, 0, 0); err != nil {
			return err
		}
		return call(unix.SYS_MREMAP, uintptr(at), uintptr(n)/4, uintptr(n), 0, 0)
	},
	"madvise": func(at transport.Addr, n int) error {
		return call(unix.SYS_MADVISE, uintptr(at), uintptr(n), unix.MADV_DONTNEED)
	},
}

func call(number uintptr, args ...uintptr) error {
	a := append(args, 0, 0, 0, 0, 0, 0)
	if _, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

// mapAt maps new pages, over the old ones.
func mapAt(at transport.Addr, n int) error {
	return call(unix.SYS_MMAP, uintptr(at), uintptr(n), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0))
}

// testChangedMemory: puts and gets move the current contents of memory, and the data lands where
// the program looks, whatever was done to the memory since the last transfer.
func testChangedMemory(r *run) {
	link := r.Nodes[0].Link
	l := link.Limits()
	if l.Caps&(transport.CapPut|transport.CapGet) != transport.CapPut|transport.CapGet ||
		l.KeySize > 0 && !l.KeyOptional {
		r.Skip("the link lacks CapPut or CapGet, or wants memory to be registered")
	}
	n := int(min(1<<18, l.PutMax, l.GetMax))
	local, remote := r.memoryOf(n), r.memoryOf(n)
	round := uint64(0)
	transfer := func(what string, put bool) {
		r.Helper()
		round++
		source, sink, start := remote, local, link.Get
		if put {
			source, sink, start = local, remote, link.Put
		}
		fill(source, round)
		o := r.operation(memory.AddrOf(local), memory.AddrOf(remote), n)
		if err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return start(r.target(), op)
		}); err != nil {
			r.Fatalf("%s, put %v: %v", what, put, err)
		}
		if string(source) != string(sink) {
			r.Errorf("%s, put %v: the data is not where it belongs", what, put)
		}
	}
	for name, change := range changes {
		for _, b := range [][]byte{local, remote} {
			for _, put := range []bool{true, false} {
				transfer("before "+name, put)
				if err := change(memory.AddrOf(b), n); err != nil {
					r.Fatalf("%s: %v", name, err)
				}
				transfer(name, put)
			}
		}
	}
}
