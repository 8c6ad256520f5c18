package memory

import (
	"encoding/binary"
	"unsafe"

	"lapi/transport"
)

// CopyOutBlocks fills dst with blocks of user memory: n bytes each, at src, src+stride and so on. n is not 0 and divides len(dst). A
// fault's address is in the block that cannot be read.
func CopyOutBlocks(dst []byte, src transport.Addr, n, stride uint64) (err error) {
	at := src
	defer recoverFaultAt(&err, &at)
	for ; len(dst) > 0; at += transport.Addr(stride) {
		if outside(at, n) {
			return &transport.FaultError{Addr: at}
		}
		move(dst[:n], unsafe.Slice((*byte)(pointer(at)), n))
		dst = dst[n:]
	}
	return nil
}

// CopyInBlocks writes src to blocks of user memory: n bytes each, at dst, dst+stride and so on. n is not 0 and divides len(src). A
// fault's address is in the block that cannot be written; those before it are.
func CopyInBlocks(dst transport.Addr, src []byte, n, stride uint64) (err error) {
	at := dst
	defer recoverFaultAt(&err, &at)
	for ; len(src) > 0; at += transport.Addr(stride) {
		if outside(at, n) {
			return &transport.FaultError{Addr: at}
		}
		move(unsafe.Slice((*byte)(pointer(at)), n), src[:n])
		src = src[n:]
	}
	return nil
}

// move is copy for two slices of one length. Columns of matrices are single numbers: a call for each would cost more than
// moving it.
func move(dst, src []byte) {
	switch len(src) {
	case 4:
		binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src))
	case 8:
		binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src))
	default:
		copy(dst, src)
	}
}
