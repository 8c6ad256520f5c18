package wireup

import (
	"bytes"
	"net/netip"
	"testing"

	"lapi/core/job"
	"lapi/transport/shm"
)

// TestCard: a card is read as it was written, and not at all if it is of another version, or says
// that it is longer than it is.
func TestCard(t *testing.T) {
	const version = 5
	good := []byte{version, 2, 0, 1, 2, 1, 0, 3, 1, 0, 6, 2, 0, 4, 5}
	c, err := DecodeCard(good, version)
	if err != nil || !bytes.Equal(c.UDP, []byte{1, 2}) || !bytes.Equal(c.Shm, []byte{3}) ||
		!bytes.Equal(c.Verbs, []byte{6}) ||
		!bytes.Equal(c.Where, []byte{4, 5}) {
		t.Errorf("%v becomes %+v, %v", good, c, err)
	}
	if _, err := DecodeCard(good, version+1); err == nil {
		t.Error("a card of another version is read")
	}
	for n := range good {
		if c, err := DecodeCard(good[:n:n], version); err == nil {
			t.Errorf("%v becomes %+v", good[:n], c)
		}
	}
}

// TestChooseNode: which tasks are reached by shared memory, and what LAPI_USE_SHM=only refuses.
func TestChooseNode(t *testing.T) {
	others := func(n int) (all []int) { // of a node, without task 0
		for i := 1; i < n; i++ {
			all = append(all, i)
		}
		return all
	}
	const most = shm.MaxTasks
	for _, c := range []struct {
		use         job.ShmMode
		tasks, here int
		onNode      int // -1: refused
	}{
		{job.ShmYes, 4, 4, 4}, {job.ShmYes, 4, 3, 3}, {job.ShmYes, 4, 1, 0},
		{job.ShmNo, 4, 4, 0},
		{job.ShmOnly, 4, 4, 4}, {job.ShmOnly, 4, 3, -1},
		{job.ShmYes, most + 1, most + 1, most}, {job.ShmOnly, most, most, most},
		{job.ShmOnly, most + 1, most + 1, -1},
	} {
		n := Net{cfg: &Config{Message: func(int, string) {},
			Happened: func(int, Event, string) {}},
			job: &job.Config{NumTasks: c.tasks, Shm: c.use, CommonTasks: others(c.here)}}
		err := n.chooseNode()
		if c.onNode < 0 {
			if err != NoSharedMemory {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || len(n.OnNode) != c.onNode || n.remote != c.tasks-max(c.onNode, 1) {
			t.Errorf("%+v: %d tasks on the node, %d elsewhere, %v", c, len(n.OnNode), n.remote, err)
		}
	}
}

// TestLocals: of the addresses in MP_LAPI_INET_ADDR those are used that the adapter has.
func TestLocals(t *testing.T) {
	ip := netip.MustParseAddr
	inet := []job.Adapter{{Addr: ip("192.0.2.1"), Device: "en0"},
		{Addr: ip("192.0.2.2"), Device: "en1"}}
	for _, c := range []struct {
		adapter []netip.Addr
		want    []string
	}{
		{nil, []string{"192.0.2.1:0", "192.0.2.2:0"}},
		{[]netip.Addr{ip("192.0.2.2")}, []string{"192.0.2.2:0"}},
		{[]netip.Addr{ip("10.0.0.1")}, []string{"10.0.0.1:0"}}, // none: the adapter's own
	} {
		n := Net{job: &job.Config{Adapters: inet}, adapter: c.adapter}
		got := n.locals()
		for i := range c.want {
			if len(got) != len(c.want) || got[i].Addr.String() != c.want[i] {
				t.Errorf("adapter %v: %v, want %v", c.adapter, got, c.want)
				break
			}
		}
	}
}
