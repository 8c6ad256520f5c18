package conform

import (
	"bytes"
	"math/rand/v2"

	"lapi/transport"
	"lapi/transport/memory"
)

// mover is a link's transport.Mover; a link without one skips the test.
func (r *run) mover() transport.Mover {
	r.Helper()
	m, ok := r.Nodes[0].Link.(transport.Mover)
	if !ok {
		r.Skip("the link lacks transport.Mover")
	}
	return m
}

// moving is a VectorOp with what became of it.
type moving struct {
	transport.VectorOp
	finished int
	err      error
}

func (r *run) moving(get bool, here, there []transport.Range) *moving {
	m := new(moving)
	m.Get, m.Here, m.There = get, here, there
	m.Op.Owner = m
	m.Op.Done = func(op *transport.Op, err error) {
		if op.Owner != m {
			r.Error("Done of another operation")
		}
		m.finished++
		m.err = err
	}
	return m
}

// move moves and waits.
func (r *run) move(v transport.Mover, get bool, here, there []transport.Range) error {
	r.Helper()
	m := r.moving(get, here, there)
	if err := v.Move(r.target(), &m.VectorOp); err != nil {
		return err
	}
	r.until("a move", func() bool { return m.finished > 0 })
	r.turns(20)
	if m.finished != 1 {
		r.Errorf("Done runs %d times", m.finished)
	}
	return m.err
}

// left says whether the link has left an operation to its owner, as it may.
func (r *run) left(err error) bool { return r.MovesLeft && err == transport.ErrNotSupported }

// testMoves moves lists that are cut differently at the two sides, empty ranges and the longest
// lists included, both ways.
func testMoves(r *run) {
	v := r.mover()
	random := rand.New(rand.NewPCG(1, 1))
	local, remote := r.memoryOf(1<<20), r.memoryOf(1<<20)
	for _, total := range []int{1, 50, 5000, 1_000_000} {
		for _, counts := range [][2]int{{1, 1}, {1, 7}, {9, 2}, {200, 150},
			{transport.RangesMax, transport.RangesMax}, {3, transport.RangesMax}} {
			for i := range local {
				local[i], remote[i] = byte(random.Uint32()), byte(random.Uint32())
			}
			here, there := cut(local, counts[0], random, total),
				cut(remote, counts[1], random, total)
			keptHere, keptThere := bytes.Clone(local), bytes.Clone(remote)
			want := contents(here)
			if err := r.move(v, false, here, there); r.left(err) {
				continue
			} else if err != nil {
				r.Fatalf("a put of %d bytes in %v ranges: %v", total, counts, err)
			}
			if !bytes.Equal(contents(there), want) || !bytes.Equal(local, keptHere) {
				r.Fatalf("a put of %d bytes in %v ranges: damaged", total, counts)
			}
			for i := range there { // nothing else has changed
				copy(memory.Bytes(there[i].Addr, there[i].N),
					keptThere[there[i].Addr-memory.AddrOf(remote):])
			}
			if !bytes.Equal(remote, keptThere) {
				r.Fatalf("a put of %d bytes in %v ranges writes between them", total, counts)
			}
			want = contents(there)
			if err := r.move(v, true, here, there); r.left(err) {
				continue
			} else if err != nil {
				r.Fatalf("a get of %d bytes in %v ranges: %v", total, counts, err)
			}
			if !bytes.Equal(contents(here), want) || !bytes.Equal(remote, keptThere) {
				r.Fatalf("a get of %d bytes in %v ranges: damaged", total, counts)
			}
		}
	}
}

