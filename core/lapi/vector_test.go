package lapi

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"lapi/core/lapi/handlers"
	"lapi/core/lapi/host"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// userVector is a lapi_vec_t with its arrays, as a user would lay it out.
type userVector struct {
	b                    []byte
	info, lens           []uint64 // what the arrays hold
	infoArray, lensArray []byte   // them, of words of this task
	long                 []byte   // a lapi_lvec_t of the same
	buffer               []byte   // what info points into, kept
}

// at is its address, when the arrays hold what info and lens say now.
func (v *userVector) at() transport.Addr {
	putWords(v.infoArray, v.info)
	putWords(v.lensArray, v.lens)
	described[lastDescribed%uint(len(described))] = v
	lastDescribed++
	return at(&v.b[0])
}

// longAt is the address of the same as a lapi_lvec_t, whose info has 64-bit entries in every task.
func (v *userVector) longAt() transport.Addr {
	v.at()
	if vector.WordSize == 8 || len(v.info) == 0 {
		return at(&v.b[0])
	}
	v.long = slices.Clone(v.b)
	putWords(v.long[8:], []uint64{uint64(at(&v.info[0]))})
	return at(&v.long[0])
}

// described keeps the last descriptions until the calls that got their addresses have read them.
var (
	described     [16]*userVector
	lastDescribed uint
)

func describe(kind uint32, count int, info, lens []uint64) *userVector {
	v := &userVector{
		b: make([]byte, 8+2*vector.WordSize), info: info, lens: lens,
		infoArray: make([]byte, len(info)*vector.WordSize),
		lensArray: make([]byte, len(lens)*vector.WordSize),
	}
	wire.Order.PutUint32(v.b[0:], kind)
	wire.Order.PutUint32(v.b[4:], uint32(count))
	if len(info) > 0 {
		putWords(v.b[8:], []uint64{uint64(at(&v.infoArray[0]))})
	}
	if len(lens) > 0 {
		putWords(v.b[8+vector.WordSize:], []uint64{uint64(at(&v.lensArray[0]))})
	}
	return v
}

// putWords writes ulongs as C has them in this task.
func putWords(b []byte, values []uint64) {
	for i, v := range values {
		if vector.WordSize == 4 {
			wire.Order.PutUint32(b[4*i:], uint32(v))
		} else {
			wire.Order.PutUint64(b[8*i:], v)
		}
	}
}

// spread lays blocks of the given lengths out in one buffer, with gaps of one byte to gap bytes, in
// a shuffled order.
func spread(kind uint32, lens []uint64, gap int, r *rand.Rand) (*userVector, []byte) {
	room := uint64(1)
	for _, n := range lens {
		room += n + uint64(gap)
	}
	buffer, info := make([]byte, room), make([]uint64, len(lens))
	at0, next := uint64(at(&buffer[0])), uint64(0)
	for _, i := range r.Perm(len(lens)) {
		next += 1 + r.Uint64N(uint64(gap))
		info[i] = at0 + next
		if lens[i] == 0 {
			info[i] = 0
		}
		next += lens[i]
	}
	v := describe(kind, len(lens), info, lens)
	v.buffer = buffer
	return v, buffer
}

// stream reads a vector's bytes in order.
func (v *userVector) stream() (out []byte) {
	for i, a := range v.info {
		out = append(out, memory.Bytes(transport.Addr(a), v.lens[i])...)
	}
	return out
}

// shapes are lists of block lengths around what matters: nothing, empty blocks, one, few large,
// many small, more than a call of the kernel's takes, more than a fragment's entries.
func shapes(r *rand.Rand) (all [][]uint64) {
	all = append(all, nil, []uint64{0, 0}, []uint64{1}, []uint64{0, 5, 0},
		[]uint64{70000, 1, 30000}, []uint64{128}, []uint64{200000})
	for _, s := range []struct{ count, most int }{{3, 40}, {64, 1024}, {500, 9}, {3000, 30},
		{1500, 600}, {9000, 2}, {20, 30000}} {
		lens := make([]uint64, s.count)
		for i := range lens {
			lens[i] = r.Uint64N(uint64(s.most) + 1)
		}
		all = append(all, lens)
	}
	return all
}

