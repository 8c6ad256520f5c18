package wireup

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"runtime"
	"slices"

	"lapi/core/processors"
)

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

// where is what a card says of the task's place.
type where struct {
	machine uint64
	may     processors.Set
}

func (w where) append(b []byte) []byte {
	return w.may.Append(binary.LittleEndian.AppendUint64(b, w.machine))
}

// decodeWhere is the inverse; a task that says nothing may be anywhere on this machine.
func decodeWhere(b []byte) where {
	if len(b) >= 16 {
		if may, ok := processors.Decode(b[8:]); ok {
			return where{binary.LittleEndian.Uint64(b), may}
		}
	}
	return where{machineID(), processors.First(runtime.NumCPU())}
}

// chooseProcessors finds out who has to share processors, from what the tasks have said of their
// places; nil: that task has said nothing.
func (n *Net) chooseProcessors(places [][]byte) {
	own := machineID()
	var here []processors.Set
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
	shared := processors.Shares(here)
	n.crowded, n.anyCrowded = shared[me], slices.Contains(shared, true)
}
