// Package memory reads and writes user memory: addresses that came through the C interface or from
// a peer.
//
// Such an address may be wrong. The functions named Copy…, Add… and so on turn a fault into an
// error; they rely on Guard having been called on this goroutine, which makes the Go run-time raise
// a recoverable panic instead of ending the process. A good address pays nothing for it (measured:
// 75 ns a call from C against 68 ns empty, where process_vm_writev to oneself costs 570 ns).
// Nothing here ever touches the Go heap through an Addr.
package memory

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"lapi/transport"
)

// Guard must run on a goroutine before any other function of this package that returns an error:
// each entry from C calls it.
func Guard() { debug.SetPanicOnFault(true) }

func pointer(a transport.Addr) unsafe.Pointer {
	p := uintptr(a)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// Bytes is the n bytes at a, unguarded: for memory known to be good, such as a link's own.
func Bytes(a transport.Addr, n uint64) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(a)), n)
}

// AddrOf is the address of b's first byte. b must not be on the Go heap, or must be kept alive and
// used only while it is.
func AddrOf(b []byte) transport.Addr {
	return transport.Addr(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// recoverFault turns the run-time's fault panic into *FaultError and lets every other panic
// through.
func recoverFault(err *error, base transport.Addr) {
	if r := recover(); r != nil {
		*err = faultOf(r, base)
	}
}

// faultOf is the fault that a panic reports; every other panic goes on.
func faultOf(r any, base transport.Addr) error {
	if f, ok := r.(interface{ Addr() uintptr }); ok {
		a := transport.Addr(f.Addr())
		if a == 0 { // the kernel does not tell for non-canonical addresses
			a = base
		}
		return &transport.FaultError{Addr: a}
	}
	if e, ok := r.(error); ok && e.Error() == nilFault {
		return &transport.FaultError{Addr: base}
	}
	panic(r)
}

// nilFault is how the run-time reports a fault in the first page.
const nilFault = "runtime error: invalid memory address or nil pointer dereference"

// User memory lies between these on every architecture; where addresses have 32 bits, below all
// that these can name. The first page never is: the run-time takes a fault there for the use of a
// nil pointer.
const (
	userStart = 4096
	userEnd   = 1 << (32 + 24*(^uint(0)>>63))
)

// outside says whether n bytes at a cannot all be user memory, whatever is mapped. The run-time
// would not report such a range as a fault but as a misuse of unsafe.
func outside(a transport.Addr, n uint64) bool {
	return a < userStart || uint64(a) >= userEnd || n > userEnd-uint64(a)
}

// CopyIn writes src to user memory at dst.
func CopyIn(dst transport.Addr, src []byte) (err error) {
	if len(src) == 0 {
		return nil
	}
	if outside(dst, uint64(len(src))) {
		return &transport.FaultError{Addr: dst}
	}
	defer recoverFault(&err, dst)
	copy(unsafe.Slice((*byte)(pointer(dst)), len(src)), src)
	return nil
}

// weak says whether stores may become visible in another order than a processor makes them.
const weak = runtime.GOARCH != "amd64" && runtime.GOARCH != "386"

// fence is a full barrier: of a sequentially consistent store and load the load comes second;
// earlier accesses stay before the store, and later ones after the load.
func fence() {
	var word uint32
	atomic.StoreUint32(&word, 1)
	atomic.LoadUint32(&word)
}

// CopyInLast writes src, 1 to 8 bytes that lie in one aligned word, behind all that was written
// before, the last byte last: a program that looks at it sees the rest.
func CopyInLast(dst transport.Addr, src []byte) error {
	if !weak {
		return CopyIn(dst, src)
	}
	return copyInLast(dst, src)
}

func copyInLast(dst transport.Addr, src []byte) error {
	fence()
	if n := len(src); n != 1 && n != 4 && n != 8 { // not one store
		if err := CopyIn(dst, src[:n-1]); err != nil {
			return err
		}
		fence()
		dst, src = dst+transport.Addr(n-1), src[n-1:]
	}
	return CopyIn(dst, src)
}

// CopyOut reads user memory at src into dst.
func CopyOut(dst []byte, src transport.Addr) (err error) {
	if len(dst) == 0 {
		return nil
	}
	if outside(src, uint64(len(dst))) {
		return &transport.FaultError{Addr: src}
	}
	defer recoverFault(&err, src)
	copy(dst, unsafe.Slice((*byte)(pointer(src)), len(dst)))
	return nil
}

// Read lets f look at n bytes of user memory at a, which it must not keep.
func Read(a transport.Addr, n uint64, f func(b []byte)) (err error) {
	if n == 0 {
		return nil
	}
	if outside(a, n) {
		return &transport.FaultError{Addr: a}
	}
	defer recoverFault(&err, a)
	f(Bytes(a, n))
	return nil
}

// Copy moves n bytes of user memory from src to dst; the ranges may overlap.
func Copy(dst, src transport.Addr, n uint64) (err error) {
	if n == 0 {
		return nil
	}
	if outside(dst, n) {
		return &transport.FaultError{Addr: dst}
	}
	if outside(src, n) {
		return &transport.FaultError{Addr: src}
	}
	base := dst
	if src > dst {
		// where the kernel does not report the address: of the two, only the higher can be
		// an address that no user has
		base = src
	}
	defer recoverFault(&err, base)
	to := unsafe.Slice((*byte)(pointer(dst)), n)
	if dst == src { // copy would touch nothing, whatever n is
		touch(&to[0])
		touch(&to[n-1])
		return nil
	}
	copy(to, unsafe.Slice((*byte)(pointer(src)), n))
	return nil
}

// touch faults if b cannot be read.
//
//go:noinline
func touch(b *byte) byte { return *b }

// leastPage is the size of the smallest page of any processor.
const leastPage = 4096

// Readable is a fault if n bytes at a cannot all be read.
func Readable(a transport.Addr, n uint64) error {
	return probe(a, n, func(b transport.Addr) { touch((*byte)(pointer(b))) })
}

// Writable is a fault if n bytes at a cannot all be written. The bytes keep their values; nobody
// else may write there meanwhile.
func Writable(a transport.Addr, n uint64) error {
	return probe(a, n, func(b transport.Addr) { rewrite((*byte)(pointer(b))) })
}

// rewrite faults if b cannot be written. A fault in the race detector's code could not be recovered.
//
//go:noinline
//go:norace
func rewrite(b *byte) { *b = touch(b) }

// probe calls access with an address of each page of n bytes at a.
func probe(a transport.Addr, n uint64, access func(transport.Addr)) (err error) {
	if n == 0 {
		return nil
	}
	if outside(a, n) {
		return &transport.FaultError{Addr: a}
	}
	defer recoverFault(&err, a)
	last := a + transport.Addr(n-1)
	for b := a; b < last; b = b&^(leastPage-1) + leastPage {
		access(b)
	}
	access(last)
	return nil
}

// unaligned serialises atomics on words that the processor cannot update in one piece without
// splitting a line; it is process-wide because several contexts may name one word.
var unaligned sync.Mutex

// Add32 adds v to the 32-bit word at a, atomically against the processor and every other user of
// this package, and returns the value after it.
func Add32(a transport.Addr, v int32) (sum int32, err error) {
	old, err := Atomic(transport.AtomicAdd, a, 4, uint64(uint32(v)), 0)
	return int32(uint32(old)) + v, err
}

// Load32 reads the 32-bit word at a, atomically if aligned.
func Load32(a transport.Addr) (v int32, err error) {
	if outside(a, 4) {
		return 0, &transport.FaultError{Addr: a}
	}
	defer recoverFault(&err, a)
	if a&3 == 0 {
		return atomic.LoadInt32((*int32)(pointer(a))), nil
	}
	return *(*int32)(pointer(a)), nil
}

// Atomic performs kind on the word of width 4 or 8 at a and returns the value before it,
// zero-extended. Aligned words are updated by the processor's own atomics; unaligned ones under one
// process-wide lock.
func Atomic(kind transport.AtomicKind, a transport.Addr, width uint8,
	operand, compare uint64) (old uint64, err error) {
	if outside(a, uint64(width)) {
		return 0, &transport.FaultError{Addr: a}
	}
	defer recoverFault(&err, a)
	if a&transport.Addr(width-1) != 0 {
		unaligned.Lock()
		defer unaligned.Unlock()
		return atomicUnaligned(kind, a, width, operand, compare), nil
	}
	if width == 4 {
		return uint64(atomic32(kind, (*uint32)(pointer(a)), uint32(operand), uint32(compare))), nil
	}
	return atomic64(kind, (*uint64)(pointer(a)), operand, compare), nil
}

// combined is what an operation without an instruction of its own leaves in a word.
func combined[T int32 | int64](kind transport.AtomicKind, old, operand T) T {
	switch kind {
	case transport.AtomicMin:
		return min(old, operand)
	case transport.AtomicMax:
		return max(old, operand)
	}
	return old ^ operand
}

func atomic32(kind transport.AtomicKind, p *uint32, operand, compare uint32) uint32 {
	switch kind {
	case transport.AtomicAdd:
		return atomic.AddUint32(p, operand) - operand
	case transport.AtomicOr:
		return atomic.OrUint32(p, operand)
	case transport.AtomicSwap:
		return atomic.SwapUint32(p, operand)
	case transport.AtomicAnd:
		return atomic.AndUint32(p, operand)
	case transport.AtomicXor, transport.AtomicMin, transport.AtomicMax:
		for {
			old := atomic.LoadUint32(p)
			if atomic.CompareAndSwapUint32(p, old, uint32(combined(kind, int32(old), int32(operand)))) {
				return old
			}
		}
	}
	for {
		old := atomic.LoadUint32(p)
		if old != compare || atomic.CompareAndSwapUint32(p, compare, operand) {
			return old
		}
	}
}

func atomic64(kind transport.AtomicKind, p *uint64, operand, compare uint64) uint64 {
	switch kind {
	case transport.AtomicAdd:
		return atomic.AddUint64(p, operand) - operand
	case transport.AtomicOr:
		return atomic.OrUint64(p, operand)
	case transport.AtomicSwap:
		return atomic.SwapUint64(p, operand)
	case transport.AtomicAnd:
		return atomic.AndUint64(p, operand)
	case transport.AtomicXor, transport.AtomicMin, transport.AtomicMax:
		for {
			old := atomic.LoadUint64(p)
			if atomic.CompareAndSwapUint64(p, old, uint64(combined(kind, int64(old), int64(operand)))) {
				return old
			}
		}
	}
	for {
		old := atomic.LoadUint64(p)
		if old != compare || atomic.CompareAndSwapUint64(p, compare, operand) {
			return old
		}
	}
}

func atomicUnaligned(kind transport.AtomicKind, a transport.Addr, width uint8,
	operand, compare uint64) uint64 {
	load := func() uint64 {
		if width == 4 {
			return uint64(*(*uint32)(pointer(a)))
		}
		return *(*uint64)(pointer(a))
	}
	store := func(v uint64) {
		if width == 4 {
			*(*uint32)(pointer(a)) = uint32(v)
		} else {
			*(*uint64)(pointer(a)) = v
		}
	}
	old := load()
	switch kind {
	case transport.AtomicAdd:
		store(old + operand)
	case transport.AtomicOr:
		store(old | operand)
	case transport.AtomicSwap:
		store(operand)
	case transport.AtomicAnd:
		store(old & operand)
	case transport.AtomicCAS:
		if old == compare {
			store(operand)
		}
	default:
		if width == 4 {
			store(uint64(combined(kind, int32(old), int32(operand))))
		} else {
			store(uint64(combined(kind, int64(old), int64(operand))))
		}
	}
	return old
}