func TestPutvList(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, lens := range shapes(r) {
			from, src := spread(wire.VectorIO, lens, 9, r)
			to, dst := spread(wire.VectorIO, lens, 5, r)
			copy(src, pattern(len(src), 1))
			want := from.stream()
			var org, target, cmpl int32
			j.ok(j.tasks[0].Putv(tgt, to.at(), from.at(), false, at(&target), at(&org), at(&cmpl),
				handlers.Callback{}))
			clear(from.info) // the descriptions are ours again
			clear(from.b)
			j.until("the counters of a vector put", func() bool {
				return org == 1 && target == 1 && cmpl == 1
			})
			if !bytes.Equal(to.stream(), want) {
				t.Fatalf("vector put of %d blocks arrived damaged", len(lens))
			}
			runtime.KeepAlive(from)
			checkGaps(t, to, dst)
		}
	})
}

// checkGaps fails if anything but the blocks of v was written; the buffer was zero before, and
// blocks hold whatever.
func checkGaps(t *testing.T, v *userVector, buffer []byte) {
	t.Helper()
	base := uint64(at(&buffer[0]))
	for i, a := range v.info {
		if v.lens[i] > 0 {
			clear(buffer[a-base : a-base+v.lens[i]])
		}
	}
	for i, b := range buffer {
		if b != 0 {
			t.Fatalf("byte %d between the blocks was written", i)
		}
	}
}

func TestGetvList(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(5, 6))
		var completed int
		j.tasks[0].handlers[0x300] = func(info transport.Addr) { completed += int(info) }
		for _, lens := range shapes(r) {
			from, src := spread(wire.VectorIO, lens, 9, r)
			to, dst := spread(wire.VectorIO, lens, 5, r)
			copy(src, pattern(len(src), 1))
			want := from.stream()
			var org, target int32
			completed = 0
			j.ok(j.tasks[0].Getv(tgt, from.longAt(), to.at(), true, at(&target), at(&org),
				handlers.Callback{Handler: 0x300, Info: 7}))
			j.until("the counters of a vector get", func() bool {
				return org == 1 && target == 1 && completed == 7
			})
			if !bytes.Equal(to.stream(), want) {
				t.Fatalf("vector get of %d blocks arrived damaged", len(lens))
			}
			runtime.KeepAlive(from)
			checkGaps(t, to, dst)
		}
	})
}

// strided describes count blocks in a new buffer, which is filled from seed (0: zero), and returns
// what the blocks hold.
func strided(count, block, stride int,
	seed uint64) (v *userVector, buffer []byte, blocks func() []byte) {
	buffer = make([]byte, count*stride+1)
	if seed != 0 {
		copy(buffer, pattern(len(buffer), seed))
	}
	v = describe(wire.VectorStrided, count,
		[]uint64{uint64(at(&buffer[0])), uint64(block), uint64(stride)}, nil)
	v.buffer = buffer
	return v, buffer, func() (out []byte) {
		for i := range count {
			out = append(out, buffer[i*stride:i*stride+block]...)
		}
		return out
	}
}

func TestStrided(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, s := range []struct{ count, block, from, to int }{
			{0, 8, 8, 8}, {5, 0, 8, 16}, {1, 7, 7, 7}, {3, 5, 8, 11}, {64, 1024, 2048, 1500},
			{2000, 8, 64, 24}, {3000, 300, 301, 400},
			{10, 30000, 30000, 30001}, {4, 100000, 100000, 100000},
		} {
			from, _, want := strided(s.count, s.block, s.from, 1)
			to, _, got := strided(s.count, s.block, s.to, 0)
			var org, target, cmpl int32
			j.ok(j.tasks[0].Putv(tgt, to.longAt(), from.at(), true, at(&target), at(&org),
				at(&cmpl), handlers.Callback{}))
			j.until("a strided put", func() bool { return org == 1 && target == 1 && cmpl == 1 })
			if !bytes.Equal(got(), want()) {
				t.Fatalf("strided put of %v arrived damaged", s)
			}
			back, buffer, got := strided(s.count, s.block, s.to, 0)
			j.ok(j.tasks[0].Getv(tgt, from.at(), back.at(), false, at(&target), at(&org),
				handlers.Callback{}))
			j.until("a strided get", func() bool { return org == 2 && target == 2 })
			if !bytes.Equal(got(), want()) {
				t.Fatalf("strided get of %v arrived damaged", s)
			}
			for i := range s.count {
				if gap := buffer[i*s.to+s.block : (i+1)*s.to]; !bytes.Equal(gap,
					make([]byte, len(gap))) {
					t.Fatalf("the gap behind block %d was written", i)
				}
			}
		}
	})
}

