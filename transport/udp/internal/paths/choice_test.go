package paths

import (
	"net/netip"
	"testing"
	"time"

	"lapi/transport/udp/internal/congestion"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// session is a Session that notes what it is asked for.
type session struct {
	asked   []uint8
	changes []string
	due     int64
}

func (s *session) Ask(r *Path, now int64) bool {
	s.asked = append(s.asked, r.Number())
	r.Asked(now)
	return true
}
func (s *session) Redirect(*Path, int64) {}
func (s *session) Timer(at int64)        { s.due = at }
func (s *session) Renewed(r *Path)       { r.Renewed(1 << 20) }
func (s *session) Changed(r *Path, used bool) {
	s.changes = append(s.changes, map[bool]string{true: "up", false: "down"}[used])
}

// newSet makes n paths that work, of the round trips given.
func newSet(trips ...time.Duration) (*Set, *session) {
	addrs := make([]netip.AddrPort, len(trips))
	s, of, w := &Set{}, &session{}, &recovery.Window{}
	s.Init(of, w, addrs, func() congestion.Controller { return congestion.New(1472) })
	w.Init(nil, wire.Seq(1), 1e9)
	w.SetPaths(s.Recovery(), 1e9)
	for i, t := range trips {
		s.At(i).Congestion().Reset(1 << 20)
		s.At(i).RTT().Sample(1, int64(t))
		s.Opened(s.At(i), 1)
	}
	return s, of
}

// answer is the peer's to the latest transmission by r.
func answer(s *Set, r *Path, now int64) {
	r.Echo(now, uint16(r.Transmissions()))
	s.Answered(r, now)
	s.Corroborate(r, now)
}

// Packets that must be sent go by the path of lowest latency; a path whose latency is hardly lower
// changes nothing.
func TestUsable(t *testing.T) {
	s, _ := newSet(160*time.Microsecond, 100*time.Microsecond)
	s.best = 0
	if r := s.Usable(); r.Number() != 1 {
		t.Errorf("path %d is taken", r.Number())
	}
	s, _ = newSet(110*time.Microsecond, 100*time.Microsecond)
	s.best = 0
	if r := s.Usable(); r.Number() != 0 {
		t.Errorf("path %d is taken, for a tenth", r.Number())
	}
}

// A path is marked down after three misses, each corroborated by another path, and not before.
func TestMarkedDown(t *testing.T) {
	s, of := newSet(time.Millisecond, time.Millisecond)
	bad, good := s.At(0), s.At(1)
	now := int64(time.Second)
	s.Used(now, false)
	if !s.Suspect(bad, now) || bad.Works() || bad.Health() != "live" {
		t.Fatalf("it is %s", bad.Health())
	}
	for misses := 1; misses <= mostMisses; misses++ {
		if bad.Health() != "live" || len(of.changes) != 0 {
			t.Fatalf("it is %s after %d misses", bad.Health(), misses-1)
		}
		now += 1e6
		of.Ask(good, now)
		answer(s, good, now+1)
		now = bad.ProbeDue()
		s.Used(now, false)
		s.OnTimer(bad, now, true)
	}
	if bad.Health() != "down" || len(of.changes) != 1 {
		t.Fatalf("it is %s, %v", bad.Health(), of.changes)
	}
	answer(s, bad, now+1)
	if !bad.Works() || len(of.changes) != 2 {
		t.Errorf("it is %s after an answer, %v", bad.Health(), of.changes)
	}
}

// If all paths are silent alike none is marked down.
func TestAllSilent(t *testing.T) {
	s, of := newSet(time.Millisecond, time.Millisecond)
	now := int64(time.Second)
	s.Used(now, false)
	for i := range 2 {
		s.Suspect(s.At(i), now)
	}
	for range 100 {
		for i := range 2 {
			if now = max(now, s.At(i).ProbeDue()); s.At(i).ProbeDue() != 0 {
				s.Used(now, false)
				s.OnTimer(s.At(i), now, true)
			}
		}
	}
	if len(of.changes) != 0 || len(of.asked) < 100 {
		t.Errorf("%v after %d probes", of.changes, len(of.asked))
	}
}
