package dgsm

import "unsafe"

const (
	longSize = 4 * longInts

	dsCode     = int(unsafe.Offsetof(cDescriptor{}.code))
	dsCodeSize = int(unsafe.Offsetof(cDescriptor{}.codeSize))
	dsDepth    = int(unsafe.Offsetof(cDescriptor{}.depth))
	dsDensity  = int(unsafe.Offsetof(cDescriptor{}.density))
	dsSize     = int(unsafe.Offsetof(cDescriptor{}.size))
	dsExtent   = int(unsafe.Offsetof(cDescriptor{}.extent))
	dsLext     = int(unsafe.Offsetof(cDescriptor{}.lext))
	dsRext     = int(unsafe.Offsetof(cDescriptor{}.rext))
	dsAtom     = int(unsafe.Offsetof(cDescriptor{}.atomSize))
)

// putLong writes a long of C.
func putLong(b []byte, v int64) {
	if longSize == 4 {
		native.PutUint32(b, uint32(v))
		return
	}
	native.PutUint64(b, uint64(v))
}

// covers is how many bytes one application covers; 0 for a program that cannot be used. Size is
// what its maker says.
func (p *Program) covers() uint64 {
	if p.fault != nil {
		return 0
	}
	return p.main.size
}
