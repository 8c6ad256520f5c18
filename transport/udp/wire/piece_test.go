package wire

import (
	"bytes"
	"testing"
)

// piece is a Piece packet behind its header.
func piece(offset, total, n int) []byte {
	b := make([]byte, PieceSize+n)
	PutPiece(b, offset, total)
	for i := range n {
		b[PieceSize+i] = byte(i)
	}
	return b
}

func TestPiece(t *testing.T) {
	const longest = MaxDatagram - HeaderSize
	for _, c := range []struct {
		offset, total, n int
		fits             bool
	}{
		{0, 64, 64, true}, {0, 1, 1, true}, {64, 65, 1, true}, {64, 200, 128, true}, {0, longest, 1024, true}, {longest &^ 63, longest, longest & 63, true},
		{0, 64, 0, false},             // nothing in it
		{0, 63, 64, false},            // beyond the end
		{128, 128, 64, false},         // behind the end
		{32, 96, 64, false},           // begins between two units
		{0, 200, 100, false},          // ends between two, and not at the end
		{0, longest + 1, 1024, false}, // of a packet longer than there are
		{1 << 31, 1 << 20, 64, false},
		{-64, 64, 64, false},
	} {
		var p Piece
		b := piece(c.offset, c.total, c.n)
		err := p.Decode(b)
		if (err == nil) != c.fits {
			t.Errorf("%d bytes at %d of %d: %v", c.n, c.offset, c.total, err)
		}
		if err == nil && (p.Offset != c.offset || p.Total != c.total || !bytes.Equal(p.Bytes, b[PieceSize:])) {
			t.Errorf("%d bytes at %d of %d become %d at %d of %d", c.n, c.offset, c.total, len(p.Bytes), p.Offset, p.Total)
		}
	}
	var p Piece
	for n := range PieceSize + 1 {
		if p.Decode(make([]byte, n)) == nil {
			t.Errorf("%d bytes are a piece", n)
		}
	}
}

// FuzzPiece: what is accepted lies within its packet and within the longest that there may be, and in whole units.
func FuzzPiece(f *testing.F) {
	f.Add(piece(0, 64, 64))
	f.Add(piece(64, 65, 1))
	f.Add(piece(1<<20, 64, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Piece
		if p.Decode(b) != nil {
			return
		}
		end := p.Offset + len(p.Bytes)
		if len(p.Bytes) == 0 || p.Offset < 0 || p.Offset%PieceUnit != 0 || end > p.Total || p.Total > MaxDatagram-HeaderSize || end%PieceUnit != 0 && end != p.Total ||
			(end+PieceUnit-1)/PieceUnit > MaxPieceUnits {
			t.Fatalf("accepted %d bytes at %d of %d", len(p.Bytes), p.Offset, p.Total)
		}
	})
}
