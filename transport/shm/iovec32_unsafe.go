//go:build 386

package shm

import (
	"unsafe"

	"lapi/transport"
)

// iovecs makes the kernel's lists of ranges, whose words are half as long as ours. All addresses and lengths fit: this process and
// the peer have 32-bit addresses (Link.newPeer), and transfers that do not are refused before.
type iovecs struct{ here, there []vector }

// lists returns where the kernel finds these lists, neither of them empty; valid until the next call.
func (v *iovecs) lists(local, remote []transport.Range) (here, there unsafe.Pointer) {
	v.here, v.there = narrowed(v.here[:0], local), narrowed(v.there[:0], remote)
	return unsafe.Pointer(&v.here[0]), unsafe.Pointer(&v.there[0])
}

func narrowed(to []vector, list []transport.Range) []vector {
	for _, r := range list {
		to = append(to, vector{uintptr(r.Addr), uintptr(r.N)})
	}
	return to
}
