package wireup

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// processors are those that a task's thread may run on, by the kernel's numbers.
type processors []uint64

// ownProcessors are the calling thread's: those of the task, which its user or launcher has bound.
func ownProcessors() processors {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() == 0 {
		return firstProcessors(runtime.NumCPU())
	}
	var all processors
	for p, left := 0, set.Count(); left > 0; p++ {
		if p%64 == 0 {
			all = append(all, 0)
		}
		if set.IsSet(p) {
			all[p/64] |= 1 << (p % 64)
			left--
		}
	}
	return all
}

// firstProcessors are the first n processors: for a task of which nothing is known.
func firstProcessors(n int) processors {
	all := make(processors, (n+63)/64)
	for i := range n {
		all[i/64] |= 1 << (i % 64)
	}
	return all
}

// machineID names this machine since it was started, the same in all its tasks: tasks of two
// machines share nothing.
func machineID() uint64 {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// ProcessorsNumber names this machine and the processors that the task may run on. Tasks with the same
// number compete for these; 0 is none.
func ProcessorsNumber() uint16 {
	place := where{machineID(), ownProcessors()}
	if place.machine == 0 {
		return 0
	}
	sum := sha256.Sum256(place.append(nil))
	return max(binary.LittleEndian.Uint16(sum[:]), 1)
}

// where is what a card says of the task's place: machineID and processors.
type where struct {
	machine uint64
	may     processors
}

func (w where) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, w.machine)
	for _, word := range w.may {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// decodeWhere is the inverse; a task that says nothing may be anywhere on this machine.
func decodeWhere(b []byte) (w where) {
	if len(b) < 16 || len(b)%8 != 0 {
		return where{machineID(), firstProcessors(runtime.NumCPU())}
	}
	w.machine = binary.LittleEndian.Uint64(b)
	for b = b[8:]; len(b) > 0; b = b[8:] {
		w.may = append(w.may, binary.LittleEndian.Uint64(b))
	}
	return w
}

// shares says of each task whether it has to share a processor with another: if each task is to
// have a processor of its own, it or a task that it competes with gets none.
func shares(tasks []processors) []bool {
	owners := map[int]int{} // by processor
	var give func(task int, asked map[int]bool) bool
	give = func(task int, asked map[int]bool) bool {
		for i, word := range tasks[task] {
			for ; word != 0; word &= word - 1 {
				p := i*64 + bits.TrailingZeros64(word)
				if asked[p] {
					continue
				}
				asked[p] = true
				if other, taken := owners[p]; !taken || give(other, asked) {
					owners[p] = task
					return true
				}
			}
		}
		return false
	}
	result := make([]bool, len(tasks))
	for i := range tasks {
		asked := map[int]bool{}
		if give(i, asked) {
			continue
		}
		result[i] = true
		for p := range asked { // all owners of these together have no other processors
			result[owners[p]] = true
		}
	}
	return result
}

// chooseProcessors finds out which tasks have to share processors, from the places in the tasks'
// cards; nil: that task's card has none.
func (n *Net) chooseProcessors(places [][]byte) {
	own := machineID()
	var here []processors
	me := 0
	for i, place := range places {
		w := decodeWhere(place)
		if i == n.me {
			me = len(here)
		}
		if i == n.me || w.machine == own {
			here = append(here, w.may)
		}
	}
	shared := shares(here)
	n.crowded, n.anyCrowded = shared[me], slices.Contains(shared, true)
}
