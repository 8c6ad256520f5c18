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
