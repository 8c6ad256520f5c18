package calibration

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what a calibration holds for. Each is one line of printable text.
type Machine struct{ CPU, Caches, Kernel string }

// ThisMachine looks at /proc and /sys; what cannot be read is "unknown". Of the processors it looks
// at the first.
func ThisMachine() Machine {
	return machineOf("/", kernel())
}

func machineOf(root, kernel string) Machine {
	return Machine{CPU: oneLine(processor(root)), Caches: oneLine(caches(root)),
		Kernel: oneLine(kernel)}
}

func kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// processor is the model of the first processor: on x86 its name, else its maker's numbers.
func processor(root string) string {
	text := head(filepath.Join(root, "proc/cpuinfo"))
	first, _, _ := strings.Cut(text, "\n\n")
	model := []string{runtime.GOARCH}
	for line := range strings.Lines(first) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part",
			"CPU variant", "cpu":
			model = append(model, strings.TrimSpace(value))
		}
	}
	if len(model) == 1 {
		return ""
	}
	return strings.Join(model, " ")
}

// Area is how much data one task of a node should have on its way to another at most, in chunks,
// bytes. Its tasks; and whether they have to share processors.
//
// What the sender writes next is then long gone from both processors' own caches to the one that
// they share, from where it comes sooner than out of the other's: if what is on its way is more
// than an own cache holds, and the shared one holds that of all pairs. Measured: 512 KiB and 32
// MiB, docs/performance.md; with 1 MiB of own cache the least was best.
func Area(tasks int, crowded bool) uint64 {
	return areaOf("/", tasks, crowded)
}

func areaOf(root string, tasks int, crowded bool) uint64 {
	sizes := strings.Fields(caches(root))
	if crowded || len(sizes) < 3 {
		return areaLeast
	}
	own, shared := kilobytes(sizes[len(sizes)-2]), kilobytes(sizes[len(sizes)-1])
	if own == 0 || 2*own > areaMost>>10 || shared < uint64(tasks*(tasks-1))*areaMost>>10 {
		return areaLeast
	}
	return areaMost
}

// kilobytes is the size of a cache as the kernel writes it; 0 if it is not written so.
func kilobytes(size string) uint64 {
	digits, found := strings.CutSuffix(size, "K")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !found || err != nil {
		return 0
	}
	return n
}

// caches are the sizes of the first processor's data and unified caches, nearest first.
func caches(root string) string {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu0/cache/index*"))
	var sizes []string
	for _, folder := range folders {
		if strings.TrimSpace(head(filepath.Join(folder, "type"))) == "Instruction" {
			continue
		}
		if size := strings.TrimSpace(head(filepath.Join(folder, "size"))); size != "" {
			sizes = append(sizes, size)
		}
	}
	return strings.Join(sizes, " ")
}

// head is what a file of the kernel begins with; "" if it cannot be read. The kernel writes
// /proc/cpuinfo as it is read, processor by processor: reading all of it takes milliseconds on a
// large machine.
func head(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	var buffer [4096]byte
	n, _ := f.Read(buffer[:])
	return string(buffer[:n])
}

// oneLine makes s fit a line of the file.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '#' {
			return ' '
		}
		return r
	}, s)), " ")
	if s == "" {
		return "unknown"
	}
	return strings.TrimSpace(s[:min(len(s), 200)])
}