// TestAmsendvList covers user headers of every kind with every shape, over messages, direct copies
// and their refusals, with the header handler putting the message off now and then.
func TestAmsendvList(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(7, 8))
		for i, lens := range shapes(r) {
			for k, h := range []int{0, 4, 100, wire.MaxUhdrSize} {
				amsendvOnce(t, j, tgt, lens, h, (i+k)%3, r)
			}
		}
	})
	t.Run("the target cannot read", func(t *testing.T) {
		j := newJob(t, 2, paths["shm"])
		r := rand.New(rand.NewPCG(9, 10))
		for i, lens := range append(shapes(r), []uint64{100000, 3}) {
			j.tasks[0].peers[1].SingleCopy = true
			j.tasks[1].peers[0].SingleCopy = false
			amsendvOnce(t, j, 1, lens, 8*(i%3), i%2, r)
		}
	})
}

func amsendvOnce(t *testing.T, j *testJob, tgt uint32, lens []uint64, h, drops int, r *rand.Rand) {
	t.Helper()
	const handler, completed = 0x1000, 0x2000
	k := j.tasks[tgt]
	from, src := spread(wire.VectorIO, lens, 9, r)
	to, dst := spread(wire.VectorIO, lens, 5, r)
	copy(src, pattern(len(src), 1))
	head := pattern(h, 2)
	want := from.stream()
	var got []byte
	var ran int
	k.handlers[completed] = func(info transport.Addr) { ran += int(info) }
	k.headers[handler] = func(c *headerCall, r *HeaderResult) {
		if drops > 0 {
			drops--
			r.CtlFlags = host.CtlDrop
			return
		}
		for i, n := range lens {
			if got := vector.Word(memory.Bytes(c.Lengths+transport.Addr(vector.WordSize*i),
				vector.WordSize), vector.WordSize); got != n {
				t.Errorf("the header handler got length %d of block %d, not %d", got, i, n)
				break
			}
		}
		got = bytes.Clone(c.uhdr)
		r.Buffer, r.Completion, r.Info = to.at(), completed, 7
	}
	var org, target, cmpl int32
	j.ok(j.tasks[0].Amsendv(tgt, handler, addrOf(head), uint32(h), from.at(), at(&target), at(&org),
		at(&cmpl), handlers.Callback{}))
	clear(from.info)
	clear(from.b)
	j.until("the counters of a vector's active message", func() bool {
		return org == 1 && target == 1 && cmpl == 1
	})
	if !bytes.Equal(to.stream(), want) || !bytes.Equal(got, head) || ran != 7 || drops != 0 {
		t.Fatalf("active message of %d blocks and %d bytes of header arrived damaged", len(lens), h)
	}
	runtime.KeepAlive(from)
	checkGaps(t, to, dst)
}

// TestGeneric: both sides cut the stream as they like; the shorter side ends the transfer.
func TestGeneric(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, a := range shapes(r) {
			for _, b := range [][]uint64{nil, {3, 4}, {100000, 20000, 1}, {50000, 0, 1000, 7}} {
				from, src := spread(wire.VectorGeneric, a, 9, r)
				to, dst := spread(wire.VectorGeneric, b, 5, r)
				copy(src, pattern(len(src), 1))
				want, room := from.stream(), to.stream()
				n := copy(room, want)
				var target int32
				j.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
					r.Buffer = to.at()
				}
				j.ok(j.tasks[0].Amsendv(tgt, 0x1000, 0, 0, from.at(), at(&target), 0, 0,
					handlers.Callback{}))
				j.until("a generic vector", func() bool { return target == 1 })
				if got := to.stream(); !bytes.Equal(got[:n], room[:n]) ||
					!bytes.Equal(got[n:], make([]byte, len(got)-n)) {
					t.Fatalf("%d blocks to %d: damaged", len(a), len(b))
				}
				runtime.KeepAlive(from)
				checkGaps(t, to, dst)
			}
		}
	})
}

