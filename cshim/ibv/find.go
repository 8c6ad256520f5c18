package ibv

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
func Find(name string) (found netip.Addr, ok bool) {
	for _, adapter := range Names() {
		interfacesOf(adapters, adapter, func(n string) bool {
			i, err := net.InterfaceByName(n)
			if err != nil {
				return false
			}
			if a, same := addressOf(i, name); same || name == n || name == adapter {
				found, ok = a, true
			}
			return ok
		})
		if ok {
			return found, found.IsValid()
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

// interfacesOf calls f with each network interface that an adapter's ports have, until f says true:
// over Ethernet with those of its GIDs, over InfiniBand with those of the device. The table of GIDs
// is long, and mostly the first one is the right one.
func interfacesOf(folder, adapter string, f func(name string) bool) {
	seen := map[string]bool{"": true}
	last := func(n string) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		return f(n)
	}
	files, _ := filepath.Glob(filepath.Join(folder, adapter, "ports/*/gid_attrs/ndevs/*"))
	for _, file := range files {
		if last(firstLine(file)) {
			return
		}
	}
	of, _ := os.ReadDir(filepath.Join(folder, adapter, "device/net"))
	for _, e := range of {
		if last(e.Name()) {
			return
		}
	}
}

// firstLine is that of a file of /sys; nothing where it cannot be read. It takes three system calls,
// os.ReadFile ten.
func firstLine(name string) string {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var b [64]byte
	n, _ := syscall.Read(fd, b[:])
	_ = syscall.Close(fd)
	line, _, _ := strings.Cut(string(b[:max(n, 0)]), "\n")
	return line
}
