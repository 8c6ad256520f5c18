package dgsm

import "unsafe"

// cDescriptor is lapi_dgsp_descr_t. longs are as long as pointers, and as ints of Go, on every
// Linux.
type cDescriptor struct {
	code                     uintptr
	codeSize, depth, density int32
	size, extent, lext, rext int
	atomSize                 int32
}

const descrSize = unsafe.Sizeof(cDescriptor{})

func (d *cDescriptor) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(d)), descrSize)
}

// long reads the C long at code[at], which may lie at any multiple of 4 bytes.
func long(code []int32, at int) int64 {
	return int64(*(*int)(unsafe.Pointer(&code[at : at+longInts][0])))
}
