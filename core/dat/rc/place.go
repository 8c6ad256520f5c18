package rc

import (
	"lapi/transport"
	"lapi/transport/memory"
)

// Segment is a piece of local memory.
type Segment struct {
	Addr transport.Addr
	N    uint32
}

// sum is how many bytes segments have.
func sum(segments []Segment) (n uint64) {
	for _, s := range segments {
		n += uint64(s.N)
	}
	return n
}

// piece is the part of segments that begins at offset and lies in one of them, at most most bytes.
func piece(segments []Segment, offset, most uint32) Segment {
	for _, s := range segments {
		if offset < s.N {
			return Segment{s.Addr + transport.Addr(offset), min(s.N-offset, most)}
		}
		offset -= s.N
	}
	return Segment{}
}

// scatter writes data to segments from offset on. They are long enough.
func scatter(segments []Segment, offset uint32, data []byte) error {
	for len(data) > 0 {
		s := piece(segments, offset, uint32(len(data)))
		if err := memory.CopyIn(s.Addr, data[:s.N]); err != nil {
			return err
		}
		data, offset = data[s.N:], offset+s.N
	}
	return nil
}
