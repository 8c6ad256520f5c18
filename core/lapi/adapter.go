package lapi

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"lapi/core/lapi/codes"
)

// chooseAdapter finds the addresses of the interface that lapi_info_t.adapter_name names in persistent subsystem mode (guide,
// LAPI_Init). It is looked for even where no task is reached by UDP: a name that is wrong shall not go unnoticed.
func (s *setup) chooseAdapter() codes.Code {
	if !s.o.Persistent || s.o.Adapter == "" {
		return codes.Success
	}
	addrs, err := adapterAddresses(s.o.Adapter)
	if err != nil {
		s.say(0, "adapter_name %q: %v", s.o.Adapter, err)
		return codes.ErrUDPSocket
	}
	s.adapter = addrs
	return codes.Success
}

// adapterAddresses are the addresses of a network interface that UDP can be bound to, IPv4 first.
func adapterAddresses(name string) (addrs []netip.Addr, err error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, errors.New("there is no such network interface")
	}
	if i.Flags&net.FlagUp == 0 {
		return nil, errors.New("the network interface is down")
	}
	all, err := i.Addrs()
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		p, err := netip.ParsePrefix(x.String())
		if err != nil || p.Addr().Unmap().Is6() && p.Addr().IsLinkLocalUnicast() { // good only with the zone, which no address list has
			continue
		}
		addrs = append(addrs, p.Addr().Unmap())
	}
	if len(addrs) == 0 {
		return nil, errors.New("the network interface has no address")
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return addrs, nil
}

// onOwnAdapter says whether the adapter, if one is asked for, has the address a.
func (s *setup) onOwnAdapter(a netip.Addr) bool {
	return s.adapter == nil || slices.Contains(s.adapter, a.Unmap())
}

// localAddress is where this task listens, if it may choose: the adapter's address, of several one that MP_LAPI_INET_ADDR names
// too, or without adapter the first of MP_LAPI_INET_ADDR. Not valid: there is neither.
func (s *setup) localAddress() netip.AddrPort {
	for _, a := range s.cfg.Adapters {
		if s.onOwnAdapter(a.Addr) {
			return netip.AddrPortFrom(a.Addr, 0)
		}
	}
	if s.adapter != nil {
		return netip.AddrPortFrom(s.adapter[0], 0)
	}
	return netip.AddrPort{}
}

// onAdapter holds what the user's handler or list says of this task against the adapter: an address that is left open becomes
// the adapter's, any other one must be the adapter's.
func (s *setup) onAdapter(own netip.AddrPort) (netip.AddrPort, error) {
	switch {
	case s.adapter == nil || slices.Contains(s.adapter, own.Addr().Unmap()):
		return own, nil
	case own.Addr().IsUnspecified():
		for _, a := range s.adapter {
			if a.Is4() == own.Addr().Unmap().Is4() {
				return netip.AddrPortFrom(a, own.Port()), nil
			}
		}
	}
	return own, fmt.Errorf("the UDP address list has this task at %v, which is not an address of adapter_name %q", own.Addr(), s.o.Adapter)
}
