package dat

import (
	"net/netip"
	"testing"

	"lapi/cshim/ctest/verbs"
	"lapi/transport/layout"
)

// looked is a fabric whose devices C can look at.
type looked struct {
	Adapters
	at uintptr
}

func (l *looked) Look() uintptr { return l.at }

// TestDeviceLook: C looks at adapters without core unless something is due. Without an adapter there is
// nothing to look at.
func TestDeviceLook(t *testing.T) {
	lab := newLab(t, 1)
	defer lab.close()
	addr := netip.AddrFrom4([4]byte{10, 0, 0, 2})
	lab.f.Add(addr)
	all := &looked{Adapters: verbs.Fabric{Fabric: lab.f}, at: 0x4000}
	lane := &layout.DatLane{}
	l := New(Config{Host: lab.hosts[0], Clock: func() int64 { return lab.now }, Random: lab.hosts[0].l.cfg.Random, Lane: lane,
		Adapters: all})
	ia, r := l.OpenIA(OpenArgs{Name: "dev", Size: 10, Params: addr.String() + " 0"})
	lab.must("open", r)
	want := func(what string, adapters uint64, work uint32) {
		t.Helper()
		l.TellLane()
		if lane.Adapters != adapters || lane.GoWork != work {
			t.Errorf("%s: adapters %#x, work %d", what, lane.Adapters, lane.GoWork)
		}
	}
	want("idle", 0x4000, 0)
	h := &labHost{lab: lab, l: l, params: addr.String() + " 0"}
	h.open()
	e := h.end(nil)
	lab.must("connect", e.Connect(addr, 9, 7e9, nil))
	want("something is due later", 0x4000, 0)
	lab.now += 8e9
	want("something is due", 0x4000, 1)
	lab.must("free", e.Free())
	l.Progress()
	lab.must("close", h.ia.Close(false))
	all.at = 0
	want("C looks by itself", 0, 0)
	if lane.On != 1 {
		t.Error("the lane is off")
	}
	lab.must("close", ia.Close(false))
	want("closed", 0, 0)
	if lane.On != 0 {
		t.Error("the lane is on without an adapter")
	}
}

// TestNameEndsInAdapter: a name without parameters whose end is an RDMA adapter opens that, unless
// there is a network interface of this name.
func TestNameEndsInAdapter(t *testing.T) {
	lab := newLab(t, 1)
	h := lab.hosts[0]
	end := "-" + h.d.Info().Addr.String()
	ia, r := h.l.OpenIA(OpenArgs{Name: "mine" + end, Size: 10})
	lab.must("open", r)
	if _, is := ia.engine.(*deviceEngine); !is {
		t.Errorf("the engine is %T", ia.engine)
	}
	h.l.cfg.Interfaces = func() []Interface { return []Interface{{Name: end[1:]}} }
	if named := ia.adapterName(""); named != "" {
		t.Errorf("an interface is taken for the adapter %s", named)
	}
	if named := ia.adapterName("rxe0"); named != "rxe0" {
		t.Errorf("parameters are passed over for %q", named)
	}
}
