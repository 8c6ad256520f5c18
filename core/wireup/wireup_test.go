package wireup

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"lapi/core/job"
	"lapi/transport"
)

// FuzzCard gives the decoder arbitrary bytes.
func FuzzCard(f *testing.F) {
	f.Add([]byte{5, 2, 0, 1, 2, 1, 0, 3, 1, 0, 4, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCard(b, 5)
		if err == nil && (b[0] != 5 || len(c.UDP)+len(c.Shm)+len(c.Verbs)+len(c.Where)+9 > len(b)) {
			t.Errorf("%v is taken for %+v", b, c)
		}
	})
}

func TestPathChangesAreTold(t *testing.T) {
	var all []string
	n := Net{cfg: &Config{Message: func(_ int, text string) { all = append(all, text) }}}
	n.pathChanged(1, 1, false)
	n.pathChanged(1, 1, true)
	for i, text := range []string{"path 1 to task 1: no answer",
		"path 1 to task 1: it is used again"} {
		if len(all) != 2 || !strings.Contains(all[i], text) {
			t.Errorf("no %q in %q", text, all)
		}
	}
}

// brokenLink cannot be connected.
type brokenLink struct{ transport.Link }

func (brokenLink) Limits() transport.Limits { return transport.Limits{} }
func (brokenLink) Connect(transport.Endpoint, transport.Address) error {
	return errors.New("no room for the segment")
}

// TestSegmentThatCannotBeAttached: a peer's segment that this task cannot attach is reported, and
// fails the wire-up.
func TestSegmentThatCannotBeAttached(t *testing.T) {
	told := false
	n := Net{
		job: &job.Config{}, cfg: &Config{Linked: func(int, Peer) {}, Message: func(int, string) {},
			Happened: func(_ int, e Event, _ string) { told = told || e == SharedMemoryDetach }}}
	err := n.use(1, Peer{Link: brokenLink{}, Shared: true}, transport.Address{})
	if err != NoSharedMemory || !told {
		t.Errorf("it fails with %v, told: %v", err, told)
	}
}

// TestMissingAddressNamesTheCause: where tasks differ about shared memory, that is reported, and not
// a missing address only.
func TestMissingAddressNamesTheCause(t *testing.T) {
	listed := []netip.AddrPort{{}, {}}
	for _, k := range []struct {
		net  Net
		card Card
		want error
		says string
	}{
		{Net{job: &job.Config{Shm: job.ShmYes, CommonTasks: []int{1}}, Listed: listed}, Card{},
			BadAddress, "LAPI_USE_SHM must be the same"},
		{Net{job: &job.Config{}, Listed: listed}, Card{}, BadAddress, "the UDP address list has no"},
		{Net{job: &job.Config{}}, Card{Shm: []byte{1}}, NoSharedMemory, "LAPI_USE_SHM must be"},
		{Net{job: &job.Config{}}, Card{}, BadAddress, "there is no UDP address for task 1"},
	} {
		said := ""
		k.net.cfg = &Config{Message: func(_ int, text string) { said += text }}
		if err := k.net.noAddress(1, &k.card); err != k.want || !strings.Contains(said, k.says) {
			t.Errorf("%v, %q; want %v, %q", err, said, k.want, k.says)
		}
	}
}
