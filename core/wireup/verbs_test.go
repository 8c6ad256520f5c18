package wireup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/verbs"
)

// rack is a task's adapters: names with a colon are ports that work, others devices without one.
type rack struct {
	t      *testing.T
	names  []string
	opened []string
	said   []string
	level  int // of the latest
	events []Event
}

func (r *rack) open(device string, port int) (ibv.Device, error) {
	for _, name := range r.names {
		p := strings.Split(name, ":")
		if len(p) == 2 && (device == "" || device == p[0]) &&
			(port == 0 || fmt.Sprint(port) == p[1]) {
			r.opened = append(r.opened, name)
			d, err := fake.NewRandom(1).Device()
			return d, err
		}
	}
	return nil, fmt.Errorf("there is no adapter %s", device)
}

func (r *rack) list() (all []job.Port, err error) {
	for _, name := range r.names {
		if device, port, works := strings.Cut(name, ":"); works {
			all = append(all, job.Port{Device: device, Number: int(port[0] - '0')})
		}
	}
	return all, nil
}

// net is a Net that has these adapters and is to reach one task.
func (r *rack) net(us job.UserSpace) *Net {
	memory.Guard()
	return &Net{remote: 1, job: &job.Config{NumTasks: 2, US: us, Auth: job.AuthNone},
		cfg: &Config{Message: func(level int, text string) {
			r.level, r.said = level, append(r.said, text)
		},
			Happened: func(_ int, e Event, _ string) { r.events = append(r.events, e) },
			Timeout:  time.Minute, Hooks: Hooks{OpenPort: r.open, ListPorts: r.list}}}
}

// TestPorts: which ports are opened for what is asked for.
func TestPorts(t *testing.T) {
	names := []string{"a:1", "a:2", "b:1", "dead", "c:1"}
	port := func(device string, n int) job.Port { return job.Port{Device: device, Number: n} }
	for _, c := range []struct {
		us     job.UserSpace
		opened string
	}{
		{job.UserSpace{Most: 1}, "a:1"},
		{job.UserSpace{Most: 2}, "a:1 a:2"},
		{job.UserSpace{Most: 8}, "a:1 a:2 b:1 c:1"},
		{job.UserSpace{Most: 1, Ports: []job.Port{port("b", 0)}}, "b:1"},
		{job.UserSpace{Most: 8, Ports: []job.Port{port("a", 0)}}, "a:1 a:2"},
		{job.UserSpace{Most: 8, Ports: []job.Port{port("a", 2)}}, "a:2"},
		{job.UserSpace{Most: 2, Ports: []job.Port{port("c", 0), port("a", 2)}}, "c:1 a:2"},
		{job.UserSpace{Most: 2, Ports: []job.Port{port("dead", 0), port("b", 1)}}, "b:1"},
		{job.UserSpace{Most: 1, Ports: []job.Port{port("dead", 0)}}, ""},
		{job.UserSpace{Most: 2, Ports: []job.Port{port("dead", 0)}}, ""},
	} {
		r := &rack{t: t, names: names}
		all, err := r.net(c.us).openPorts()
		if got := strings.Join(r.opened, " "); got != c.opened || (err == nil) != (got != "") {
			t.Errorf("%+v opens %q (%v), want %q", c.us, got, err, c.opened)
		}
		if fewer := slices.Contains(r.events, FewerPaths); fewer !=
			(len(c.us.Ports) > len(all) && err == nil) {
			t.Errorf("%+v: fewer paths: %v", c.us, fewer)
		}
		if err := closeAll(all); err != nil {
			t.Error(err)
		}
	}
}

// TestNoAdapter: without an adapter a task that asks for user space has UDP and one line that says
// so, or fails if it wants nothing else; a task that does not ask, or has nobody to reach, opens
// none.
func TestNoAdapter(t *testing.T) {
	for _, only := range []bool{false, true} {
		r := &rack{t: t}
		n := r.net(job.UserSpace{Wanted: true, Only: only, Most: 1})
		err := n.openVerbs()
		if n.Verbs != nil || (err == NoAdapter) != only || len(r.said) != 1 ||
			!strings.Contains(r.said[0], "there is no adapter") {
			t.Errorf("only %v: %v, %q", only, err, r.said)
		}
	}
	r := &rack{t: t, names: []string{"a:1"}}
	n := r.net(job.UserSpace{Most: 1})
	if err := n.openVerbs(); err != nil || r.opened != nil || n.Verbs != nil {
		t.Errorf("not asked for: %v, %v", r.opened, err)
	}
	n = r.net(job.UserSpace{Wanted: true, Most: 1})
	n.remote = 0
	if err := n.openVerbs(); err != nil || r.opened != nil || n.Verbs != nil {
		t.Errorf("nobody to reach: %v, %v", r.opened, err)
	}
	n.job.US.Only = true
	if err := n.openVerbs(); err != nil || len(r.opened) != 1 || n.Verbs != nil {
		t.Errorf("nobody to reach, and only adapters: %v, %v", r.opened, err)
	}
}

