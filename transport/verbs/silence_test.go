package verbs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/verbs/internal/wire"
)

// silenceCase is one reason why a peer does not answer, and the report of it.
type silenceCase struct {
	ports  int // of each task beside its first
	before func(n *net)
	want   func(s *Silence) bool
}

var silenceCases = map[string]silenceCase{
	"lost":      {0, func(*net) {}, func(s *Silence) bool { return s.Reason == nil }},
	"two ports": {1, func(*net) {}, func(s *Silence) bool { return s.Reason == nil }},
	"no path": {0, func(n *net) { n.devices[0].FailNext(fake.FindPath, 1<<30) },
		func(s *Silence) bool { return errors.Is(s.Reason, unix.ENOMEM) }},
	"no queue pair": {0, func(n *net) { n.devices[0].FailNext(fake.Create, 1<<30) },
		func(s *Silence) bool { return errors.Is(s.Reason, unix.ENOMEM) }},
}

// TestReportsUnansweredPeerOnce: after 5 s of Hellos without an answer the owner is notified, once,
// with both ports and why this task's adapter could not send; the same is known when the peer is
// given up.
func TestReportsUnansweredPeerOnce(t *testing.T) {
	for name, c := range silenceCases {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func (c *silenceCase) run(t *testing.T) {
	now := int64(1)
	var reported []Silence
	n := newNetOfPorts(t, []int{c.ports, c.ports}, 1, func(f *fake.Fabric, cfg *Config) {
		cfg.Clock = func() int64 { return now }
		cfg.Unanswered = func(ep transport.Endpoint, s Silence) {
			if ep != 1 {
				t.Errorf("reported: %d", ep)
			}
			reported = append(reported, s)
		}
		f.Lose = 1
	})
	l := n.links[0]
	c.before(n)
	right := func(s *Silence) bool {
		here, there := n.links[0].own.Places, n.links[1].own.Places
		return slices.ContainsFunc(here, func(p wire.Place) bool { return p.GID == s.Local.GID }) &&
			slices.ContainsFunc(there, func(p wire.Place) bool { return p.GID == s.Remote.GID }) &&
			!s.Ever && !s.Heard && !s.Spare && c.want(s)
	}
	if _, err := l.Send(1, 2, nil, &transport.Op{}); err != nil {
		t.Fatal(err)
	}
	for ; now < int64(60*time.Second); now += int64(100 * time.Millisecond) {
		l.Progress(10)
		if now < unansweredAfter && len(reported) > 0 {
			t.Fatalf("reported after %v", time.Duration(now))
		}
	}
	if len(reported) != 1 || reported[0].For < 5*time.Second || reported[0].For > 7*time.Second ||
		!right(&reported[0]) {
		t.Fatalf("reported: %+v", reported)
	}
	if s, ok := l.Silence(1); ok {
		t.Errorf("silence of a peer that was not given up: %+v", s)
	}
	now += defaultTimeout
	l.Progress(10)
	if s, ok := l.Silence(1); !ok || int64(s.For) < defaultTimeout || !right(&s) {
		t.Errorf("silence of a peer that was given up: %v %+v", ok, s)
	}
	n.close(t)
}

// TestReportsHeardPeer: that the peer's Hellos arrive, while this task's are lost, is reported.
func TestReportsHeardPeer(t *testing.T) {
	now := int64(1)
	var reported []Silence
	n := newNet(t, 2, 1, func(_ *fake.Fabric, cfg *Config) {
		cfg.Clock = func() int64 { return now }
		cfg.Unanswered = func(_ transport.Endpoint, s Silence) { reported = append(reported, s) }
	})
	for i := range n.links {
		if _, err := n.links[i].Send(transport.Endpoint(1-i), 2, nil, &transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	n.links[0].Progress(10) // task 1's Hello
	n.devices[0].Cut(n.devices[1], true)
	for ; now < int64(10*time.Second); now += int64(100 * time.Millisecond) {
		n.links[0].Progress(10)
	}
	if len(reported) != 1 || !reported[0].Heard || reported[0].Ever {
		t.Errorf("reported: %+v", reported)
	}
	n.close(t)
}

// TestReportsNoPeerThatAnswers: a peer that has answered is not reported afterwards.
func TestReportsNoPeerThatAnswers(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, cfg *Config) {
		cfg.Clock = fast()
		cfg.Unanswered = func(_ transport.Endpoint, s Silence) { t.Errorf("reported: %+v", s) }
	})
	n.sendNumbers(t, 10, func(int) {})
	clock := n.links[0].cfg.Clock
	for end := clock() + 2*unansweredAfter; clock() < end; {
		n.turn()
	}
	n.close(t)
}
