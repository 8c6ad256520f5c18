// Package processors says which processes of a machine have to share processors: they are not to
// look for each other's progress in vain.
package processors

import (
	"encoding/binary"
	"math/bits"
	"runtime"

	"golang.org/x/sys/unix"
)

// Set is the processors that a process may run on, by the kernel's numbers.
type Set []uint64

// most processors can be in a Set.
const most = 1024

// Own is the calling thread's: those of the process, which its user or launcher has bound.
func Own() Set {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() == 0 {
		return First(runtime.NumCPU())
	}
	var all Set
	for p, left := 0, set.Count(); left > 0 && p < most; p++ {
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

// First is n of them: for a process of which nothing is known.
func First(n int) Set {
	all := make(Set, (n+63)/64)
	for i := range n {
		all[i/64] |= 1 << (i % 64)
	}
	return all
}

// Append appends s to b: 8 bytes for each 64 processors.
func (s Set) Append(b []byte) []byte {
	for _, word := range s {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

// Decode is the inverse; ok: b can be what Append has made.
func Decode(b []byte) (s Set, ok bool) {
	for ; len(b) >= 8; b = b[8:] {
		s = append(s, binary.LittleEndian.Uint64(b))
	}
	return s, len(b) == 0 && len(s) <= most/64
}

// Shares says of each process whether it has to share a processor with another: a process does if
// it, or a process that competes with it, gets none when each is to have a processor of its own.
func Shares(all []Set) []bool {
	owners := map[int]int{} // by processor
	var give func(process int, asked map[int]bool) bool
	give = func(process int, asked map[int]bool) bool {
		for i, word := range all[process] {
			for ; word != 0; word &= word - 1 {
				p := i*64 + bits.TrailingZeros64(word)
				if asked[p] {
					continue
				}
				asked[p] = true
				if other, taken := owners[p]; !taken || give(other, asked) {
					owners[p] = process
					return true
				}
			}
		}
		return false
	}
	result := make([]bool, len(all))
	for i := range all {
		asked := map[int]bool{}
		if give(i, asked) {
			continue
		}
		result[i] = true
		for p := range asked { // all their owners together have no more than these
			result[owners[p]] = true
		}
	}
	return result
}
