package dat

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"lapi/core/dat/codes"
	"lapi/core/dat/coll"
	"lapi/transport/ibv/fake"
)

// TestGroupOfAdapters: members on RDMA adapters, named by blobs or by service points, make a group;
// the sockets by which they meet are opened for the first of them and no earlier; operations come to
// the right results, and after the group's end nothing of it is left.
func TestGroupOfAdapters(t *testing.T) {
	for _, points := range []bool{false, true} {
		t.Run(fmt.Sprintf("points=%v", points), func(t *testing.T) {
			w := newWorldOver(t, fake.New(), 3, 3, lossy)
			for _, p := range w.procs {
				if p.l.network != nil {
					t.Fatal("sockets are open before there is a member")
				}
			}
			list := w.membersOfAdapters(3, points)
			w.group(list, 5)
			for i, m := range list {
				w.must("allreduce", m.g.Post(m.sum(i, 100, 0)))
			}
			for _, m := range list {
				w.collective(m, uint32(coll.Allreduce), 0)
				if got := binary.LittleEndian.Uint64(m.p.memory[8*100:]); got != 6 {
					t.Errorf("the sum is %d", got)
				}
			}
			for _, m := range list {
				w.must("free_group", m.g.Free())
			}
			w.run(time.Minute)
			for _, m := range list {
				if points {
					w.must("psp_free", m.psp.Free())
				} else {
					w.must("free_member", m.p.ia.FreeMember(m.at))
				}
				if m.p.everywhere > 0 {
					t.Error("it has listened at other addresses than its adapter's")
				}
				for port, users := range m.p.ports {
					if users != 0 {
						t.Errorf("port %d stays open", port)
					}
				}
			}
		})
	}
}

// TestMeetingsOfTwoAdapters: service points of two adapters of a process may have one qualifier. Members
// of groups can come to it until the last of the two is freed.
func TestMeetingsOfTwoAdapters(t *testing.T) {
	w := newWorldOver(t, fake.New(), 5, 1, lossy)
	p := w.procs[0]
	w.must("sockets", p.ia.openGroups())
	const qualifier = 1024
	for i := range 2 {
		if !p.ia.meet(qualifier) {
			t.Fatalf("service point %d takes no members", i)
		}
	}
	for i := 1; i >= 0; i-- {
		p.ia.unmeet(qualifier)
		if there := p.l.machine.Listener(qualifier) != nil; there != (i > 0) {
			t.Errorf("%d service points left, members can come: %v", i, there)
		}
		if users := p.ports[PortOf(qualifier)]; users != i {
			t.Errorf("%d service points left, %d users of their port", i, users)
		}
	}
}

// membersOfAdapters is members, one in each process.
func (w *world) membersOfAdapters(n int, points bool) (list []*simMember) {
	if points {
		list = w.servicePoints(n)
	} else {
		list = w.members(n)
	}
	for _, m := range list {
		w.must("sockets", m.p.ia.openGroups())
		m.p.take()
	}
	return list
}

// TestGroupOfQueries: an adapter that was opened for queries has no members.
func TestGroupOfQueries(t *testing.T) {
	w := newWorldOver(t, fake.New(), 4, 1, lossy)
	p := w.procs[0]
	ia, r := p.l.OpenIA(OpenArgs{Name: "query", Size: 8, Query: true, Params: p.addr.String()})
	w.must("open_query", r)
	if _, _, r := ia.NewMember(); r != codes.BadHandle(codes.InvalidHandleIA) {
		t.Errorf("create_member: %#x", uint32(r))
	}
	if p.l.network != nil {
		t.Error("the sockets are open")
	}
}

// TestMembersOfOneHostShareProcessors: members on adapters of several nodes that run on the same
// processors, and are more than these, give the processor up while they wait; those of several hosts
// do not.
func TestMembersOfOneHostShareProcessors(t *testing.T) {
	n := runtime.NumCPU() + 1
	for _, hosts := range []int{1, 2, n} {
		w, list := railed(t, fake.New(), 3, n, true)
		for i, m := range list {
			m.p.l.cfg.Processors = func() uint16 { return uint16(1 + i%hosts) }
		}
		w.group(list, 5)
		for i, m := range list {
			if got := m.p.l.Crowded(); got != (hosts == 1) {
				t.Errorf("%d members on %d hosts: member %d shares processors: %v", n, hosts, i, got)
			}
			w.must("free_group", m.g.Free())
			if m.p.l.Crowded() {
				t.Errorf("member %d shares processors after the group's end", i)
			}
		}
	}
}
