package lapi

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/handlers"
	"lapi/transport"
)

// countedLink counts what goes directly.
type countedLink struct {
	nodeCounted
	vectors int
}

type nodeCounted interface {
	transport.Link
	nodeLink
}

func (l *countedLink) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	l.vectors++
	return l.nodeCounted.GetVector(ep, local, remote)
}

// enroll registers a program of blocks of n bytes, stride apart, with atoms of that size.
func enroll(t *testing.T, n, stride int64, atom int32) transport.Addr {
	t.Helper()
	code := append(copyCode(int32(n), 0), opIterate, -copyInts)
	d := dgsm.Descriptor{Depth: 1, Density: dgsm.Contig, Size: n, Extent: stride, Rext: n,
		AtomSize: atom}
	if stride == n {
		d.Density = dgsm.Unit
	}
	return enrollCode(t, d, code)
}

// enrollCode registers a program.
func enrollCode(t *testing.T, d dgsm.Descriptor, code []int32) transport.Addr {
	t.Helper()
	p, err := dgsm.New(d, code, true)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, p.EncodedSize())
	if err := p.Encode(at(&memory[0])); err != nil {
		t.Fatal(err)
	}
	handle, err := dgsps.Register(at(&memory[0]), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dgsps.Unreserve(handle) })
	return handle
}

// spreadOut is n bytes of b where a program of blocks has them.
func spreadOut(b []byte, n, block, stride int) (out []byte) {
	for at := 0; len(out) < n; at += stride {
		out = append(out, b[at:at+min(block, n-len(out))]...)
	}
	return out
}

// TestPlacedDirect sends messages between blocks of several lengths, to targets that can read the
// origin's memory and to those that find that they cannot; long blocks go directly, short ones and
// atoms never do.
func TestPlacedDirect(t *testing.T) {
	const n, handler = 300_001, 0x1000
	for _, refused := range []bool{false, true} {
		for _, c := range []struct {
			from, to, part int
			atom           int32
			direct         bool
		}{
			{from: 40000, to: n, direct: true},
			{from: 40000, to: 20000, direct: true},
			{from: 40000, to: 20000, part: 170_000, direct: true},
			{from: 40000, to: 1000}, // the target lists too many
			{from: 2000, to: 20000},
			{from: 2000, to: 3000, part: 5},
			{from: n, to: 20000, direct: true},
			{from: n, to: 20000, part: 100_000, direct: true},
			{from: n, to: 100},
			{from: 40000, to: n, atom: 32},
		} {
			t.Run(fmt.Sprintf("%+v, refused %v", c, refused), func(t *testing.T) {
				j := newJob(t, 2, paths["shm"]).compute()
				link := &countedLink{nodeCounted: j.tasks[1].peers[0].Link.(nodeCounted)}
				j.tasks[1].peers[0].Link = link
				j.tasks[1].peers[0].SingleCopy = !refused
				src, dst := pattern(2*n+100_000, 4), make([]byte, 2*n+100_000)
				by := enroll(t, int64(c.from), int64(c.from+9), c.atom)
				var to transport.Addr
				if c.to < n {
					to = enroll(t, int64(c.to), int64(c.to+5), 0)
				}
				j.tasks[1].headers[handler] = func(_ *headerCall, r *HeaderResult) {
					r.Buffer, r.DGSP, r.Bytes = addrOf(dst), uint64(to), n
					if c.part > 0 {
						r.Bytes = uint64(c.part)
					}
				}
				var org, target, cmpl int32
				j.ok(j.tasks[0].Xfer(XferDGSP,
					&Transfer{Tgt: 1, HdrHdl: handler, TgtAddr: by, OrgAddr: addrOf(src), N: n,
						TgtCntr: at(&target), OrgCntr: at(&org), CmplCntr: at(&cmpl)}))
				j.until("the counters", func() bool { return org == 1 && target == 1 && cmpl == 1 })
				arrives := n
				if c.part > 0 {
					arrives = c.part
				}
				want := spreadOut(src, arrives, c.from, c.from+9)
				if !bytes.Equal(spreadOut(dst, arrives, c.to, c.to+5), want) {
					t.Error("it arrived damaged")
				}
				if direct := link.vectors > 0; direct != (c.direct && !refused) {
					t.Errorf("it went directly: %v", direct)
				}
				if j.tasks[0].offers.Oldest() != nil {
					t.Error("the origin still waits for its memory")
				}
				runtime.KeepAlive(src)
			})
		}
	}
}

// TestLongStridedSteadyState: strided transfers of 64 KiB, and a DGSP's, allocate nothing once the
// pools are filled.
func TestLongStridedSteadyState(t *testing.T) {
	overPaths(t, func(t *testing.T, j *testJob, tgt uint32) {
		from, _, _ := strided(64, 1024, 2048, 1)
		to, dst, _ := strided(64, 1024, 1500, 0)
		by := enroll(t, 1024, 2048, 0)
		fromAt, toAt, base, into := from.at(), to.at(), addrOf(from.buffer), addrOf(dst)
		var org, want int32
		orgAt := at(&org)
		j.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = into }
		k := j.tasks[0]
		x := &Transfer{Tgt: tgt, HdrHdl: 0x1000, TgtAddr: by, OrgAddr: base, N: 60000,
			CmplCntr: orgAt}
		once := func() {
			want += 3
			k.Putv(tgt, toAt, fromAt, false, 0, 0, orgAt, handlers.Callback{})
			k.Getv(tgt, fromAt, toAt, false, 0, orgAt, handlers.Callback{})
			k.Xfer(XferDGSP, x)
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
			t.Errorf("%.1f allocations for three operations", n)
		}
		runtime.KeepAlive([]any{from, to})
	})
}
