package net

import (
	"testing"

	"lapi/tests/net/world"
)

// TestFirewallIsReported: where a firewall drops a node's UDP, each task says after some seconds, at
// the default MP_INFOLEVEL, which task does not answer, by which addresses and interface, and what
// the kernel says.
func TestFirewallIsReported(t *testing.T) {
	for _, c := range []struct{ chain, says string }{
		{"INPUT", "nothing has come back: is a firewall in the way of UDP?"},
		{"OUTPUT", "the kernel says: operation not permitted"},
	} {
		t.Run(c.chain, func(t *testing.T) {
			counted(t)
			t.Parallel() // they mostly wait
			w := newWorld(t, world.Shape{Nodes: 2, Links: 1})
			for n := range 2 {
				if err := w.In(n, "iptables", "-A", c.chain, "-p", "udp", "-j", "DROP"); err != nil {
					t.Skipf("skipped: this machine has no firewall: %v", err)
				}
			}
			j := spread(t, w, []int{1, 1}, nil, "net/steady", "1")
			for task, other := range []string{"task 1", "task 0"} {
				j.waitFor("LAPI: task " + string(rune('0'+task)) + ": " + other +
					" has not answered for ")
				j.waitFor(" s: UDP from " + w.Address(task, 0) + ":")
				j.waitFor(" (eth0) to " + w.Address(1-task, 0) + ":")
			}
			j.waitFor(c.says)
		})
	}
}
