package conform

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
)

// oneSided is what a link and an emulator have in common.
type oneSided interface {
	Limits() transport.Limits
	Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error)
	Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error)
	Atomic(ep transport.Endpoint, kind transport.AtomicKind,
		op *transport.Op) (transport.Status, error)
}

const (
	anyPut    = transport.CapPut | transport.CapPutEmul
	anyGet    = transport.CapGet | transport.CapPutEmul
	anyAtomic = transport.CapAtomicCPU | transport.CapAtomicLink
)

// over runs f for the link and for the emulator, where they have one of caps; name is for the skip.
func (r *run) over(caps transport.Caps, name string, f func(surface oneSided)) {
	r.Helper()
	some := false
	for _, surface := range r.surfaces(0) {
		if surface.Limits().Caps&caps != 0 {
			some = true
			f(surface)
		}
	}
	if !some {
		r.Skipf("the link lacks %s, and has no emulator", name)
	}
}

func (r *run) surfaces(node int) []oneSided {
	all := []oneSided{r.Nodes[node].Link}
	if r.Nodes[node].Emul != nil {
		all = append(all, r.Nodes[node].Emul)
	}
	return all
}

// regionOf registers memory with a node's link and returns it with its key.
func (r *run) regionOf(node transport.Endpoint, n int, access transport.Access) ([]byte, []byte) {
	r.Helper()
	b := r.memoryOf(n)
	region, err := r.Nodes[node].Link.Register(memory.AddrOf(b), uint64(len(b)), access)
	if err != nil {
		r.Fatalf("Register: %v", err)
	}
	limits := r.Nodes[node].Link.Limits()
	if n := len(region.Key); n != limits.KeySize && (n != 0 || !limits.KeyOptional) {
		r.Fatalf("a key of %d bytes, want %d", n, limits.KeySize)
	}
	return b, region.Key
}

// badAddresses are starts of ranges of which no byte can be accessed.
func (r *run) badAddresses() []transport.Addr {
	hole, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = unix.Munmap(hole) })
	return []transport.Addr{memory.AddrOf(hole), 16, 1 << 60, ^transport.Addr(0) - 4096}
}

func testPut(r *run) {
	r.over(anyPut, "CapPut", func(surface oneSided) {
		r.transfers(surface.Put, surface.Limits().PutMax, surface.Limits().PutAlign, true)
	})
}

func testGet(r *run) {
	r.over(anyGet, "CapGet", func(surface oneSided) {
		r.transfers(surface.Get, surface.Limits().GetMax, surface.Limits().GetAlign, false)
	})
}

