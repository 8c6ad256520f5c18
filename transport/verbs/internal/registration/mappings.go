package registration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// errKind: the kernel does not report all changes of such memory.
var errKind = errors.New("registration: neither private anonymous memory nor shared")

// mapping is a line of /proc/self/maps.
type mapping struct {
	lo, hi    uint64
	watchable bool
	// shared says that it is shared memory of which a page, once in page tables, stays the same
	// while it is in them: not of a disk's file, nor of System V, which shmdt unmaps without an
	// event.
	shared bool
	file   backing
}

// backing is the memory behind a mapping.
type backing struct {
	device        string // major:minor
	inode, offset uint64
}

// parseMapping reads a line. Watchable is private anonymous memory. A private copy of a file is
// not: the kernel does not report when its file is cut. Shared memory takes more than events
// (shared.go).
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
	m.file = backing{device, inode, offset}
	m.shared = len(perms) == 4 && perms[3] == 's' && inShared(device, name)
	return m, nil
}

// memoryDevice is the device of memfd_create's files and of shared anonymous memory, filesDevice
// that of /dev/shm, if it is in memory: major:minor, or "".
var memoryDevice, filesDevice = findMemoryDevice(), findFilesDevice()

func findMemoryDevice() string {
	f, err := unix.MemfdCreate("lapi", unix.MFD_CLOEXEC)
	if err != nil {
		return ""
	}
	defer unix.Close(f)
	var s unix.Stat_t
	if unix.Fstat(f, &s) != nil {
		return ""
	}
	return deviceName(uint64(s.Dev))
}

func findFilesDevice() string {
	var s unix.Stat_t
	var kind unix.Statfs_t
	if unix.Stat("/dev/shm", &s) != nil || unix.Statfs("/dev/shm", &kind) != nil ||
		kind.Type != unix.TMPFS_MAGIC {
		return ""
	}
	return deviceName(uint64(s.Dev))
}

func deviceName(d uint64) string { return fmt.Sprintf("%02x:%02x", unix.Major(d), unix.Minor(d)) }

// inShared says whether a mapping of that device and name is what memfd_create, shm_open or
// MAP_SHARED with MAP_ANONYMOUS have made, in pages of the usual size.
func inShared(device, name string) bool {
	if device == memoryDevice {
		return strings.HasPrefix(name, "/memfd:") || strings.HasPrefix(name, "/dev/zero")
	}
	return device == filesDevice && strings.HasPrefix(name, "/dev/shm/")
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

// hull is the whole of the mappings that hold lo to hi, if all of it is mapped and watchable; or
// the shared mapping that holds them.
func hull(r io.Reader, lo, hi uint64) (at interval, shared mapping, err error) {
	at = interval{lo, lo}
	good := true
	err = mappingsIn(r, lo, hi, func(m mapping) bool {
		if m.shared && m.lo <= lo && m.hi >= hi {
			shared = m
		}
		good = (m.watchable || shared.shared) && m.lo <= at.hi
		at.lo, at.hi = min(at.lo, m.lo), m.hi
		return good
	})
	if err == nil && (!good || at.hi < hi) {
		err = errKind
	}
	return at, shared, err
}

// sameMemory says whether m is a mapping of this process, and a second one of its memory is at at.
func sameMemory(m mapping, at uint64) bool {
	find := func(at uint64) (found mapping) {
		_ = eachMapping(at, at+1, func(m mapping) bool {
			found = m
			return false
		})
		return found
	}
	a, b := find(m.lo), find(at)
	ahead := b.file
	ahead.offset += at - b.lo
	return a == m && ahead == m.file && b.hi-at >= m.hi-m.lo
}

// hullOf is hull of this process.
func hullOf(lo, hi uint64) (at interval, shared mapping, err error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return at, shared, err
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
