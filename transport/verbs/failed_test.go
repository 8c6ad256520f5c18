package verbs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
)

// TestReportsFirstFailureOfQueuePair: an adapter that gives each request behind a failed one a status
// of its own has the first of a queue pair reported, and of the next one again.
func TestReportsFirstFailureOfQueuePair(t *testing.T) {
	var got []ibv.Failure
	n := newNet(t, 2, 1, func(_ *fake.Fabric, cfg *Config) {
		cfg.Clock = fast()
		cfg.RequestFailed = func(_ transport.Endpoint, f ibv.Failure) {
			if cfg.Task == 0 {
				got = append(got, f)
			}
		}
	})
	defer n.close(t)
	n.sendNumbers(t, 10, func(int) {})
	d := n.devices[0]
	d.Behind = ibv.LocProtErr
	for round := 1; round <= 2; round++ {
		n.sendNumbers(t, 40, func(i int) {
			if i == 10 {
				d.EndNext(ibv.RetryExcErr, false)
			}
		})
		if len(got) != round || got[round-1].Status != ibv.RetryExcErr {
			t.Fatalf("%d queue pairs failed, reported is %v", round, got)
		}
	}
}

// TestReportsFailedRequestOnce: the owner is notified of the first request of a queue pair that has
// failed, with the adapter's status and code, and the request's operation and addresses.
func TestReportsFailedRequestOnce(t *testing.T) {
	for _, c := range []struct {
		get    bool
		n      uint64
		op     ibv.Op
		status ibv.Status
	}{
		{false, 64 << 10, ibv.OpWrite, ibv.RemAccessErr},
		{true, 64 << 10, ibv.OpRead, ibv.LocProtErr},
		{false, 8, ibv.OpSend, ibv.RetryExcErr},
	} {
		var got []ibv.Failure
		n := newNet(t, 2, 1, func(_ *fake.Fabric, cfg *Config) {
			cfg.Clock, cfg.BulkMin = fast(), 1<<10
			cfg.RequestFailed = func(ep transport.Endpoint, f ibv.Failure) {
				if cfg.Task != 0 || ep != 1 {
					t.Errorf("task %d is notified of a request to task %d", cfg.Task, ep)
				}
				got = append(got, f)
			}
		})
		n.sendNumbers(t, 10, func(int) {})
		n.devices[0].Vendor = 0x88
		n.devices[0].EndNext(c.status, c.op != ibv.OpSend)
		ended := false
		op := &transport.Op{N: c.n, Local: memory.AddrOf(userMemory(t, 64<<10)),
			Remote: memory.AddrOf(userMemory(t, 64<<10)),
			Done:   func(_ *transport.Op, err error) { ended = err == nil }}
		start := n.links[0].Put
		if c.get {
			start = n.links[0].Get
		}
		qpn := n.links[0].peers[1].QPN()
		if _, err := start(1, op); err != nil {
			t.Fatal(err)
		}
		n.until(t, "a report", func() bool { return len(got) > 0 })
		if f, ok := n.links[0].Failure(1); !ok || f != got[0] {
			t.Errorf("%v: kept is %v", c.op, f)
		}
		n.until(t, "the operation's end", func() bool { return ended })
		n.sendNumbers(t, 10, func(int) {})
		f := got[0]
		if len(got) != 1 || f.Status != c.status || f.VendorErr != 0x88 || f.QPN != qpn ||
			f.Op != c.op || f.Device != "fake0" || f.Port != 1 {
			t.Errorf("%v: %d reports, the first is %+v", c.op, len(got), f)
		}
		if c.op != ibv.OpSend && (f.Local != uint64(op.Local) || f.Remote != uint64(op.Remote) ||
			f.N != c.n) || f.Local == 0 {
			t.Errorf("%v: addresses of %+v", c.op, f)
		}
		if text := f.String(); !strings.HasPrefix(text, c.status.String()+", vendor_err 0x88: "+
			c.op.String()) {
			t.Errorf("%v: %s", c.op, text)
		}
		if f, ok := n.links[0].Failure(1); ok {
			t.Errorf("%v: %v is kept though a queue pair has worked since", c.op, f)
		}
		n.close(t)
	}
}

// TestPassesEvents: the owner gets each event of an adapter, by its name in <infiniband/verbs.h>.
func TestPassesEvents(t *testing.T) {
	var got []string
	n := newNet(t, 2, 1, func(_ *fake.Fabric, cfg *Config) {
		cfg.Event = func(e ibv.Event, of ibv.Info) {
			if cfg.Task == 0 {
				got = append(got, e.Report(&of))
			}
		}
	})
	defer n.close(t)
	const qpn = 0x777 // of none that is left
	want := []string{"IBV_EVENT_PORT_ERR of adapter fake0, port 1",
		"IBV_EVENT_PORT_ACTIVE of adapter fake0, port 1",
		"IBV_EVENT_QP_ACCESS_ERR of adapter fake0, port 1, queue pair 0x777",
		"IBV_EVENT_PATH_MIG of adapter fake0, port 1", "", "", ""}
	n.devices[0].Down(true)
	n.devices[0].Down(false)
	for _, e := range []ibv.Event{{Kind: ibv.QPFailed, Type: 3, QPN: qpn}, {Kind: ibv.Other, Type: 6},
		{Kind: ibv.Other, Type: 4}, {Kind: ibv.Other, Type: 16}, // established; last receive reached
		{Kind: ibv.Other, Type: 10}} { // of another port
		n.devices[0].Raise(e)
	}
	n.until(t, "the events", func() bool { return len(got) >= len(want) })
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestRefusesLittleMemory: an adapter that may not register the first packets' memory is of no use.
func TestRefusesLittleMemory(t *testing.T) {
	d, err := fake.New().Device()
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Adapter: &littleMemory{Device: d, most: 64 << 10}})
	if err == nil || !strings.Contains(err.Error(), "memory for packets") ||
		!errors.Is(err, unix.ENOMEM) {
		t.Errorf("%v, %v", l, err)
	}
}

// littleMemory refuses regions of more than most bytes.
type littleMemory struct {
	ibv.Device
	most uint64
}

func (m *littleMemory) RegMR(pd ibv.PD, a, n, iova uint64, access ibv.Access) (ibv.Region, error) {
	if n > m.most {
		return ibv.Region{}, unix.ENOMEM
	}
	return m.Device.RegMR(pd, a, n, iova, access)
}
