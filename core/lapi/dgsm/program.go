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
	// MaxDepth is how many routines may be active at once, whatever a descriptor's depth
	// allows. It bounds a Machine.
	MaxDepth = 1024
	// MaxBytes bounds the packed size of a program and the length of a transfer, so that sums
	// of two do not overflow; and where longs have 32 bits, what these can count.
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

	// fault is why the program cannot be used, nil if it can: without verification a faulty program
	// is registered all the same.
	fault *Error
}

// New copies and decodes a program. verify asks for every static check; without it only what a use
// could not survive is looked for, and found at use. The error is LAPI_ERR_DGSP_ATOM or
// LAPI_ERR_DGSP_OTHER in either case, and any of the DGSP codes with verify.
func New(d Descriptor, code []int32, verify bool) (*Program, *Error) {
	return build(d, append([]int32(nil), code...), verify)
}

// build is New with a code that it may keep.
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
// atom: n if the program has none. The data that this program gathers is cut into fragments of such
// lengths; 0 says that n is too small.
func (p *Program) AtomAlign(n uint64) uint64 {
	if p.AtomSize == 0 {
		return n
	}
	return n - n%uint64(p.AtomSize)
}

// readAtATime is how many ints are read at once: a code_size that is a lie fails before memory is
// taken for it.
const readAtATime = 1 << 16

var native = binary.NativeEndian

// Load is New for the lapi_dgsp_descr_t at an address of the user's. LAPI_ERR_DGSP if it is NULL or
// cannot be read, LAPI_ERR_DGSP_OTHER if its code cannot.
func Load(descriptor transport.Addr, verify bool) (*Program, *Error) {
	var c cDescriptor
	if err := memory.CopyOut(c.bytes(), descriptor); err != nil {
		return nil, errorf(codes.ErrDgsp, "descriptor: %v", err)
	}
	d := Descriptor{c.depth, Density(c.density), int64(c.size), int64(c.extent), int64(c.lext),
		int64(c.rext), c.atomSize}
	if err := checkDescriptor(d, int(c.codeSize)); err != nil {
		return nil, err
	}
	code, err := readInts(transport.Addr(c.code), int(c.codeSize))
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
func (p *Program) EncodedSize() int { return int(descrSize) + 4*len(p.code) }

// Encode writes the program as C sees it to EncodedSize bytes at a, aligned to 8: the descriptor,
// and after it the code that its first member points at. An address that cannot be written is a
// *transport.FaultError.
func (p *Program) Encode(a transport.Addr) error {
	d := cDescriptor{uintptr(a) + descrSize, int32(len(p.code)), p.Depth, int32(p.Density),
		int(p.Size), int(p.Extent), int(p.Lext), int(p.Rext), p.AtomSize}
	b := append(make([]byte, 0, p.EncodedSize()), d.bytes()...)
	for _, v := range p.code {
		b = native.AppendUint32(b, uint32(v))
	}
	return memory.CopyIn(a, b)
}