// TestKeyIsLacking: without the key that the job wants no adapter is used, and none is left open.
func TestKeyIsLacking(t *testing.T) {
	r := &rack{t: t, names: []string{"a:1"}}
	n := r.net(job.UserSpace{Wanted: true, Most: 1})
	lacks := errors.New("no key")
	n.job.Auth = job.AuthMAC
	n.cfg.Key = func(*job.Config) ([]byte, bool, error) { return nil, false, lacks }
	if err := n.openVerbs(); err != lacks || n.Verbs != nil {
		t.Errorf("%v", err)
	}
}

// stub is a link that notes what it is to be connected with.
type stub struct {
	to      []transport.Endpoint
	at      []string // and where
	closed  bool
	spare   bool // it was given one
	uses    bool
	failed  []transport.Endpoint
	closing *[]string // names of links, as they are closed
}

type udpStub struct {
	UDPLink
	*stub
}

func (s udpStub) Connect(ep transport.Endpoint, _ transport.Address) error {
	s.to = append(s.to, ep)
	return nil
}
func (s udpStub) Close() error {
	s.closed = true
	if s.closing != nil {
		*s.closing = append(*s.closing, "udp")
	}
	return nil
}

type verbsStub struct {
	VerbsLink
	*stub
}

func (s verbsStub) Connect(ep transport.Endpoint, a transport.Address) error {
	s.to, s.at = append(s.to, ep), append(s.at, string(a.Bytes))
	return nil
}
func (s verbsStub) Close() error {
	s.closed = true
	if s.closing != nil {
		*s.closing = append(*s.closing, "verbs")
	}
	return nil
}
func (s verbsStub) UseSpare(verbs.Carrier)            { s.spare = true }
func (s verbsStub) SpareFailed(ep transport.Endpoint) { s.failed = append(s.failed, ep) }
func (s verbsStub) UsesSpare() bool                   { return s.uses }

// TestChoiceOfLink: which task is reached by which link, and which links stay.
func TestChoiceOfLink(t *testing.T) {
	both, udpOnly := Card{UDP: []byte{1}, Verbs: []byte{2}}, Card{UDP: []byte{1}}
	for _, c := range []struct {
		here       bool // an adapter
		only       bool
		cards      []Card // of tasks 1 and 2
		verbs, udp int    // how many are reached so
		err        error
	}{
		{true, false, []Card{both, both}, 2, 0, nil},
		{true, false, []Card{both, udpOnly}, 1, 1, nil},
		{true, false, []Card{udpOnly, udpOnly}, 0, 2, nil},
		{false, false, []Card{both, both}, 0, 2, nil},
		{true, true, []Card{both, both}, 2, 0, nil},
		{true, true, []Card{both, udpOnly}, 1, 0, NoAdapter},
		{true, false, []Card{both, {Verbs: []byte{2}}}, 2, 0, nil},
		{true, false, []Card{both, {}}, 1, 0, BadAddress},
	} {
		r := &rack{t: t}
		n := r.net(job.UserSpace{Wanted: true, Only: c.only})
		n.cfg.Linked = func(int, Peer) {}
		n.job.Launched = true
		udp, verbs := &stub{}, &stub{}
		n.UDP = udpStub{stub: udp}
		if c.here {
			n.Verbs = verbsStub{stub: verbs}
		}
		var err error
		for i := range c.cards {
			if err = n.connect(i+1, &c.cards[i], make([]job.Part, 3)); err != nil {
				break
			}
		}
		if err != c.err || len(verbs.to) != c.verbs || len(udp.to) != c.udp {
			t.Errorf("%+v: %v; %v by RDMA, %v by UDP", c, err, verbs.to, udp.to)
		}
		if err != nil {
			continue
		}
		if err := n.dropUnused(); err != nil {
			t.Error(err)
		}
		if (n.Verbs != nil) != (c.verbs > 0) || (n.UDP != nil) != (c.udp > 0) ||
			udp.closed != (c.udp == 0) || verbs.closed != (c.here && c.verbs == 0) {
			t.Errorf("%+v: RDMA stays: %v, UDP: %v", c, n.Verbs != nil, n.UDP != nil)
		}
	}
}

