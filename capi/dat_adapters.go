package main

import (
	"net/netip"
	"strconv"

	adapters "lapi/cshim/ibv"
	"lapi/descriptor"
	"lapi/transport/ibv"

	"golang.org/x/sys/unix"
)

// rdmaAdapters are the RDMA adapters of this machine (dat.Adapters).
type rdmaAdapters struct{}

func (rdmaAdapters) Find(name string) (netip.Addr, bool) { return adapters.Find(name) }

func (rdmaAdapters) Look() uintptr { return adapters.Look() }

func (rdmaAdapters) OpenPort(port ibv.Info) (ibv.Device, error) {
	return adapters.Open(adapters.Choice{Name: port.Name, Port: int(port.Port),
		GIDIndex: int(port.GIDIndex)})
}

func (rdmaAdapters) Open(addr netip.Addr) (ibv.Adapter, error) { return adapters.OpenAddress(addr) }

// Bits of DAPL_DBG_TYPE, as the original provider has them: errors, and completions with an error.
const datDebugTypes = 0x0001 | 0x0080

// datDebug prints a failure of an adapter at MP_INFOLEVEL 1, or where DAPL_DBG_TYPE has a bit for it;
// nil: neither is so.
func datDebug(getenv func(string) (string, bool)) func(text string) {
	level, _ := getenv("MP_INFOLEVEL")
	types, _ := getenv("DAPL_DBG_TYPE")
	bits, _ := strconv.ParseUint(types, 0, 64) // any other text asks for nothing
	if (level == "" || level == "0") && bits&datDebugTypes == 0 {
		return nil
	}
	return func(text string) { say("uDAPL: " + text) }
}

// watched are descriptors that threads sleep at, together behind one: they come and go with
// adapters. Some are of several adapters.
type watched struct {
	epoll int // 0: none was made yet
	users map[int]int
}

func (datHost) Watch(fd int) {
	w := &udapl.files
	if w.epoll == 0 {
		epoll, err := descriptor.Own(descriptor.Epoll())
		if err != nil {
			datHost{}.Message("epoll_create1: " + err.Error())
			return
		}
		w.epoll, w.users = epoll, map[int]int{}
		udapl.block.Watch(epoll)
	}
	if w.users[fd]++; w.users[fd] == 1 {
		err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
		if err != nil {
			datHost{}.Message("epoll_ctl: " + err.Error())
		}
	}
}

func (datHost) Unwatch(fd int) {
	w := &udapl.files
	if w.users[fd]--; w.users[fd] <= 0 {
		delete(w.users, fd)
		_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	}
}

// descriptor is readable when one of them is; -1: there is none yet.
func (w *watched) descriptor() int {
	if w.epoll == 0 {
		return -1
	}
	return w.epoll
}

// close is called when no thread sleeps any more.
func (w *watched) close() {
	if w.epoll != 0 {
		unix.Close(w.epoll)
		w.epoll = 0
	}
}
