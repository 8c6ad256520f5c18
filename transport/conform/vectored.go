package conform

import (
	"bytes"
	"math/rand/v2"

	"lapi/transport"
	"lapi/transport/memory"
)

// direct is a link's transport.Vectored, where it can copy; else the test is skipped.
func (r *run) direct() transport.Vectored {
	r.Helper()
	link := r.Nodes[0].Link
	v, ok := link.(transport.Vectored)
	if !ok {
		r.Skip("the link lacks transport.Vectored")
	}
	if link.Limits().Caps&(transport.CapPut|transport.CapGet) == 0 {
		r.Skip("the link lacks CapPut and CapGet")
	}
	return v
}

// cut divides b into count ranges that lie between gaps of 0 to 3 bytes, and returns them with the
// bytes they hold.
func cut(b []byte, count int, random *rand.Rand, total int) (list []transport.Range) {
	at := 0
	for i := range count {
		n := total
		if i < count-1 {
			n = random.IntN(min(total, 2*total/(count-i)) + 1)
		}
		at += random.IntN(4)
		list = append(list, transport.Range{Addr: memory.AddrOf(b[at:]), N: uint64(n)})
		at += n
		total -= n
	}
	return list
}

func contents(list []transport.Range) (out []byte) {
	for _, x := range list {
		out = append(out, memory.Bytes(x.Addr, x.N)...)
	}
	return out
}

// testVectors moves lists that are cut differently at the two sides, empty ranges and the longest
// lists included.
func testVectors(r *run) {
	v := r.direct()
	random := rand.New(rand.NewPCG(1, 1))
	local, remote := r.memoryOf(1<<17), r.memoryOf(1<<17)
	for _, total := range []int{0, 1, 50, 5000, 100000} {
		for _, counts := range [][2]int{{1, 1}, {1, 7}, {9, 2},
			{transport.RangesMax, transport.RangesMax}, {3, transport.RangesMax}} {
			for i := range local {
				local[i], remote[i] = byte(random.Uint32()), byte(random.Uint32())
			}
			here, there := cut(local, counts[0], random, total),
				cut(remote, counts[1], random, total)
			keptHere, keptThere := bytes.Clone(local), bytes.Clone(remote)
			want := contents(here)
			again, andThere := append([]transport.Range(nil), here...),
				append([]transport.Range(nil), there...)
			if err := v.PutVector(r.target(), again, andThere); err != nil {
				r.Fatalf("PutVector of %d bytes in %v ranges: %v", total, counts, err)
			}
			if !bytes.Equal(contents(there), want) || !bytes.Equal(local, keptHere) {
				r.Fatalf("PutVector of %d bytes in %v ranges: damaged", total, counts)
			}
			for i := range there { // nothing else has changed
				copy(memory.Bytes(there[i].Addr, there[i].N),
					keptThere[there[i].Addr-memory.AddrOf(remote):])
			}
			if !bytes.Equal(remote, keptThere) {
				r.Fatalf("PutVector of %d bytes in %v ranges wrote between them", total, counts)
			}
			want = contents(there)
			again, andThere = append(again[:0:0], here...), append(andThere[:0:0], there...)
			if err := v.GetVector(r.target(), again, andThere); err != nil {
				r.Fatalf("GetVector of %d bytes in %v ranges: %v", total, counts, err)
			}
			if !bytes.Equal(contents(here), want) || !bytes.Equal(remote, keptThere) {
				r.Fatalf("GetVector of %d bytes in %v ranges: damaged", total, counts)
			}
		}
	}
}

// testVectorErrors: lists of different lengths or too long, and bad ranges in any place of either
// list.
func testVectorErrors(r *run) {
	v := r.direct()
	local, remote := r.memoryOf(8192), r.memoryOf(8192)
	one := func(b []byte, n uint64) []transport.Range {
		return []transport.Range{{Addr: memory.AddrOf(b), N: n}}
	}
	r.wantError("PutVector of unequal lists",
		v.PutVector(r.target(), one(local, 8), one(remote, 9)), transport.ErrBadParam)
	long := make([]transport.Range, transport.RangesMax+1)
	r.wantError("GetVector of too many ranges", v.GetVector(r.target(), long, nil),
		transport.ErrBadParam)
	list := func(b []byte, bad transport.Addr, place int) []transport.Range {
		out := make([]transport.Range, 3)
		for i := range out {
			out[i] = transport.Range{Addr: memory.AddrOf(b[300*i:]), N: 200}
		}
		if place >= 0 {
			out[place].Addr = bad
		}
		return out
	}
	for _, bad := range r.badAddresses() {
		for place := range 3 {
			r.wantFault("PutVector, remote", v.PutVector(r.target(), list(local, 0, -1),
				list(remote, bad, place)), true, bad, 200)
			r.wantFault("PutVector, local", v.PutVector(r.target(), list(local, bad, place),
				list(remote, 0, -1)), false, bad, 200)
			r.wantFault("GetVector, remote", v.GetVector(r.target(), list(local, 0, -1),
				list(remote, bad, place)), true, bad, 200)
			r.wantFault("GetVector, local", v.GetVector(r.target(), list(local, bad, place),
				list(remote, 0, -1)), false, bad, 200)
		}
	}
}
