package dat

import (
	"lapi/core/dat/codes"
	"lapi/transport/memory"
)

// blockAddress is where a block's memory is.
func blockAddress(m *memoryBlock) uint64 {
	if m.b == nil {
		return 0
	}
	return uint64(memory.AddrOf(m.b))
}

// memoryBlock is memory that the consumer sees, at an address that stays.
type memoryBlock struct {
	ia *IA
	b  []byte
}

// keep copies data to memory of its own, for an adapter.
func (m *memoryBlock) keep(ia *IA, data []byte) (address uint64, r codes.Return) {
	m.release()
	if len(data) == 0 {
		return 0, codes.Success
	}
	b, err := ia.library.memory.Get(len(data))
	if err != nil {
		return 0, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	m.ia, m.b = ia, b
	ia.count(iaMemAlloc)
	ia.counters[iaMemAllocData] += uint64(len(data))
	copy(b, data)
	return uint64(memory.AddrOf(b)), codes.Success
}

func (m *memoryBlock) release() {
	if m.b != nil {
		m.ia.library.memory.Put(m.b)
		m.ia.count(iaMemFree)
		m.b = nil
	}
}
