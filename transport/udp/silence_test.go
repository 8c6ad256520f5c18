package udp

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"lapi/transport"
)

// blamed is a pairOutlet that knows why packets get lost.
type blamed struct {
	pairOutlet
	why error
}

func (o blamed) LastError(path Path, to netip.AddrPort) error {
	if path != 0 || to != pairAddr(1-o.i) {
		return errors.New("asked for another path")
	}
	return o.why
}

// TestReportsUnansweredPeerOnce: after 5 s of Hellos without an answer the owner is notified, once,
// and when the peer is given up the same facts are there.
func TestReportsUnansweredPeerOnce(t *testing.T) {
	why := errors.New("not permitted")
	for name, c := range map[string]struct {
		lose func(from int, b []byte) bool
		want Silence
	}{
		"nothing passes": {func(int, []byte) bool { return true }, Silence{}},
		"our packets are lost": {func(from int, _ []byte) bool { return from == 0 },
			Silence{Heard: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var reports []Silence
			p := newPair(t, 2, func(i int, c *Config) {
				c.Timeout = 20 * time.Second
				if i == 0 {
					c.Unanswered = func(ep transport.Endpoint, s Silence) {
						if ep != 1 {
							t.Errorf("peer %d is reported", ep)
						}
						reports = append(reports, s)
					}
				}
			})
			p.ms[0].out = blamed{pairOutlet{p, 0}, why}
			p.lose = c.lose
			p.send(0, 1, 1, 8)
			p.send(1, 0, 1, 8)
			p.pass(4 * time.Second)
			p.want("reports before 5 s", len(reports), 0)
			p.pass(2 * time.Second)
			p.want("reports", len(reports), 1)
			c.want.Reason, c.want.Peer, c.want.For = why, pairAddr(1), reports[0].For
			if reports[0] != c.want || c.want.For < 5*time.Second || c.want.For > 6*time.Second {
				t.Errorf("reported %+v", reports[0])
			}
			if _, ok := p.ms[0].Silence(1); ok {
				t.Error("the peer was given up already")
			}
			p.pass(20 * time.Second)
			s, ok := p.ms[0].Silence(1)
			if c.want.For = s.For; !ok || s != c.want || s.For < 20*time.Second {
				t.Errorf("given up: %+v, %v", s, ok)
			}
			p.want("reports at the end", len(reports), 1)
		})
	}
}

// TestReportsNoPeerThatAnswers: a peer that answers late is not reported, nor is a silent peer that
// has answered before, as it may compute. When it is given up, that it has answered is known.
func TestReportsNoPeerThatAnswers(t *testing.T) {
	p := newPair(t, 2, func(i int, c *Config) {
		c.Timeout = 20 * time.Second
		c.Unanswered = func(ep transport.Endpoint, s Silence) { t.Errorf("reported: %+v", s) }
	})
	begin := p.now
	p.lose = func(int, []byte) bool { return p.now-begin < int64(4*time.Second) }
	p.send(0, 1, 1, 8)
	p.pass(6 * time.Second)
	if p.ms[0].connected(1).session.state != open {
		t.Fatal("no session")
	}
	p.lose = func(int, []byte) bool { return true }
	p.send(0, 1, 1, 8)
	p.pass(30 * time.Second)
	if s, ok := p.ms[0].Silence(1); !ok || !s.Ever || s.Heard || s.Reason != nil {
		t.Errorf("given up: %+v, %v", s, ok)
	}
}
