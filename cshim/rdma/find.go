package rdma

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// adapters is where the kernel lists RDMA adapters.
const adapters = "/sys/class/infiniband"

// Names are the RDMA adapters of this machine, as the kernel calls them.
func Names() (names []string) { return namesIn(adapters) }

func namesIn(folder string) (names []string) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Find is the address of the adapter that a name means: of an adapter, of a network interface that
// one has, or the address of such an interface. False: it means none.
func Find(name string) (netip.Addr, bool) {
	for _, adapter := range Names() {
		for _, n := range interfacesOf(adapters, adapter) {
			i, err := net.InterfaceByName(n)
			if err != nil {
				continue
			}
			if a, ok := addressOf(i, name); ok || name == n || name == adapter {
				return a, a.IsValid()
			}
		}
	}
	return netip.Addr{}, false
}

// addressOf is the interface's address of that text, and true; else its first of IPv4, or of IPv6
// that routers pass on.
func addressOf(i *net.Interface, text string) (best netip.Addr, same bool) {
	list, err := i.Addrs()
	if err != nil {
		return best, false
	}
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		at := p.Addr().Unmap()
		switch {
		case at.String() == text:
			return at, true
		case at.IsLinkLocalUnicast():
		case !best.IsValid(), at.Is4() && !best.Is4():
			best = at
		}
	}
	return best, false
}

// interfacesOf are the network interfaces that an adapter's ports have: over Ethernet those of its
// GIDs, over InfiniBand those of the device.
func interfacesOf(folder, adapter string) (names []string) {
	add := func(n string) {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	files, _ := filepath.Glob(filepath.Join(folder, adapter, "ports/*/gid_attrs/ndevs/*"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			add(strings.TrimSpace(string(b)))
		}
	}
	of, _ := os.ReadDir(filepath.Join(folder, adapter, "device/net"))
	for _, e := range of {
		add(e.Name())
	}
	return names
}