// transfers tries lengths and alignments of a put or a get and checks every byte of source,
// destination and the memory around.
func (r *run) transfers(start func(transport.Endpoint, *transport.Op) (transport.Status, error),
	max, align uint64, put bool) {
	const around = 64
	most := int(min(max, 3<<20))
	remote, key := r.regionOf(r.target(), most+2*around, transport.AccessRead|transport.AccessWrite)
	local, _ := r.regionOf(0, most+2*around, transport.AccessRead|transport.AccessWrite)
	source, sink := remote, local
	if put {
		source, sink = local, remote
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range append(dataSizes(most), int(min(align, uint64(most))), min(most, 4096),
		min(most, 1<<16+1)) {
		fill(source, uint64(n))
		clear(sink)
		here := random.IntN(around)
		there := random.IntN(around) &^ int(align-1)
		there += int(-uint64(memory.AddrOf(remote)) & (align - 1))
		o := r.operation(memory.AddrOf(local[here:]), memory.AddrOf(remote[there:]), n)
		o.Key = key
		if err := o.complete(func(op *transport.Op) (transport.Status, error) {
			return start(r.target(), op)
		}); err != nil {
			r.Errorf("%d bytes: %v", n, err)
			continue
		}
		from, to := there, here
		if put {
			from, to = here, there
			r.until("the data", func() bool { return n == 0 || sink[to+n-1] == source[from+n-1] })
		}
		if string(sink[to:to+n]) != string(source[from:from+n]) {
			r.Errorf("%d bytes arrive damaged", n)
		}
		for i, b := range sink {
			if b != 0 && (i < to || i >= to+n) {
				r.Errorf("%d bytes: a byte beside them changed", n)
				break
			}
		}
		if !filled(source, uint64(n)) {
			r.Errorf("%d bytes: the source changed", n)
		}
	}
	o := r.operation(0, 0, 0)
	o.Key = key
	if err := o.complete(func(op *transport.Op) (transport.Status, error) {
		return start(r.target(), op)
	}); err != nil {
		r.Errorf("nothing to or from nowhere: %v", err)
	}
}

func testOneSidedLimits(r *run) {
	b, key := r.regionOf(r.target(), 4096, transport.AccessRead|transport.AccessWrite)
	local := r.memoryOf(4096)
	for _, surface := range r.surfaces(0) {
		limits := surface.Limits()
		for _, c := range []struct {
			what       string
			start      func(transport.Endpoint, *transport.Op) (transport.Status, error)
			able       bool
			max, align uint64
		}{
			{"Put", surface.Put, limits.Caps&anyPut != 0, limits.PutMax, limits.PutAlign},
			{"Get", surface.Get, limits.Caps&anyGet != 0, limits.GetMax, limits.GetAlign},
		} {
			try := func(offset int, n uint64) error {
				o := r.operation(memory.AddrOf(local), memory.AddrOf(b[offset:]), 0)
				o.N, o.Key = n, key
				return o.begin(func(op *transport.Op) (transport.Status, error) {
					return c.start(r.target(), op)
				})
			}
			switch {
			case !c.able:
				r.wantError(c.what+" that the link cannot do", try(0, 8), transport.ErrNotSupported)
				if c.max != 0 {
					r.Errorf("%s: a length limit of %d for what the link cannot do", c.what, c.max)
				}
			default:
				r.wantError(c.what+" over the limit", try(0, c.max+1), transport.ErrBadParam)
				if c.align > 1 {
					r.wantError(c.what+" misaligned", try(1, c.align), transport.ErrNotSupported)
				}
			}
		}
	}
}

func testOneSidedFaults(r *run) {
	b, key := r.regionOf(r.target(), 4096, transport.AccessRead|transport.AccessWrite)
	local := r.memoryOf(4096)
	fault := func(what string,
		start func(transport.Endpoint, *transport.Op) (transport.Status, error)) {
		for _, bad := range r.badAddresses() {
			o := r.operation(memory.AddrOf(local), bad, 200)
			o.Key = key
			err := o.complete(func(op *transport.Op) (transport.Status, error) {
				return start(r.target(), op)
			})
			r.wantFault(what+", remote", err, true, bad, 200)
			o = r.operation(bad, memory.AddrOf(b), 200)
			o.Key = key
			err = o.complete(func(op *transport.Op) (transport.Status, error) {
				return start(r.target(), op)
			})
			r.wantFault(what+", local", err, false, bad, 200)
		}
	}
	some := false
	for _, surface := range r.surfaces(0) {
		limits := surface.Limits()
		if limits.KeySize > 0 && !limits.KeyOptional {
			r.Skip("the link registers memory (KeySize): an address without a key cannot be named")
		}
		if limits.Caps&anyPut != 0 {
			some = true
			fault("Put", surface.Put)
		}
		if limits.Caps&anyGet != 0 {
			fault("Get", surface.Get)
		}
	}
	if !some {
		r.Skip("the link lacks CapPut, and has no emulator")
	}
}

// after is what each kind of atomic leaves in a word.
func after(kind transport.AtomicKind, width uint8, old, operand, compare uint64) uint64 {
	switch kind {
	case transport.AtomicAdd:
		return old + operand
	case transport.AtomicOr:
		return old | operand
	case transport.AtomicAnd:
		return old & operand
	case transport.AtomicXor:
		return old ^ operand
	case transport.AtomicCAS:
		if old != compare {
			return old
		}
	case transport.AtomicMin, transport.AtomicMax:
		if less := signed(old, width) < signed(operand, width); less == (kind == transport.AtomicMin) {
			return old
		}
	}
	return operand
}

// signed is the number in a word of that width.
func signed(word uint64, width uint8) int64 {
	if width == 4 {
		return int64(int32(word))
	}
	return int64(word)
}

func testAtomics(r *run) {
	b, key := r.regionOf(r.target(), 64, transport.AccessAtomic)
	for _, surface := range r.surfaces(0) {
		limits := surface.Limits()
		for kind := transport.AtomicAdd; kind <= transport.AtomicMax; kind++ {
			for _, width := range []uint8{4, 8} {
				r.atomic(surface, kind, width, limits.Atomics.Has(kind), b, key)
			}
		}
		for _, width := range []uint8{0, 1, 3, 16} {
			o := r.operation(0, memory.AddrOf(b), 0)
			o.Width, o.Key = width, key
			r.wantError("a word of another width",
				o.begin(func(op *transport.Op) (transport.Status, error) {
					return surface.Atomic(r.target(), transport.AtomicAdd, op)
				}), transport.ErrNotSupported)
		}
	}
	r.over(anyAtomic, "CapAtomicCPU and CapAtomicLink", func(oneSided) {})
}

// atomic tries one kind on one width: the result, the word, and that nothing beside it changes.
func (r *run) atomic(surface oneSided, kind transport.AtomicKind, width uint8, able bool,
	b, key []byte) {
	mask := ^uint64(0) >> (64 - 8*uint(width))
	const operand = 0x80000001_8000000F
	for _, old := range []uint64{0, 1, 0x7FFFFFFF_7FFFFFFF, 0x80000000_80000000, ^uint64(0)} {
		for _, compare := range []uint64{old, old + 1} {
			fill(b, 1)
			copy(b[8:8+width], word(old))
			o := r.operation(0, memory.AddrOf(b[8:]), 0)
			o.Width, o.Operand, o.Compare, o.Key = width, operand&mask, compare&mask, key
			err := o.complete(func(op *transport.Op) (transport.Status, error) {
				return surface.Atomic(r.target(), kind, op)
			})
			if !able {
				r.wantError("an atomic that Limits does not list", err, transport.ErrNotSupported)
				return
			}
			if err != nil || o.Result != old&mask {
				r.Errorf("kind %d width %d on %#x: result %#x, %v",
					kind, width, old&mask, o.Result, err)
			}
			var expected [64]byte
			fill(expected[:], 1)
			copy(expected[8:8+width], word(after(kind, width, old&mask, operand&mask, compare&mask)))
			if string(b) != string(expected[:]) {
				r.Errorf("kind %d width %d on %#x leaves % x", kind, width, old&mask, b[8:16])
			}
		}
	}
}

// testAtomicsTogether has all nodes add to one word of node 0 many times, all at once; every value
// comes once.
func testAtomicsTogether(r *run) {
	const each = 500
	b, key := r.regionOf(0, 8, transport.AccessAtomic)
	seen := map[uint64]bool{}
	started, finished := 0, 0
	for node := range r.Nodes {
		if !r.connected(node, 0) {
			continue
		}
		for _, surface := range r.surfaces(node) {
			if !surface.Limits().Atomics.Has(transport.AtomicAdd) {
				continue
			}
			for range each {
				o := r.operation(0, memory.AddrOf(b), 0)
				o.Width, o.Operand, o.Key = 8, 1, key
				note := func(op *transport.Op, err error) {
					if err != nil || seen[op.Result] {
						r.Errorf("result %d a second time, or %v", op.Result, err)
					}
					seen[op.Result] = true
					finished++
				}
				o.Done = note
				started++
				if err := o.begin(func(op *transport.Op) (transport.Status, error) {
					return surface.Atomic(0, transport.AtomicAdd, op)
				}); err != nil {
					r.Fatal(err)
				}
				if o.status == transport.Done {
					note(&o.Op, nil)
				}
			}
		}
	}
	if started == 0 {
		r.Skip("the link lacks CapAtomicCPU and CapAtomicLink, and has no emulator")
	}
	r.until("all additions", func() bool { return finished == started })
	if v := unword(b); v != uint64(started) {
		r.Errorf("the sum is %d, want %d", v, started)
	}
}

func testAtomicFaults(r *run) {
	r.over(anyAtomic, "CapAtomicCPU and CapAtomicLink", func(surface oneSided) {
		if l := surface.Limits(); l.KeySize > 0 && !l.KeyOptional {
			r.Skip("the link registers memory (KeySize): an address without a key cannot be named")
		}
		for _, bad := range r.badAddresses() {
			o := r.operation(0, bad&^7, 0)
			o.Width, o.Operand = 8, 1
			err := o.complete(func(op *transport.Op) (transport.Status, error) {
				return surface.Atomic(r.target(), transport.AtomicAdd, op)
			})
			r.wantFault("Atomic", err, true, bad&^7, 8)
		}
	})
}