// testMoveErrors: wrong lists begin nothing; bad ranges in any place of either list are the owner's
// to find, by messages.
func testMoveErrors(r *run) {
	v := r.mover()
	local, remote := r.memoryOf(8192), r.memoryOf(8192)
	one := func(b []byte, n uint64) []transport.Range {
		return []transport.Range{{Addr: memory.AddrOf(b), N: n}}
	}
	for _, get := range []bool{false, true} {
		r.wantError("lists of different lengths", v.Move(r.target(),
			&r.moving(get, one(local, 8), one(remote, 9)).VectorOp), transport.ErrBadParam)
		r.wantError("lists without bytes", v.Move(r.target(),
			&r.moving(get, one(local, 0), one(remote, 0)).VectorOp), transport.ErrBadParam)
		long := make([]transport.Range, transport.RangesMax+1)
		long[0] = one(local, 8)[0]
		r.wantError("too many ranges", v.Move(r.target(),
			&r.moving(get, long, one(remote, 8)).VectorOp), transport.ErrBadParam)
		list := func(b []byte, bad transport.Addr, place int) []transport.Range {
			out := make([]transport.Range, 3)
			for i := range out {
				out[i] = transport.Range{Addr: memory.AddrOf(b[300*i:]), N: 200}
			}
			if bad != 0 {
				out[place].Addr = bad
			}
			return out
		}
		for _, bad := range r.badAddresses() {
			for place := range 3 {
				r.wantError("a bad address there", r.move(v, get, list(local, 0, 0),
					list(remote, bad, place)), transport.ErrNotSupported)
				r.wantError("a bad address here", r.move(v, get, list(local, bad, place),
					list(remote, 0, 0)), transport.ErrNotSupported)
			}
		}
	}
}

// testMoveNotices: the peer's owner gets a notice when all is in place, once.
func testMoveNotices(r *run) {
	v := r.mover()
	_, notices, _ := r.noticing()
	local, remote := r.memoryOf(1<<18), r.memoryOf(1<<18)
	for i := range uint64(20) {
		get := i%2 == 1
		random := rand.New(rand.NewPCG(i, 1))
		m := r.moving(get, cut(local, 100, random, 1<<17), cut(remote, 90, random, 1<<17))
		m.Notices, m.Notice = true, transport.Notice{i + 1, 7}
		*notices = nil
		if err := v.Move(r.target(), &m.VectorOp); r.left(err) {
			continue
		} else if err != nil {
			r.Fatal(err)
		}
		r.until("a notice", func() bool {
			return m.finished == 1 && (len(*notices) > 0 || r.left(m.err))
		})
		r.turns(20)
		if r.left(m.err) && len(*notices) == 0 {
			continue
		}
		kind := transport.NoticePut
		if get {
			kind = transport.NoticeGet
		}
		if h := (*notices)[0]; len(*notices) != 1 || h.kind != kind || h.notice != m.Notice ||
			m.err != nil {
			r.Errorf("move %d: %v, %+v", i, m.err, *notices)
		}
	}
}

// testMovesEnd: moves without number are busy at some time; all end with Disconnect, once.
func testMovesEnd(r *run) {
	v := r.mover()
	if len(r.Nodes) < 2 {
		r.Skip("a link to oneself")
	}
	local, remote := r.memoryOf(1<<16), r.memoryOf(1<<16)
	random := rand.New(rand.NewPCG(1, 1))
	var all []*moving
	for {
		m := r.moving(len(all)%2 == 0, cut(local, 10, random, 1<<15), cut(remote, 10, random, 1<<15))
		err := v.Move(r.target(), &m.VectorOp)
		if err == transport.ErrBusy {
			break
		}
		if all = append(all, m); err != nil || len(all) > 1<<16 {
			r.Fatal(err, len(all))
		}
	}
	r.turns(3)
	r.Nodes[0].Link.Disconnect(r.target(), transport.ErrTimeout)
	for _, m := range all {
		if m.finished != 1 || m.err != nil && m.err != transport.ErrTimeout {
			r.Errorf("a move ends %d times, with %v", m.finished, m.err)
		}
	}
	r.wantError("a move after it", v.Move(r.target(), &r.moving(false, all[0].Here,
		all[0].There).VectorOp), transport.ErrUnreachable)
	r.turns(100)
}
