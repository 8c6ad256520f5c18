package sock

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watch hears from the kernel (rtnetlink) whether local addresses can be used: an address can while
// an interface has it that is up and running. Its owner's lock protects it.
type Watch struct {
	fd     int
	addrs  []watched
	buffer []byte
}

// watched is one of the addresses.
type watched struct {
	addr netip.Addr
	// of its interface; 0: none has exactly this address (as 127.9.9.9), nothing is heard of it
	index uint32
	there bool // the interface has the address
	up    bool // and is up and running
	told  bool // whether the owner believes that it can be used
}

const (
	running = unix.IFF_UP | unix.IFF_RUNNING
	// lookMost messages of the kernel are read at a time at most: others want the processor, too.
	lookMost    = 64
	watchBuffer = 32 << 10
)

// NewWatch begins to hear of addrs, each of which counts as usable until the first Look. An error
// means that the kernel tells nothing here.
func NewWatch(addrs []netip.Addr) (*Watch, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK,
		unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK,
		Groups: groups}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink: %w", err)
	}
	w := &Watch{fd: fd, buffer: make([]byte, watchBuffer)}
	for _, a := range addrs {
		w.addrs = append(w.addrs, watched{addr: a.Unmap(), told: true})
	}
	w.ask() // behind bind: nothing is missed in between
	return w, nil
}

// Descriptor becomes readable when the kernel has something to tell. It stays the Watch's.
func (w *Watch) Descriptor() int { return w.fd }

// Look reads what the kernel has told and calls changed for each address, by its number in
// NewWatch, that can be used now and could not before, or the other way about. Nothing to read: one
// system call.
func (w *Watch) Look(changed func(i int, usable bool)) {
	for range lookMost {
		n, from, err := unix.Recvfrom(w.fd, w.buffer, unix.MSG_DONTWAIT)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ENOBUFS { // some was lost
			w.ask()
			continue
		}
		if err != nil {
			break
		}
		if sa, ok := from.(*unix.SockaddrNetlink); ok && sa.Pid == 0 { // the kernel itself
			w.take(w.buffer[:n])
		}
	}
	for i := range w.addrs {
		a := &w.addrs[i]
		if usable := a.index == 0 || a.there && a.up; usable != a.told {
			a.told = usable
			changed(i, usable)
		}
	}
}

// take brings the state up to date with the kernel's messages in b.
func (w *Watch) take(b []byte) {
	for len(b) > 0 {
		var e event
		if b = e.parse(b); !w.concerns(&e) {
			continue
		}
		if e.kind == addressCame { // perhaps on another interface, whose state is not known
			w.ask()
			continue
		}
		for i := range w.addrs {
			a := &w.addrs[i]
			if a.index != e.index {
				continue
			}
			switch e.kind {
			case addressWent:
				a.there = a.there && a.addr.WithZone("") != e.addr
			case linkIs:
				a.up = e.up
			case linkWent:
				a.up, a.there = false, false
			}
		}
	}
}

// concerns says whether e is of one of the interfaces or addresses.
func (w *Watch) concerns(e *event) bool {
	for i := range w.addrs {
		a := &w.addrs[i]
		if e.kind != nothing && a.index != 0 &&
			(a.index == e.index || e.kind == addressCame && a.addr.WithZone("") == e.addr) {
			return true
		}
	}
	return false
}

// ask looks up the state of every address. If the kernel does not answer, it stays.
func (w *Watch) ask() {
	all, err := net.Interfaces()
	if err != nil {
		return
	}
	for i := range w.addrs {
		w.addrs[i].there = false
	}
	for _, i := range all {
		has, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, x := range has {
			if p, err := netip.ParsePrefix(x.String()); err == nil {
				w.found(p.Addr().Unmap(), i)
			}
		}
	}
}

// found: interface i has the address a. A link-local one may be had by several.
func (w *Watch) found(a netip.Addr, i net.Interface) {
	for k := range w.addrs {
		x := &w.addrs[k]
		if x.addr.WithZone("") == a && (x.addr.Zone() == "" || x.addr.Zone() == i.Name) {
			x.index, x.there = uint32(i.Index), true
			x.up = i.Flags&net.FlagUp != 0 && i.Flags&net.FlagRunning != 0
		}
	}
}

// Close ends it.
func (w *Watch) Close() error {
	if w.fd < 0 {
		return nil
	}
	err := unix.Close(w.fd)
	w.fd = -1
	return err
}