// TestSpare: UDP stays for tasks that are reached by adapters, and that have UDP, too, and is
// closed after the link that may have to send something by it; not where nothing but adapters is
// wanted. Its reports about such tasks go to the link over adapters, and not to the owner.
func TestSpare(t *testing.T) {
	both, verbsOnly, udpOnly := Card{UDP: []byte{1}, Verbs: []byte{2}}, Card{Verbs: []byte{2}},
		Card{UDP: []byte{1}}
	for _, c := range []struct {
		only           bool
		card           Card
		stays, at      string
		owner, adapter int // calls that report the end of task 1
	}{
		{false, both, "verbs udp", "\x02\x01", 0, 1},
		{false, verbsOnly, "verbs", "\x02", 1, 0},
		{true, both, "verbs", "\x02", 1, 0},
		{false, udpOnly, "udp", "", 1, 0},
	} {
		r := &rack{t: t}
		n := r.net(job.UserSpace{Wanted: true, Only: c.only})
		n.cfg.Linked = func(int, Peer) {}
		owner, cuts := 0, 0
		n.cfg.PeerFailed = func(transport.Endpoint, error) { owner++ }
		n.cfg.SendMaxChanged = func(transport.Endpoint, int) { cuts++ }
		n.job.Launched = true
		var closing []string
		udp, link := &stub{closing: &closing}, &stub{closing: &closing}
		n.UDP, n.Verbs = udpStub{stub: udp}, verbsStub{stub: link}
		n.offerSpare()
		if link.spare == c.only {
			t.Errorf("%+v: a spare one is given: %v", c, link.spare)
		}
		if err := n.connect(1, &c.card, make([]job.Part, 2)); err != nil {
			t.Fatal(err)
		}
		n.udpFailed(1, transport.ErrTimeout)
		n.sendMaxChanged(1, 100)
		if owner != c.owner || len(link.failed) != c.adapter || cuts != c.owner {
			t.Errorf("%+v: the owner hears %d times, of %d cuts, the link %v", c, owner, cuts,
				link.failed)
		}
		if strings.Join(link.at, "") != c.at {
			t.Errorf("%+v: connected to %q", c, link.at)
		}
		if err := n.dropUnused(); err != nil {
			t.Error(err)
		}
		idles := c.stays == "verbs udp"
		if n.UDPIdles() != idles {
			t.Errorf("%+v: UDP idles: %v", c, !idles)
		}
		if link.uses = true; n.UDPIdles() {
			t.Errorf("%+v: UDP idles while it is used", c)
		}
		closing = nil
		n.Close()
		if got := strings.Join(closing, " "); got != c.stays {
			t.Errorf("%+v: then %q are closed", c, got)
		}
	}
	r := &rack{t: t}
	n := r.net(job.UserSpace{})
	n.sparedChanged(1, true)
	n.sparedChanged(1, false)
	if len(r.said) != 2 || !strings.Contains(r.said[0], "task 1 is reached by UDP/IP") ||
		!strings.Contains(r.said[1], "task 1 is reached by an adapter again") {
		t.Errorf("said: %q", r.said)
	}
}

// TestReopener: an adapter that was gone is asked for by its name and port.
func TestReopener(t *testing.T) {
	r := &rack{t: t, names: []string{"a:1", "b:1", "b:2"}}
	again := r.net(job.UserSpace{}).reopener([]ibv.Info{{Name: "a", Port: 1}, {Name: "b", Port: 2}})
	if a, err := again(1); err != nil || a.Close() != nil || len(r.opened) != 1 || r.opened[0] != "b:2" {
		t.Errorf("opened: %v, %v", r.opened, err)
	}
	r.names = r.names[:1]
	if _, err := again(1); err == nil {
		t.Error("one that is gone was opened")
	}
}

// TestPortsAreTold: each change of a port's state is reported.
func TestPortsAreTold(t *testing.T) {
	r := &rack{t: t}
	n := r.net(job.UserSpace{})
	for state, text := range map[verbs.PortState]string{verbs.PortUp: "is up again",
		verbs.PortDown: "is down", verbs.PortGone: "is gone;"} {
		r.said = nil
		n.portChanged(verbs.PortChange{Index: 1, Name: "b", State: state})
		if len(r.said) != 1 || !strings.Contains(r.said[0], "adapter b) "+text) ||
			r.level != LevelInform {
			t.Errorf("%v: %q at level %d", state, r.said, r.level)
		}
	}
	r.said = nil
	n.portChanged(verbs.PortChange{Index: 1, Name: "b", State: verbs.PortGone,
		Refused: errors.New("too small")})
	if len(r.said) != 1 || r.level != LevelFailure ||
		!strings.Contains(r.said[0], "b) is there again and cannot be used: too small") {
		t.Errorf("refused: %q at level %d", r.said, r.level)
	}
}

// TestAdapterEventsAreReported: an adapter's event is a line at MP_INFOLEVEL 2, with its name; what
// each queue pair brings is none.
func TestAdapterEventsAreReported(t *testing.T) {
	r := &rack{t: t}
	n := r.net(job.UserSpace{})
	of := ibv.Info{Name: "b", Port: 2}
	n.adapterEvent(ibv.Event{Kind: ibv.QPFailed, Type: 1, QPN: 0x11}, of)
	n.adapterEvent(ibv.Event{Kind: ibv.Other, Type: 16}, of)
	if len(r.said) != 1 || r.level != LevelInform ||
		r.said[0] != "task 0: IBV_EVENT_QP_FATAL of adapter b, port 2, queue pair 0x11" {
		t.Errorf("%q at level %d", r.said, r.level)
	}
}
