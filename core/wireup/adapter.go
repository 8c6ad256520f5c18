package wireup

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// chooseAdapter finds the addresses of the interface that Config.Adapter names. It is looked for
// even where no task is reached by UDP: a name that is wrong shall not go unnoticed.
func (n *Net) chooseAdapter() error {
	if n.cfg.Adapter == "" {
		return nil
	}
	addrs, err := adapterAddresses(n.cfg.Adapter)
	if err != nil {
		return n.fail(NoSocket, "adapter_name %q: %v", n.cfg.Adapter, err)
	}
	n.adapter = addrs
	return nil
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
		// good only with the zone, which no address list has
		if err != nil || p.Addr().Unmap().Is6() && p.Addr().IsLinkLocalUnicast() {
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
func (n *Net) onOwnAdapter(a netip.Addr) bool {
	return n.adapter == nil || slices.Contains(n.adapter, a.Unmap())
}

// localAddress is where this task listens, if it may choose: at an address of the adapter, if
// possible an address that MP_LAPI_INET_ADDR names too; or without adapter at the first of
// MP_LAPI_INET_ADDR. Not valid: there is neither.
func (n *Net) localAddress() netip.AddrPort {
	for _, a := range n.job.Adapters {
		if n.onOwnAdapter(a.Addr) {
			return netip.AddrPortFrom(a.Addr, 0)
		}
	}
	if n.adapter != nil {
		return netip.AddrPortFrom(n.adapter[0], 0)
	}
	return netip.AddrPort{}
}

// onAdapter checks this task's address in the user's handler or list against the adapter: an
// address that is left open becomes the adapter's, any other one must be the adapter's.
func (n *Net) onAdapter(own netip.AddrPort) (netip.AddrPort, error) {
	switch {
	case n.adapter == nil || slices.Contains(n.adapter, own.Addr().Unmap()):
		return own, nil
	case own.Addr().IsUnspecified():
		for _, a := range n.adapter {
			if a.Is4() == own.Addr().Unmap().Is4() {
				return netip.AddrPortFrom(a, own.Port()), nil
			}
		}
	}
	return own,
		fmt.Errorf("the UDP address list has this task at %v, which is not an address of "+
			"adapter_name %q", own.Addr(), n.cfg.Adapter)
}
