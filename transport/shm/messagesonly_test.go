package shm

import (
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// TestMessagesOnly: a peer that wants more than messages of a task that gives no more has failed,
// whatever it has sent, and no memory is touched.
func TestMessagesOnly(t *testing.T) {
	for name, attack := range map[string]func(l *Link, op *transport.Op) error{
		"put":    func(l *Link, op *transport.Op) error { _, err := l.PutNotice(1, op); return err },
		"get":    func(l *Link, op *transport.Op) error { _, err := l.GetNotice(1, op); return err },
		"atomic": func(l *Link, op *transport.Op) error { _, err := l.Atomic(1, transport.AtomicAdd, op); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var failed []error
			links := newLinks(t, 2, func(c *Config) {
				c.DisableCMA, c.MessagesOnly = true, c.Task == 1
				c.PeerFailed = func(_ transport.Endpoint, err error) { failed = append(failed, err) }
			})
			here, there := userMemory(t, 4096), userMemory(t, 4096)
			here[0], there[0] = 1, 2
			op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 64,
				Width: 8, Operand: 5, Done: func(*transport.Op, error) {}}
			if err := attack(links[0], op); err != nil {
				t.Fatal(err)
			}
			until(t, "a failure", func() bool { return len(failed) > 0 },
				func() { links[1].Progress(10) })
			if there[0] != 2 || here[0] != 1 {
				t.Errorf("memory was touched: %d, %d", here[0], there[0])
			}
			if err := attack(links[1], op); err != transport.ErrNotSupported {
				t.Errorf("its own: %v", err)
			}
		})
	}
}
