package registration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// errKind: the kernel does not tell of all changes of such memory.
var errKind = errors.New("registration: not private anonymous memory")

// mapping is a line of /proc/self/maps.
type mapping struct {
	lo, hi    uint64
	watchable bool
}

// parseMapping reads a line. Watchable is private anonymous memory. Shared memory is not: another
// process can punch holes into it, and nobody is told; nor is that of System V, which shmdt unmaps
// without an event, nor a private copy of a file.
func parseMapping(line string) (m mapping, err error) {
	var perms, device string
	var offset, inode uint64
	if _, err = fmt.Sscanf(line, "%x-%x %s %x %s %d", &m.lo, &m.hi, &perms, &offset, &device,
		&inode); err != nil {
		return m, fmt.Errorf("registration: line of /proc/self/maps: %q: %w", line, err)
	}
	name := ""
	if f := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 6); len(f) == 6 {
		name = f[5]
	}
	ours := name == "" || name == "[heap]" || name == "[stack]" || strings.HasPrefix(name, "[anon:")
	m.watchable = len(perms) == 4 && perms[3] == 'p' && inode == 0 && ours
	return m, nil
}

// mappingsIn calls f for the mappings of r that overlap lo to hi, in order, until it returns false.
func mappingsIn(r io.Reader, lo, hi uint64, f func(mapping) bool) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		m, err := parseMapping(s.Text())
		if err != nil {
			return err
		}
		if m.lo >= hi {
			break
		}
		if m.hi > lo && !f(m) {
			break
		}
	}
	return s.Err()
}

// hull is the whole of the mappings that hold lo to hi, if all of it is mapped and watchable.
func hull(r io.Reader, lo, hi uint64) (interval, error) {
	at := interval{lo, lo}
	good := true
	err := mappingsIn(r, lo, hi, func(m mapping) bool {
		good = m.watchable && m.lo <= at.hi
		at.lo, at.hi = min(at.lo, m.lo), m.hi
		return good
	})
	if err == nil && (!good || at.hi < hi) {
		err = errKind
	}
	return at, err
}

// hullOf is hull of this process.
func hullOf(lo, hi uint64) (at interval, err error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return at, err
	}
	defer f.Close()
	return hull(f, lo, hi)
}

// eachMapping is mappingsIn of this process.
func eachMapping(lo, hi uint64, f func(mapping) bool) error {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer maps.Close()
	return mappingsIn(maps, lo, hi, f)
}
