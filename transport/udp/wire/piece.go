package wire

import "encoding/binary"

// Piece is a part of a Data packet's rest (what follows its header), in a packet of its own:
//
//	 0                               31 32                            63
//	+-----------------------------------+--------------------------------+
//	|  offset in the rest               |  length of the rest            |
//	+-----------------------------------+--------------------------------+
//	|  bytes                                                             |
//	+--------------------------------------------------------------------+
//
// Pieces begin at multiples of PieceUnit; all but the last are multiples of it long. A packet that goes again may be cut in another way.
type Piece struct {
	Offset, Total int
	Bytes         []byte // a part of the packet
}

// Sizes in bytes.
const (
	PieceSize = 8  // in front of a piece's bytes
	PieceUnit = 64 // what pieces consist of
	// MaxPieceUnits is how many there are in the longest packet.
	MaxPieceUnits = (MaxDatagram - HeaderSize + PieceUnit - 1) / PieceUnit
)

// PutPiece writes the front of a piece to the first PieceSize bytes of b.
func PutPiece(b []byte, offset, total int) {
	binary.LittleEndian.PutUint32(b, uint32(offset))
	binary.LittleEndian.PutUint32(b[4:], uint32(total))
}

// Decode takes the piece out of rest, a Piece packet behind its header.
func (p *Piece) Decode(rest []byte) error {
	if len(rest) <= PieceSize {
		return ErrMalformed
	}
	offset, total := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
	b := rest[PieceSize:]
	if total > MaxDatagram-HeaderSize || offset%PieceUnit != 0 || uint64(offset)+uint64(len(b)) > uint64(total) {
		return ErrMalformed
	}
	if len(b)%PieceUnit != 0 && uint64(offset)+uint64(len(b)) != uint64(total) {
		return ErrMalformed
	}
	p.Offset, p.Total, p.Bytes = int(offset), int(total), b
	return nil
}
