package shm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lapi/transport/layout"
)

const (
	areaLeast = 256 << 10
	areaMost  = 1 << 20
)

// chunkSizes: data that goes through chunks, of a length of from or more, goes in chunks of bytes.
// Many enough that both ends copy at once, few enough to cost little: measured with tasks that
// poll, at most 10 % between neighbours with 16 to 64 KiB, 25 % for 16 KiB in one chunk or two. Of
// 4 and 8 KiB also because each chunk begins a page: in a page that is filled to its end the
// prefetchers of one processor go on into the next, which the other processor writes
// (tests/bench/results/2026-11.md).
var chunkSizes = [...]struct{ from, bytes uint64 }{
	{0, 4 << 10},
	{4 << 10, 2 << 10},
	{16 << 10, 8 << 10},
	{64 << 10, 16 << 10},
	{256 << 10, 32 << 10},
}

// tabulate writes the sizes of chunks where C looks for them.
func tabulate(table *[layout.ChunkClasses]uint32) {
	for class := range table {
		for _, c := range chunkSizes {
			if uint64(1)<<class >= c.from {
				table[class] = uint32(c.bytes)
			}
		}
	}
}

// setChunks says how chunks are used.
func (l *Link) setChunks() {
	n, rings := l.node, len(l.tasks)
	tabulate(&n.ChunkOf)
	n.ChunkLimit = uint32(chunkUnits(rings, l.config.Area))
	n.ChunkUnits, n.ChunkNarrow = n.ChunkLimit, n.ChunkLimit
	if l.config.AreaMost == 0 {
		return
	}
	n.ChunkUnits = uint32(chunkUnits(rings, max(l.config.Area, l.config.AreaMost)))
	n.ChunkNarrow = uint32(chunkUnits(rings, areaLeast))
	n.Routes.Wide = flag(n.ChunkLimit > n.ChunkNarrow)
}

// chunkUnits is how many units of an area to use if area bytes are wanted: a power of two, at most
// the area's units, and at least those of a longest message.
func chunkUnits(rings int, area uint64) uint64 {
	units := chunkArea(rings) / layout.ChunkUnit
	for area != 0 && units*layout.ChunkUnit > area && units/2*layout.ChunkUnit >= layout.ChunkMax {
		units /= 2
	}
	return units
}

// Area is the most data, in bytes of chunks, that one task of a node should have on its way to
// another: first as long as nothing was measured, most at any time. tasks is the number of the
// node's tasks; crowded: they have to share processors.
//
// The memory that the sender writes next has then long moved from both processors' own caches to
// the shared cache, from where it comes sooner than from the other processor's own cache. This
// holds if the data on their way are more than an own cache holds, and the shared cache holds those
// of all pairs. Measured: 512 KiB and 32 MiB, tests/bench/results/2026-11.md. With 1 MiB of own
// cache the least was best on one machine, and a quarter as fast on another.
func Area(tasks int, crowded bool) (first, most uint64) {
	if crowded {
		return areaLeast, areaLeast
	}
	return areaOf("/", tasks, crowded), areaMost
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

// head is the text of a short file of the kernel; "" if it cannot be read.
func head(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}
