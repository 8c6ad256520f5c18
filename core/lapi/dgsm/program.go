package dgsm

import (
	"encoding/binary"
	"fmt"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

const (
	// MaxAtomSize is the largest atom_size, bytes: MAX_ATOM_SIZE of LAPI_Qenv.
	MaxAtomSize = 32
	// MaxDepth is how many routines may be active at once, whatever a descriptor's depth allows. It
	// bounds a Machine.
	MaxDepth = 1024
	// MaxBytes bounds the packed size of a program and the length of a transfer, so that sums of
	// two do not overflow; and where longs have 32 bits, what these can count.
	MaxBytes = 1 << (31 + 31*(^uint(0)>>63))
)

// Density is lapi_dgsp_density_t: what the maker of a program promises about its layout.
type Density int32

const (
	Sparse Density = iota // with gaps
	Contig                // one block, with a gap between repetitions
	Unit                  // one block without gaps, repeated or not
)

// Descriptor is lapi_dgsp_descr_t without its code. Lengths and offsets are bytes.
type Descriptor struct {
	Depth      int32 // routines active at once, 1 without GOSUB
	Density    Density
	Size       int64 // covered by one application
	Extent     int64 // from one application to the next
	Lext, Rext int64 // the lowest byte covered, and the one after the highest
	AtomSize   int32 // 0, or the unit in which packets are filled
}

// Error is what is wrong with a program, or with its use: a LAPI code and an explanation for the
// user.
type Error struct {
	Code codes.Code
	Text string
}

func (e *Error) Error() string { return codes.Name(e.Code) + ": " + e.Text }

func errorf(code codes.Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Program is a DGSP: an immutable copy of descriptor and code, decoded.
type Program struct {
	Descriptor
	code    []int32
	main    *routine
	control bool // some CONTROL instruction can be reached
	depth   int  // routines really active at once: frames that a machine needs

	// regular says that repetitions of the whole program form one strided (or contiguous) run,
	// which is flat.
	regular bool
	flat    op

	// fault is why the program cannot be used, nil if it can: without verification it is registered
	// all the same.
	fault *Error
}

// New copies and decodes a program. verify asks for every static check; without it only what a use
// could not survive is looked for, and found at use. The error is LAPI_ERR_DGSP_ATOM or
// LAPI_ERR_DGSP_OTHER in either case, and any of the DGSP codes with verify.
func New(d Descriptor, code []int32, verify bool) (*Program, *Error) {
	return build(d, append([]int32(nil), code...), verify)
}

// build is New with a code that nobody else has.
func build(d Descriptor, code []int32, verify bool) (*Program, *Error) {
	p := &Program{Descriptor: d, code: code}
	if err := checkDescriptor(d, len(code)); err != nil {
		return nil, err
	}
	p.fault = p.decode(verify)
	if verify && p.fault == nil {
		p.fault = p.verify()
	}
	if verify && p.fault != nil {
		return nil, p.fault
	}
	return p, nil
}

// Covers is how many bytes one application covers; 0 for a program that cannot be used. Size is
// what its maker says.
func (p *Program) Covers() uint64 {
	if p.fault != nil {
		return 0
	}
	return p.main.size
}

// HasControl says whether the program has a CONTROL instruction, so that it can only scatter, by a
// DDM function.
func (p *Program) HasControl() bool { return p.control }

// Contiguous returns where the first n bytes of the program's stream begin, from the buffer's
// start, and true, if they are one block. (A transfer from byte First on asks for First + Bytes and
// adds First.)
func (p *Program) Contiguous(n uint64) (offset int64, ok bool) {
	if p.fault != nil || !p.regular || n > p.flat.block {
		return 0, false
	}
	return p.flat.offset, true
}

// AtomAlign returns the largest length of at most n bytes, from an atom's start, that splits no
// atom: n if the program has none. Whoever cuts what this program gathers into fragments cuts at
// such lengths; 0 says that n is too small.
func (p *Program) AtomAlign(n uint64) uint64 {
	if p.AtomSize == 0 {
		return n
	}
	return n - n%uint64(p.AtomSize)
}

// The descriptor in C: offsets in bytes. longs are as long as pointers on every Linux.
const (
	longSize    = 4 * longInts
	dsCode      = 0
	dsCodeSize  = longSize
	dsDepth     = dsCodeSize + 4
	dsDensity   = dsDepth + 4
	dsSize      = (dsDensity + 4 + longSize - 1) / longSize * longSize
	dsExtent    = dsSize + longSize
	dsLext      = dsExtent + longSize
	dsRext      = dsLext + longSize
	dsAtom      = dsRext + longSize
	descrSize   = (dsAtom + 4 + longSize - 1) / longSize * longSize
	readAtATime = 1 << 16 // ints: a code_size that is a lie fails before memory is taken for it
)

var (
	native    = binary.NativeEndian
	bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1
)

func getLong(b []byte) int64 {
	if longSize == 4 {
		return int64(int32(native.Uint32(b)))
	}
	return int64(native.Uint64(b))
}

func putLong(b []byte, v int64) {
	if longSize == 4 {
		native.PutUint32(b, uint32(v))
		return
	}
	native.PutUint64(b, uint64(v))
}

// Load is New for the lapi_dgsp_descr_t at an address of the user's. LAPI_ERR_DGSP if it is NULL or
// cannot be read, LAPI_ERR_DGSP_OTHER if its code cannot.
func Load(descriptor transport.Addr, verify bool) (*Program, *Error) {
	var b [descrSize]byte
	if err := memory.CopyOut(b[:], descriptor); err != nil {
		return nil, errorf(codes.ErrDgsp, "descriptor: %v", err)
	}
	d := Descriptor{
		Depth:    int32(native.Uint32(b[dsDepth:])),
		Density:  Density(int32(native.Uint32(b[dsDensity:]))),
		Size:     getLong(b[dsSize:]),
		Extent:   getLong(b[dsExtent:]),
		Lext:     getLong(b[dsLext:]),
		Rext:     getLong(b[dsRext:]),
		AtomSize: int32(native.Uint32(b[dsAtom:])),
	}
	size := int(int32(native.Uint32(b[dsCodeSize:])))
	if err := checkDescriptor(d, size); err != nil {
		return nil, err
	}
	at := transport.Addr(uintptr(getLong(b[dsCode:])))
	code, err := readInts(at, size)
	if err != nil {
		return nil, errorf(codes.ErrDgspOther, "code: %v", err)
	}
	return build(d, code, verify)
}

// readInts copies n ints of user memory.
func readInts(at transport.Addr, n int) ([]int32, error) {
	buffer := make([]byte, 4*min(n, readAtATime))
	var ints []int32
	for len(ints) < n {
		part := buffer[:4*min(n-len(ints), readAtATime)]
		if err := memory.CopyOut(part, at); err != nil {
			return nil, err
		}
		for i := 0; i < len(part); i += 4 {
			ints = append(ints, int32(native.Uint32(part[i:])))
		}
		at += transport.Addr(len(part))
	}
	return ints, nil
}

// EncodedSize is how many bytes Encode writes.
func (p *Program) EncodedSize() int { return descrSize + 4*len(p.code) }

// Encode writes the program as C sees it to EncodedSize bytes at a, aligned to 8: the descriptor,
// and after it the code that its first member points at. An address that cannot be written is a
// *transport.FaultError.
func (p *Program) Encode(a transport.Addr) error {
	b := make([]byte, p.EncodedSize())
	putLong(b[dsCode:], int64(uintptr(a)+descrSize))
	native.PutUint32(b[dsCodeSize:], uint32(len(p.code)))
	native.PutUint32(b[dsDepth:], uint32(p.Depth))
	native.PutUint32(b[dsDensity:], uint32(p.Density))
	putLong(b[dsSize:], p.Size)
	putLong(b[dsExtent:], p.Extent)
	putLong(b[dsLext:], p.Lext)
	putLong(b[dsRext:], p.Rext)
	native.PutUint32(b[dsAtom:], uint32(p.AtomSize))
	for i, v := range p.code {
		native.PutUint32(b[descrSize+4*i:], uint32(v))
	}
	return memory.CopyIn(a, b)
}
