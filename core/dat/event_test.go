package dat

import (
	"encoding/binary"
	"testing"
)

// TestProposal: an event of an extended transfer has what the proposal of 2005 looks for, and no
// other event.
func TestProposal(t *testing.T) {
	for _, c := range []struct {
		number     EventNumber
		kind       uint32
		old, immed uint32
	}{{EventExtendedDTO, extWriteImmed, 1, 77}, {EventExtendedDTO, extWriteImmedEnd, 3, 77},
		{EventExtendedDTO, extFetchAdd, 5, 77}, {EventExtendedDTO, extCompareSwap, 6, 77},
		{EventExtendedDTO, extUDReceive, 0, 0}, {EventUDEstablished, extUDRemoteAH, 0, 0}} {
		ev := Event{Number: c.number}
		ev.extend(c.kind, 0, 77)
		old, immed := binary.LittleEndian.Uint32(ev.Data[32:]),
			binary.LittleEndian.Uint32(ev.Data[36:])
		if old != c.old || immed != c.immed {
			t.Errorf("%+v: type %d, data %d", c, old, immed)
		}
	}
}

// TestCreationEventHasRankAndSize: of a group that was made each member gets its rank, and the size.
func TestCreationEventHasRankAndSize(t *testing.T) {
	w := newWorld(t, 1, 3, lossy)
	list := w.members(3)
	for i, m := range list {
		w.must("create_group", m.create(list, i, 5))
	}
	for i, m := range list {
		ev, le := w.expect(m.evd, EventCollective), binary.LittleEndian
		rank, size := le.Uint32(ev.Extension[32:]), le.Uint32(ev.Extension[36:])
		if int(rank) != i || int(size) != len(list) {
			t.Errorf("member %d of %d: rank %d, size %d", i, len(list), rank, size)
		}
	}
}
