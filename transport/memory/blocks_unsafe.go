package memory

import (
	"math/bits"
	"unsafe"

	"lapi/transport"
)

// CopyOutBlocks fills dst with blocks of user memory: n bytes each, at src, src+stride and so on;
// stride may wrap around, to go backwards. n is not 0 and divides len(dst). A fault's address is in
// the block that cannot be read; those before it are copied.
func CopyOutBlocks(dst []byte, src transport.Addr, n, stride uint64) error {
	if uint64(len(dst)) > n && gathered(dst, src, n, stride) {
		return nil
	}
	for ; len(dst) > 0; src += transport.Addr(stride) { // one by one, to find the fault
		if err := CopyOut(dst[:n], src); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// CopyInBlocks writes src to blocks of user memory: n bytes each, at dst, dst+stride and so on; as
// CopyOutBlocks. Blocks behind a block that cannot be written are not written.
func CopyInBlocks(dst transport.Addr, src []byte, n, stride uint64) error {
	if uint64(len(src)) > n && scattered(src, dst, n, stride) {
		return nil
	}
	for ; len(src) > 0; dst += transport.Addr(stride) {
		if err := CopyIn(dst, src[:n]); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// gathered is GatherBlocks with a guard: false for a fault, too.
func gathered(dst []byte, src transport.Addr, n, stride uint64) bool {
	defer endAtFault(src)
	return GatherBlocks(dst, src, n, stride)
}

func scattered(src []byte, dst transport.Addr, n, stride uint64) bool {
	defer endAtFault(dst)
	return ScatterBlocks(src, dst, n, stride)
}

// endAtFault makes the function that defers it return its zero value after a fault; every other
// panic goes on.
func endAtFault(base transport.Addr) {
	if r := recover(); r != nil {
		_ = faultOf(r, base)
	}
}

// GatherBlocks is CopyOutBlocks for a caller that recovers from faults itself: it may guard many
// runs of blocks at once. False, and nothing is copied, if some block cannot be user memory,
// whatever is mapped.
func GatherBlocks(dst []byte, src transport.Addr, n, stride uint64) bool {
	if uint64(len(dst)) == n { // a run of its own, as in a list of unequal blocks
		if outside(src, n) {
			return false
		}
		moveOne(unsafe.Pointer(unsafe.SliceData(dst)), pointer(src), uintptr(n))
		return true
	}
	count := uint64(len(dst)) / n
	if !within(src, n, stride, count) {
		return false
	}
	moveBlocks(unsafe.Pointer(unsafe.SliceData(dst)), pointer(src), uintptr(n), uintptr(n),
		uintptr(stride), uintptr(count))
	return true
}

// ScatterBlocks is CopyInBlocks, as GatherBlocks is CopyOutBlocks.
func ScatterBlocks(src []byte, dst transport.Addr, n, stride uint64) bool {
	if uint64(len(src)) == n {
		if outside(dst, n) {
			return false
		}
		moveOne(pointer(dst), unsafe.Pointer(unsafe.SliceData(src)), uintptr(n))
		return true
	}
	count := uint64(len(src)) / n
	if !within(dst, n, stride, count) {
		return false
	}
	moveBlocks(pointer(dst), unsafe.Pointer(unsafe.SliceData(src)), uintptr(n), uintptr(stride),
		uintptr(n), uintptr(count))
	return true
}

// within says whether all of count > 0 blocks of n bytes, stride apart from a on, are where user
// memory can be: the first and the last are, and the way between them does not wrap around.
func within(a transport.Addr, n, stride, count uint64) bool {
	step, back := stride, int64(stride) < 0
	if back {
		step = -stride
	}
	high, way := bits.Mul64(step, count-1)
	if high != 0 || way >= userEnd || outside(a, n) {
		return false
	}
	if back {
		return !outside(a-transport.Addr(way), n) // a difference below 0 wraps to far above userEnd
	}
	return !outside(a+transport.Addr(way), n)
}

// Blocks that are moved by a few instructions. They are structures, not arrays, because the
// compiler moves an array by a call, lest source and destination overlap.
type (
	block16 struct{ a, b uint64 }       //lint:ignore U1000 only moved as a whole
	block32 struct{ a, b, c, d uint64 } //lint:ignore U1000 only moved as a whole
	block64 struct{ a, b block32 }      //lint:ignore U1000 only moved as a whole
)

// callWorth is the length from which a call for each block costs nothing that could be measured.
const callWorth = 256

// moveBlocks moves count blocks of n bytes, which lie dstStep and srcStep apart. Numbers and short
// rows of them are the common layouts; a call for each such block would cost more than moving it.
func moveBlocks(dst, src unsafe.Pointer, n, dstStep, srcStep, count uintptr) {
	switch {
	case n == 1:
		moveAs[uint8](dst, src, dstStep, srcStep, count)
	case n == 2:
		moveAs[uint16](dst, src, dstStep, srcStep, count)
	case n == 4:
		moveAs[uint32](dst, src, dstStep, srcStep, count)
	case n == 8:
		moveAs[uint64](dst, src, dstStep, srcStep, count)
	case n == 16:
		moveAs[block16](dst, src, dstStep, srcStep, count)
	case n == 32:
		moveAs[block32](dst, src, dstStep, srcStep, count)
	case n == 64:
		moveAs[block64](dst, src, dstStep, srcStep, count)
	case n < 8 || n > callWorth:
		moveLong(dst, src, n, dstStep, srcStep, count)
	case n < 16:
		moveParts[uint64](dst, src, n, dstStep, srcStep, count)
	case n < 64:
		moveParts[block16](dst, src, n, dstStep, srcStep, count)
	default:
		moveParts[block64](dst, src, n, dstStep, srcStep, count)
	}
}

// moveAs is moveBlocks for blocks as long as a T. Here and below offsets grow, not pointers: none
// may point behind a slice of Go's.
func moveAs[T any](dst, src unsafe.Pointer, dstStep, srcStep, count uintptr) {
	var to, from uintptr
	for ; count > 0; count-- {
		*(*T)(unsafe.Add(dst, to)) = *(*T)(unsafe.Add(src, from))
		to, from = to+dstStep, from+srcStep
	}
}

// moveParts is moveBlocks for blocks of a T or more: as many Ts as are needed, the last of which
// ends with the block and may lie on the one before.
func moveParts[T any](dst, src unsafe.Pointer, n, dstStep, srcStep, count uintptr) {
	var part T
	last := n - unsafe.Sizeof(part)
	var to, from uintptr
	for ; count > 0; count-- {
		for i := uintptr(0); i < last; i += unsafe.Sizeof(part) {
			*(*T)(unsafe.Add(dst, to+i)) = *(*T)(unsafe.Add(src, from+i))
		}
		*(*T)(unsafe.Add(dst, to+last)) = *(*T)(unsafe.Add(src, from+last))
		to, from = to+dstStep, from+srcStep
	}
}

// moveLong is moveBlocks for blocks of any length.
func moveLong(dst, src unsafe.Pointer, n, dstStep, srcStep, count uintptr) {
	var to, from uintptr
	for ; count > 0; count-- {
		moveOne(unsafe.Add(dst, to), unsafe.Add(src, from), n)
		to, from = to+dstStep, from+srcStep
	}
}

// moveOne moves a block of n bytes.
func moveOne(dst, src unsafe.Pointer, n uintptr) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
