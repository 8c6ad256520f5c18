package udp

import (
	"testing"
	"time"

	"lapi/transport"
)

// Tasks of no job: each knows the other by a number of its own, and they have a key of their own.
func TestPair(t *testing.T) {
	for name, keys := range map[string][2]string{"same key": {"k", "k"}, "other key": {"k", "l"}} {
		t.Run(name, func(t *testing.T) {
			numbers := [2]transport.Endpoint{5, 3} // by which 0 knows 1, and 1 knows 0
			p := newPair(t, 2, func(i int, c *Config) {
				c.NumTasks, c.Task, c.Key = 8, 0, nil
				c.Pair = func(ep transport.Endpoint) (int, []byte) {
					return int(numbers[1-i]), []byte(keys[i])
				}
			})
			got := 0
			for i, m := range p.ms {
				m.Handle(1, func(msg *transport.Msg) transport.Verdict {
					if msg.From != numbers[i] {
						t.Errorf("%d has a message from %d", i, msg.From)
					}
					got++
					return transport.Accept
				})
				a := transport.Address{Bytes: EncodeAddress(pairAddr(1 - i))}
				if err := m.Connect(numbers[i], a); err != nil {
					t.Fatal(err)
				}
			}
			p.send(0, int(numbers[0]), 1, 100)
			p.send(1, int(numbers[1]), 1, 100)
			p.pass(time.Second)
			want := 2
			if keys[0] != keys[1] {
				want = 0
			}
			p.want("messages", got, want)
		})
	}
}