// TestStridedAmsendv also covers NULL for a vector: the data is dropped, the counters change.
func TestStridedAmsendv(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, s := range []struct{ count, block, from, to int }{{0, 8, 8, 8}, {3, 5, 8, 11},
			{64, 1024, 2048, 1500}, {3000, 300, 301, 400}} {
			for _, null := range []bool{false, true} {
				from, _, want := strided(s.count, s.block, s.from, 1)
				to, _, got := strided(s.count, s.block, s.to, 0)
				var org, target, cmpl int32
				j.tasks[tgt].headers[0x1000] = func(c *headerCall, r *HeaderResult) {
					if n := vector.Word(memory.Bytes(c.Lengths, vector.WordSize),
						vector.WordSize); s.count > 0 && n != uint64(s.block) {
						t.Errorf("the header handler got block size %d, not %d", n, s.block)
					}
					if !null {
						r.Buffer = to.at()
					}
				}
				j.ok(j.tasks[0].Amsendv(tgt, 0x1000, 0, 0, from.at(), at(&target), at(&org),
					at(&cmpl), handlers.Callback{}))
				j.until("a strided active message", func() bool {
					return org == 1 && target == 1 && cmpl == 1
				})
				if equal := bytes.Equal(got(), want()); equal == null && s.count > 0 {
					t.Fatalf("strided active message %v, dropped %v: as if it were not", s, null)
				}
			}
		}
	})
}

// TestSmallVectorsAreFree: up to BUF_CP_SIZE bytes may be overwritten on return, however much is
// under way. Vectors of two pieces and of one, which no fragment needs to gather.
func TestSmallVectorsAreFree(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		for _, pieces := range []uint64{2, 1} {
			const messages = 3000
			dst := make([]uint64, 2*messages)
			var words [4]uint64
			for i := range messages {
				words[0], words[2] = uint64(i)+1, uint64(i)+2
				from := describe(wire.VectorStrided, int(pieces),
					[]uint64{uint64(at(&words[0])), 8, 16}, nil)
				to := describe(wire.VectorStrided, int(pieces),
					[]uint64{uint64(at(&dst[2*i])), 8, 8}, nil)
				j.ok(j.tasks[0].Putv(tgt, to.at(), from.at(), false, 0, 0, 0, handlers.Callback{}))
				words = [4]uint64{}
			}
			id, _ := j.tasks[0].FenceBegin()
			j.until("a fence", func() bool { return j.tasks[0].tickets.Done(id) })
			for i := range messages {
				if dst[2*i] != uint64(i)+1 || pieces == 2 && dst[2*i+1] != uint64(i)+2 {
					t.Fatalf("%d pieces: message %d is %d %d", pieces, i, dst[2*i], dst[2*i+1])
				}
			}
		}
	})
}

// TestVectorSteadyState: small vectors allocate nothing once the pools are filled.
func TestVectorSteadyState(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		src, dst := make([]byte, 64), make([]byte, 64)
		s, d := uint64(at(&src[0])), uint64(at(&dst[0]))
		from := describe(wire.VectorIO, 2, []uint64{s, s + 32}, []uint64{8, 8})
		to := describe(wire.VectorIO, 2, []uint64{d, d + 16}, []uint64{8, 8})
		lines, rows := describe(wire.VectorStrided, 4, []uint64{s, 8, 16}, nil),
			describe(wire.VectorStrided, 4, []uint64{d, 8, 12}, nil)
		fromAt, toAt, linesAt, rowsAt := from.at(), to.at(), lines.at(), rows.at()
		var org, want int32
		orgAt := at(&org)
		j.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = toAt }
		k := j.tasks[0]
		once := func() {
			want += 5
			k.Putv(tgt, toAt, fromAt, false, 0, 0, orgAt, handlers.Callback{})
			k.Getv(tgt, toAt, fromAt, false, 0, orgAt, handlers.Callback{})
			k.Putv(tgt, rowsAt, linesAt, false, 0, 0, orgAt, handlers.Callback{})
			k.Getv(tgt, rowsAt, linesAt, false, 0, orgAt, handlers.Callback{})
			k.Amsendv(tgt, 0x1000, 0, 0, fromAt, 0, 0, orgAt, handlers.Callback{})
			for org < want {
				for _, k := range j.tasks {
					k.Dispatch(0)
				}
			}
		}
		for range 100 {
			once()
		}
		if n := testing.AllocsPerRun(200, once); n >= 1 {
			t.Errorf("%.1f allocations for five operations", n)
		}
		runtime.KeepAlive([]any{src, dst, from, to, lines, rows})
	})
}
