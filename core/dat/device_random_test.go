package dat

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// TestDeviceRefused: whatever an adapter refuses is an error of the call, or of the connection, and
// leaves nothing behind.
func TestDeviceRefused(t *testing.T) {
	for _, call := range []string{"Open", "AllocPD", "RegMR", "AllocMW", "BindMW",
		"CreateCQ", "CreateSRQ", "CreateQP",
		"PostRecv", "CreateAH", "NewID", "Listen", "FindAddress", "FindRoute", "Connect", "Ready",
		"Accept", "Establish", "Reject", "Disconnect", "PostSend"} {
		l := newLab(t, 2)
		for _, h := range l.hosts {
			h.d.Refuse[call] = errors.New("the adapter does not want to")
		}
		for i, h := range l.hosts {
			o := l.hosts[1-i]
			_, _ = h.l.OpenIA(OpenArgs{Name: "dev", Size: 1, Params: h.params})
			if pz, r := h.ia.NewPZ(); r == codes.Success {
				_ = pz.Free()
			}
			lmr, r := h.ia.NewLMR(LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(h.b))},
				Length: 10, PZ: h.pz.Handle(), Privileges: LocalRead})
			if (r == codes.Success) == (call == "RegMR") || lmr == nil && r == codes.Success {
				t.Errorf("%s: registration gives %#x", call, uint32(r))
			}
			window, r := h.ia.NewRMR(h.pz.Handle(), i == 0)
			if (r == codes.Success) == (call == "AllocMW") {
				t.Errorf("%s: a window gives %#x", call, uint32(r))
			}
			_, _ = h.ia.NewSRQ(h.pz.Handle(), 1, 1, 0)
			_, _ = h.ia.NewPSP(9, h.crs.Handle(), false)
			for _, service := range []uint32{ServiceRC, ServiceUD} {
				evd, r := h.ia.NewEVD(64, 0, EVDDTO)
				l.must("evd", r)
				con, r := h.ia.NewEVD(64, 0, EVDConnection)
				l.must("evd", r)
				attr := DefaultAttr
				attr.Service = service
				x := EPArgs{PZ: h.pz.Handle(), Recv: evd.Handle(), Request: evd.Handle(),
					Connect: con.Handle(), Attr: &attr}
				ep, r := h.ia.NewEP(x)
				if r != codes.Success {
					continue
				}
				there, r := o.ia.NewEVD(64, 0, EVDConnection)
				l.must("evd", r)
				_ = ep.PostReceive(h.local(0, 1), 0, 0)
				_ = ep.Connect(o.ia.Addr, 7, 1e9, nil)
				l.turn()
				if o.crs.Len() > 0 {
					ev := o.crs.take()
					cr, _ := find[*CR](o.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
					x := EPArgs{PZ: o.pz.Handle(), Connect: there.Handle(),
						Attr: &Attr{Service: service}}
					peer, r := o.ia.NewEP(x)
					if cr == nil || r != codes.Success || call == "Reject" {
						if cr != nil {
							_ = cr.Reject(nil)
						}
						continue
					}
					_ = cr.Accept(peer.Handle(), nil)
				}
				l.turn()
				_ = ep.Post(PostArgs{Op: rc.Send, Triplets: h.local(0, 1)})
				if window != nil {
					_, _ = window.Bind(BindArgs{LMR: h.lmr.Handle(), Triplet: h.local(0, 8)[0],
						EP: ep.Handle()})
				}
				l.turn()
				_ = ep.Disconnect(false)
				l.now += 2e9
				l.turn()
			}
		}
		for _, h := range l.hosts {
			clear(h.d.Refuse)
		}
		for _, h := range l.hosts {
			for len(h.l.ias) > 0 {
				_ = h.l.ias[len(h.l.ias)-1].Close(false)
			}
			if n := h.d.Left(); n != 0 {
				t.Errorf("%s: %d objects are left", call, n)
			}
		}
	}
}

