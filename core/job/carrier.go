package job

import (
	"fmt"

	"lapi/core/job/adapters"
)

// awaitCarrier lists this node's interfaces for the card, when those that the choice of addresses
// may depend on have a carrier, or after some seconds. A task does not know the other nodes yet, so
// it looks at its own only. Where the user has named no interface and asked for no instances, any
// interface with a carrier will do: else each job on a host with an unplugged interface would wait.
func (m *meeting) awaitCarrier(c *Config) (adapters.Node, error) {
	mine, err := m.list()
	if err != nil || c.Adapters != nil {
		return mine, err
	}
	device := c.device
	if device == "" && c.instances == 0 {
		device = adapters.OneNetwork
		now, err := adapters.Choose([]adapters.Node{mine}, device, 0)
		if err == nil && !now[0][0].Addr.IsLoopback() {
			return mine, nil
		}
	}
	nodes, _, err := adapters.ChooseAwaiting(func() ([]adapters.Node, error) {
		n, err := m.list()
		return []adapters.Node{n}, err
	}, device, c.instances, func(int) string { return "" }, func(format string, args ...any) {
		if c.say != nil {
			c.say(fmt.Sprintf(format, args...))
		}
	})
	if nodes == nil {
		return mine, err
	}
	return nodes[0], nil // an error of the choice is reported once all nodes are known
}
