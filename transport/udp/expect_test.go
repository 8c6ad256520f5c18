package udp

import (
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// While the owner waits for a peer that acknowledged all and says nothing, it is asked for a sign of
// life now and then, and has failed after TIMEOUT without one. Else an idle session costs nothing.
func TestExpect(t *testing.T) {
	const timeout = 8 * time.Second
	for name, c := range map[string]struct {
		expected, gone, explicit bool
		met                      bool
	}{
		"an answer":             {expected: true, met: true},
		"that never comes":      {expected: true, met: true, gone: true},
		"nothing":               {met: true},
		"nothing, gone":         {met: true, gone: true},
		"who was never met":     {expected: true, explicit: true},
		"who was never there":   {expected: true, explicit: true, gone: true},
		"more of who was met":   {expected: true, explicit: true, met: true},
		"who was met, and went": {expected: true, explicit: true, met: true, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			expected := false
			p := newPair(t, 2, func(i int, cfg *Config) {
				cfg.Timeout = 100 * timeout
				cfg.Expected = func(transport.Endpoint) bool { return i == 0 && expected }
			})
			if c.met {
				p.meet()
			}
			expected = c.expected
			p.ms[0].SetTimeout(timeout) // what waits for a part of the old one follows
			asked := 0
			p.lose = func(from int, b []byte) bool {
				if from == 0 && wire.Kind(b[0]&15) != wire.KindHello {
					asked++
				}
				return c.gone
			}
			if c.explicit {
				p.ms[0].Expect(p.now, 1)
			}
			for range 4 {
				p.pass(timeout)
			}
			if failed := len(p.failed) > 0; failed != (c.expected && c.gone) {
				t.Errorf("failed: %v", p.failed)
			}
			if most := 4 * expectTimes; asked > most || asked > 0 != (c.expected &&
				(c.met || !c.gone)) {
				t.Errorf("%d packets in four times TIMEOUT", asked)
			}
			expected = false
			p.pass(timeout)
			p.want("timers that run", p.ms[0].Usage().Timers, 0)
		})
	}
}