// TestDeviceRandom: whatever happens in whatever order, each request and receive ends once, each
// connection with one event, and nothing is left.
func TestDeviceRandom(t *testing.T) {
	for seed := range uint64(100) {
		l := newLab(t, 2)
		random := rand.New(rand.NewPCG(seed, 1))
		posted, over := 0, 0
		var ends []*labEnd
		var windows []*RMR
		drain := func(e *labEnd) {
			for _, q := range []*EVD{e.req, e.recv} {
				for q.Len() > 0 {
					q.take()
					over++
				}
			}
		}
		for range 120 {
			h := l.hosts[random.IntN(2)]
			if len(ends) == 0 || random.IntN(20) == 0 {
				ends = append(ends, h.end(func(a *Attr, _ *EPArgs) {
					a.RecvFlags = Solicited * CompletionFlags(random.IntN(2))
				}))
			}
			e := ends[random.IntN(len(ends))]
			switch random.IntN(13) {
			case 10, 11:
				if len(windows) == 0 || random.IntN(6) == 0 {
					m, r := e.h.ia.NewRMR(e.h.pz.Handle(), random.IntN(2) == 0)
					l.must("rmr", r)
					windows = append(windows, m)
				}
				m := windows[random.IntN(len(windows))]
				x := BindArgs{LMR: e.h.lmr.Handle(), EP: e.Handle(), Privileges: RemoteRead,
					Triplet:   e.h.local(0, uint32(random.IntN(3)*8))[0],
					ZeroBased: random.IntN(4) == 0}
				switch _, r := m.Bind(x); {
				case r == codes.Success:
					posted++
				case random.IntN(9) == 0:
					l.must("free", m.Free())
					windows = slices.DeleteFunc(windows, func(o *RMR) bool { return o == m })
				}
			case 12:
				if len(windows) == 0 {
					continue
				}
				x := PostArgs{Op: rc.Send, Invalidate: true,
					Remote: Triplet{Context: windows[random.IntN(len(windows))].Context}}
				if e.Post(x) == codes.Success {
					posted++
				}
				e.h.d.Fail = func(*ibv.Work) ibv.Status {
					if random.IntN(40) == 0 {
						return ibv.RemOpErr
					}
					return 0
				}
			case 0:
				o := l.hosts[0]
				if e.h == o {
					o = l.hosts[1]
				}
				_ = e.Connect(o.ia.Addr, 7, 1e9, nil)
			case 1, 2:
				if e.h.crs.Len() > 0 {
					ev := e.h.crs.take()
					cr, _ := find[*CR](e.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
					if cr.Accept(e.Handle(), nil) != codes.Success {
						_ = cr.Reject(nil)
					}
				}
			case 3:
				_ = e.Disconnect(random.IntN(2) == 0)
			case 4:
				_ = e.Reset()
			case 5, 6:
				if e.PostReceive(e.h.local(0, 64), 0, 0) == codes.Success {
					posted++
				}
			case 7, 8:
				if e.Post(PostArgs{Op: rc.Send, Triplets: e.h.local(0, uint32(random.IntN(70)))}) ==
					codes.Success {
					posted++
				}
			case 9:
				l.now += random.Int64N(2e9)
			}
			if random.IntN(2) == 0 {
				l.turn()
			}
			drain(e)
		}
		for _, m := range windows[:len(windows)/2] {
			l.must("free", m.Free())
		}
		for _, e := range ends {
			l.must("free", e.Free())
		}
		for _, m := range windows[len(windows)/2:] {
			l.must("free", m.Free())
		}
		l.turn()
		for _, e := range ends {
			drain(e)
		}
		if posted != over {
			t.Errorf("seed %d: %d of %d ended", seed, over, posted)
		}
		l.close()
		if t.Failed() {
			return
		}
	}
}

// TestDeviceIdentity: queries return the adapter's own values; functions it does not have are
// refused.
func TestDeviceIdentity(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	attributes := map[string]string{}
	for _, kv := range a.h.ia.Attributes() {
		attributes[kv[0]] = kv[1]
	}
	for name, want := range map[string]string{"DAT_IB_DEVICE_NAME": "fake0",
		"DAT_IB_GID":           "0000:0000:0000:0000:0000:ffff:0a00:0001",
		"DAT_IB_PORT_STATUS":   "ACTIVE",
		"DAT_IB_FETCH_AND_ADD": "TRUE", "DAT_IB_TRANSPORT_MTU": "1024", "DAT_COLL_BARRIER": "TRUE"} {
		if got := attributes[name]; got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if n := a.h.ia.Limits(); n.PrivateConnect != device.PrivateConnect || n.ReadsIn != 8 {
		t.Errorf("limits %+v", n)
	}
	if r := a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 1<<13), Flags: 0}); r != codes.Success {
		t.Errorf("%#x", uint32(r))
	}
	if r := b.Connect(a.h.ia.Addr, 7, 1, make([]byte, device.PrivateConnect+1)); r != codes.Arg(5) {
		t.Errorf("too much private data: %#x", uint32(r))
	}
}
