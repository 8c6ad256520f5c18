package lapi

import (
	"unsafe"

	"lapi/core/lapi/peer"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// newOutboxes makes the boxes' memory; without Outboxes if the kernel has none.
func newOutboxes(tasks int) outboxes {
	const head, each = int(unsafe.Sizeof(layout.Outboxes{})), int(unsafe.Sizeof(layout.Outbox{}))
	b, err := arena.Map(head + tasks*each)
	if err != nil {
		return outboxes{}
	}
	return outboxes{
		Outboxes: (*layout.Outboxes)(unsafe.Pointer(&b[0])),
		of:       unsafe.Slice((*layout.Outbox)(unsafe.Pointer(&b[head])), tasks),
		memory:   b,
		reserved: make([]*peer.Peer, 0, 1),
	}
}

func (o *outboxes) address() uint64 { return uint64(uintptr(unsafe.Pointer(o.Outboxes))) }

// addressOfTail is where tail begins, which may be empty but for its capacity.
func addressOfTail(tail []byte) transport.Addr { return memory.AddrOf(tail[:1:1]) }
