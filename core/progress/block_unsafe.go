// Package progress wakes the threads in C that wait for an owner of links: it notifies them of
// changes, ends their sleep, and says when the owner must run next. It knows no API.
//
//	block_unsafe.go  Block: the words that threads sleep on, descriptors
//	links.go         Links: what is asked of all links of an owner
//
// All of it runs under the owner's lock, except where a method says otherwise.
package progress

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
	"lapi/invariant"
	"lapi/transport/layout"
)

// futexWake: the words that C threads sleep on are futexes of this process only.
const futexWake = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG

// Block is the part of an owner's block that its threads in C look at.
type Block struct {
	words      *layout.Progress
	due        *uint32 // futex: changes with each completion handler that is due
	changed    bool    // since threads were last notified
	armed      bool    // a thread sleeps on the descriptors
	armedUntil int64   // when it wakes by itself; 0: never
	// of the descriptors, the files that Verify looks for; the others may change
	files [maxFiles]descriptor.File
}

// maxFiles is for the descriptors of a block, as many as C has room for.
const maxFiles = len(layout.Progress{}.Descriptors)

// NewBlock is the Block of those words, which C has made; handler threads sleep on due.
func NewBlock(words *layout.Progress, due *uint32) Block { return Block{words: words, due: due} }

// Open fills the block's constants and its descriptors: an eventfd of this process, then those that
// become readable when the owner has something to do. spin and yield are for how many turns a
// thread does so before it sleeps.
func (b *Block) Open(spin, yield int, descriptors []int) error {
	fd, err := descriptor.Own(descriptor.Event())
	if err != nil {
		return err
	}
	words := b.words
	atomic.StoreUint32(&words.SpinCalls, uint32(spin))
	words.Yields = uint32(yield)
	words.Descriptors[0] = int32(fd)
	words.NumDescriptors = 1
	b.files = [maxFiles]descriptor.File{descriptor.FileOf(fd)}
	for _, d := range descriptors {
		if d >= 0 && int(words.NumDescriptors) < len(words.Descriptors) {
			words.Descriptors[words.NumDescriptors] = int32(d)
			words.NumDescriptors++
		}
	}
	return nil
}

// Watch adds a descriptor to those that a thread sleeps at. A block that is not open gets it by Open.
func (b *Block) Watch(descriptor int) {
	words := b.words
	if words.NumDescriptors == 0 || int(words.NumDescriptors) == len(words.Descriptors) {
		return
	}
	words.Descriptors[words.NumDescriptors] = int32(descriptor)
	words.NumDescriptors++
	b.Kick() // a sleeping thread polls the other descriptors only
}

// SetSpin is for owners that learn later whether threads have a processor each.
func (b *Block) SetSpin(spin int) {
	if atomic.LoadUint32(&b.words.SpinCalls) != uint32(spin) {
		atomic.StoreUint32(&b.words.SpinCalls, uint32(spin))
	}
}

// Keep makes Verify look at these descriptors, too, which stay open as long as the block.
func (b *Block) Keep(descriptors []int) {
	for i := range int(b.words.NumDescriptors) {
		if fd := int(b.words.Descriptors[i]); slices.Contains(descriptors, fd) {
			b.files[i] = descriptor.FileOf(fd)
		}
	}
}

// Verify panics if the program has closed descriptors: the numbers are no longer used then.
func (b *Block) Verify() {
	for i := range int(b.words.NumDescriptors) {
		fd := b.words.Descriptors[i]
		if b.files[i] == (descriptor.File{}) || descriptor.FileOf(int(fd)) == b.files[i] {
			continue
		}
		for i := range b.words.Descriptors {
			atomic.StoreInt32(&b.words.Descriptors[i], -1)
		}
		panic(invariant.Cause(fmt.Sprintf("the program has closed descriptor %d, which is the "+
			"library's (closefrom, close_range, or a loop over all); it must do so before its first "+
			"call of LAPI or uDAPL (docs/scope.md, Closed descriptors)", fd)))
	}
}

// Close closes the eventfd, if Open has made one. No thread is left then.
func (b *Block) Close() {
	if b.words.NumDescriptors == 0 {
		return
	}
	if fd := int(b.words.Descriptors[0]); descriptor.FileOf(fd) == b.files[0] {
		unix.Close(fd)
	}
	b.words.NumDescriptors = 0
}

// Changed notes that something changed that a thread may wait for.
func (b *Block) Changed() { b.changed = true }

// Publish notifies threads if something changed. cshim_notify, which every entry point calls before
// it releases the lock, sees the number change and wakes those whose wait is over.
func (b *Block) Publish() {
	if b.changed {
		b.changed = false
		atomic.AddUint32(&b.words.EventSeq, 1)
	}
}

// Completion notifies a handler thread of one more completion handler that is due.
func (b *Block) Completion() {
	atomic.AddUint32(b.due, 1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.due)), futexWake, 1, 0, 0, 0)
}

// Kick ends the sleep of the poller, if there is one.
func (b *Block) Kick() {
	if atomic.LoadUint32(&b.words.Poller) != 0 {
		one := [8]byte{1}
		unix.RawSyscall(unix.SYS_WRITE, uintptr(b.words.Descriptors[0]),
			uintptr(unsafe.Pointer(&one[0])), 8)
	}
}

// Arm notes that a thread is about to sleep on the descriptors until then; 0: without end.
func (b *Block) Arm(until int64) { b.armed, b.armedUntil = true, until }

// Disarm notes that it is awake.
func (b *Block) Disarm() { b.armed = false }

// Armed says whether a thread sleeps.
func (b *Block) Armed() bool { return b.armed }

// Sooner wakes the sleeping thread if the owner must run at next, 0 for never, before it wakes by
// itself. It wakes it only once.
func (b *Block) Sooner(next int64) {
	if next != 0 && (b.armedUntil == 0 || next < b.armedUntil) {
		b.armed = false
		b.Kick()
	}
}

// SetInterrupt says whether threads of the library make progress while the user does not.
func (b *Block) SetInterrupt(on bool) {
	v := uint32(0)
	if on {
		v = 1
	}
	atomic.StoreUint32(&b.words.Interrupts, v)
}

// Interrupt is what SetInterrupt set last, here or in C.
func (b *Block) Interrupt() bool { return atomic.LoadUint32(&b.words.Interrupts) != 0 }
