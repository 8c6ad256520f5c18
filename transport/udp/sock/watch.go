package sock

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

// Watch learns from the kernel (rtnetlink) whether local addresses can be used: an address can
// while an interface has it that is up and running. Its owner's lock protects it.
type Watch struct {
	fd     int
	addrs  []watched
	buffer []byte
}

// watched is one of the addresses.
type watched struct {
	addr netip.Addr
	// of its interface; 0: none has exactly this address (as 127.9.9.9), nothing is reported
	// for it
	index uint32
	there bool // the interface has the address
	up    bool // and is up and running
	told  bool // whether the owner believes that it can be used
}

const (
	// lookMost messages of the kernel are read at a time at most: others want the processor,
	// too.
	lookMost    = 64
	watchBuffer = 32 << 10
)

// NewWatch begins to watch addrs, each of which counts as usable until the first Look. An error
// means that the kernel reports nothing here.
func NewWatch(addrs []netip.Addr) (*Watch, error) {
	fd, err := descriptor.Own(descriptor.Socket(unix.AF_NETLINK,
		unix.SOCK_RAW|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE))
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

// Look reads the kernel's reports and calls changed for each address, by its number in NewWatch,
// that can be used now and could not before, or the other way about. Nothing to read: one system
// call.
func (w *Watch) Look(changed func(i int, usable bool)) {
	if w.read() {
		w.ask()
	}
	for i := range w.addrs {
		a := &w.addrs[i]
		if usable := a.index == 0 || a.there && a.up; usable != a.told {
			a.told = usable
			changed(i, usable)
		}
	}
}

// read takes the kernel's messages. True: the state of an address may have changed.
func (w *Watch) read() (news bool) {
	for range lookMost {
		n, from, err := unix.Recvfrom(w.fd, w.buffer, unix.MSG_DONTWAIT)
		sa, ok := from.(*unix.SockaddrNetlink)
		switch {
		case err == syscall.ENOBUFS: // some was lost
			news = true
		case err == syscall.EINTR:
		case err != nil:
			return news
		case ok && sa.Pid == 0: // the kernel itself
			news = w.concerns(w.buffer[:n]) || news
		}
	}
	return news
}

// concerns says whether a message in b, of links and addresses (rtnetlink(7)), is of one of the
// interfaces, or of one of the addresses on another. Both kinds have the interface's number at the
// same place.
func (w *Watch) concerns(b []byte) bool {
	messages, err := syscall.ParseNetlinkMessage(b)
	for _, m := range messages {
		if len(m.Data) < unix.SizeofIfAddrmsg {
			continue
		}
		index := binary.NativeEndian.Uint32(m.Data[4:])
		for _, a := range w.addrs {
			if a.index != 0 && (a.index == index || m.Header.Type == unix.RTM_NEWADDR &&
				bytes.Contains(m.Data, a.addr.AsSlice())) {
				return true
			}
		}
	}
	return err != nil
}

// ask looks up the state of every address. If the kernel does not answer, it stays.
func (w *Watch) ask() {
	was := slices.Clone(w.addrs)
	for i := range w.addrs {
		w.addrs[i].there = false
	}
	if !eachAddress(w.found) {
		w.addrs = was
	}
}

// found: interface i has the address p. A link-local one may be had by several.
func (w *Watch) found(i net.Interface, p netip.Prefix) {
	for k := range w.addrs {
		x := &w.addrs[k]
		if x.addr.WithZone("") == p.Addr().Unmap() &&
			(x.addr.Zone() == "" || x.addr.Zone() == i.Name) {
			x.index, x.there = uint32(i.Index), true
			x.up = i.Flags&net.FlagUp != 0 && i.Flags&net.FlagRunning != 0
		}
	}
}

// Close ends it.
func (w *Watch) Close() error { return unix.Close(w.fd) }
