package dgsm

import "math/bits"

// opcode is lapi_dgsm_opcode_t.
type opcode int32

const (
	opCopy opcode = iota
	opMcopy
	opGosub
	opIterate
	opControl
)

// The instructions are C structs laid over an array of ints: a long takes longInts of them and sits
// where C aligns it within the struct, whatever the alignment of the struct itself. Positions and
// sizes are in ints; TestLayoutIsTheABI compares them with the ABI's.
const (
	longInts = bits.UintSize / 32

	copyBytes  = longInts // after the opcode and its padding
	copyOffset = 2 * longInts
	copySize   = 3 * longInts

	mcopyCount  = 1
	mcopyBlocks = 2
	blockDisp   = 0
	blockLen    = longInts
	blockSize   = 2 * longInts

	gosubTo     = 1
	gosubRet    = 2
	gosubReps   = 2 + longInts // 3 and its padding
	gosubOffset = gosubReps + longInts
	gosubStride = gosubOffset + longInts
	gosubSize   = gosubStride + longInts

	iterateLoc  = 1
	iterateSize = 2

	controlOperation = 1
	controlOperand   = 2
	controlSize      = 3
)
