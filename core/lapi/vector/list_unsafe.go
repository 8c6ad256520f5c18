package vector

import "unsafe"

// BlockSize is what one block of a List takes, bytes.
const BlockSize = int(unsafe.Sizeof(block{}))

// blockBytes is a list as bytes. Both tasks run this package on one machine, so they agree about
// its layout.
func blockBytes(list []block) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*BlockSize)
}
