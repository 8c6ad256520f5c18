package job

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"lapi/core/job/adapters"
)

var (
	errNoNumber = errors.New("not a number")
	errHuge     = errors.New("too large a number")
)

// parseNumber accepts decimal digits only, so that "0x10", "1e3", "+1" and " 1" are errors as in
// the guide.
func parseNumber(s string) (int, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, errNoNumber
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, errHuge
	}
	return int(n), nil
}

// parseSize reads a number of bytes: decimal digits, then perhaps K, M or G for units of 1024,
// 1024² or 1024³ bytes. A number that is too large for 64 bits counts as the largest.
func parseSize(s string) (uint64, error) {
	shift := 0
	if i := len(s) - 1; i > 0 {
		if k := strings.IndexByte("KMG", s[i]&^0x20); k >= 0 {
			s, shift = s[:i], 10*(k+1)
		}
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, errNoNumber
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > math.MaxUint64>>shift {
		return math.MaxUint64, nil
	}
	return n << shift, nil
}

// parseCommonTasks reads "n:task:task…": the other tasks on this node, ascending in the result.
func parseCommonTasks(s string, task, numTasks int) ([]int, error) {
	fields := strings.Split(s, ":")
	n, err := parseNumber(fields[0])
	if err != nil {
		return nil, fmt.Errorf("its first field %q is %w", fields[0], err)
	}
	ids := fields[1:]
	if len(ids) != n {
		return nil, fmt.Errorf("it announces %d tasks and lists %d", n, len(ids))
	}
	var tasks []int
	for _, id := range ids {
		t, err := parseNumber(id)
		switch {
		case err != nil:
			return nil, fmt.Errorf("task %q is %w", id, err)
		case t >= numTasks:
			return nil, fmt.Errorf("task %d does not exist: MP_PROCS is %d", t, numTasks)
		case t == task:
			return nil, fmt.Errorf("task %d is this task itself (MP_CHILD); list only the others",
				t)
		}
		tasks = append(tasks, t)
	}
	slices.Sort(tasks)
	for i := 1; i < len(tasks); i++ {
		if tasks[i] == tasks[i-1] {
			return nil, fmt.Errorf("task %d is listed twice", tasks[i])
		}
	}
	return tasks, nil
}

// parseInstances reads "@n:item:item…", items separated by colons outside of brackets (IPv6
// addresses stand in brackets).
func parseInstances(s string) ([]string, error) {
	rest, ok := strings.CutPrefix(s, "@")
	if !ok {
		return nil, errors.New("it does not begin with @")
	}
	count, rest, ok := strings.Cut(rest, ":")
	if !ok {
		return nil, errors.New("no instance follows the number of instances")
	}
	n, err := parseNumber(count)
	if err != nil {
		return nil, fmt.Errorf("the number of instances %q is %w", count, err)
	}
	if n < 1 || n > maxInstances {
		return nil, fmt.Errorf("the number of instances is %d, not 1 to %d", n, maxInstances)
	}
	items := splitOutsideBrackets(rest)
	if len(items) != n {
		return nil, fmt.Errorf("it announces %d instances and lists %d", n, len(items))
	}
	return items, nil
}

func splitOutsideBrackets(s string) []string {
	var items []string
	start, depth := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ':':
			if depth <= 0 {
				items = append(items, s[start:i])
				start = i + 1
			}
		}
	}
	return append(items, s[start:])
}

func checkDevice(name string) error {
	if !adapters.ValidDevice(name) {
		return fmt.Errorf("%q is no name of a network device", name)
	}
	return nil
}

// parseInetAddr reads MP_LAPI_INET_ADDR.
func parseInetAddr(s string) ([]Adapter, error) {
	items, err := parseInstances(s)
	if err != nil {
		return nil, err
	}
	var all []Adapter
	for _, item := range items {
		text, device, ok := strings.Cut(item, ",")
		if !ok {
			return nil, fmt.Errorf("%q lacks the comma between address and device", item)
		}
		if err := checkDevice(device); err != nil {
			return nil, err
		}
		a, err := parseAddress(text, device)
		if err != nil {
			return nil, err
		}
		all = append(all, Adapter{Addr: a, Device: device})
	}
	return all, nil
}

// parseAddress reads the address of one interface: IPv4 in dotted decimal, or IPv6 in brackets,
// link-local with the device as its zone.
func parseAddress(text, device string) (a netip.Addr, err error) {
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		if inner, bracketed = strings.CutSuffix(inner, "]"); !bracketed {
			return a, fmt.Errorf("%q lacks its closing bracket", text)
		}
	}
	if a, err = netip.ParseAddr(inner); err != nil {
		return a, fmt.Errorf("%q is no IP address", inner)
	}
	linkLocal := a.Is6() && !a.Is4In6() && a.IsLinkLocalUnicast()
	switch {
	case bracketed != a.Is6():
		return a, fmt.Errorf("%q: an IPv6 address stands in brackets, an IPv4 address does not",
			text)
	case a.Unmap().IsMulticast() || a.Unmap().IsUnspecified() ||
		a.Unmap() == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return a, fmt.Errorf("%s is not the address of one interface", a)
	case linkLocal && a.Zone() != device:
		return a, fmt.Errorf("%s is link-local, so it needs its device as zone: [%s],%s", a,
			a.WithZone(device), device)
	case !linkLocal && a.Zone() != "":
		return a, fmt.Errorf("%s is not link-local and has no zone", a)
	}
	return a.Unmap(), nil
}

// FormatAdapters writes what MP_LAPI_INET_ADDR holds for all.
func FormatAdapters(all []Adapter) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@%d", len(all))
	for _, a := range all {
		if a.Addr.Is6() {
			fmt.Fprintf(&b, ":[%s],%s", a.Addr, a.Device)
		} else {
			fmt.Fprintf(&b, ":%s,%s", a.Addr, a.Device)
		}
	}
	return b.String()
}

// parseNetwork reads MP_LAPI_NETWORK: the adapters that user space mode uses. Windows are the
// business of the hardware of the time; a port is written behind a slash.
func parseNetwork(s string) (ports []Port, err error) {
	items, err := parseInstances(s)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		window, device, ok := strings.Cut(item, ",")
		if !ok {
			return nil, fmt.Errorf("%q lacks the comma between window and adapter", item)
		}
		if _, err := parseNumber(window); err != nil {
			return nil, fmt.Errorf("window %q is %w", window, err)
		}
		p, err := parsePort(device)
		if err != nil {
			return nil, err
		}
		ports = append(ports, p)
	}
	return ports, nil
}

func parseShm(s string) (ShmMode, bool) {
	switch strings.ToLower(s) {
	case "no":
		return ShmNo, true
	case "yes":
		return ShmYes, true
	case "only":
		return ShmOnly, true
	}
	return ShmNo, false
}
