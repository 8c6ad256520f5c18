package adapters

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// An interface that is up may have no carrier yet: its cable, switch or driver needs some seconds
// after a boot or a reset. Tasks wait for it where the choice of addresses depends on it.

const (
	carrierLimit = 5 * time.Second
	carrierPause = 200 * time.Millisecond // between two looks
)

// lateInterface says whether an interface that is up and does not run may run soon. A bridge
// without ports, as those of containers are, does not.
func lateInterface(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name + "/bridge")
	return err != nil
}

// ChooseAwaiting is Choose for the nodes that list finds. It waits for carriers if the choice
// depends on them: 5 seconds at most, while list is called again and again, then it goes on
// without. It returns the nodes that it has chosen for. An error of list ends it.
//
// say gets what a user should know: which carriers are waited for, and which did not come. of is
// put after the name of an interface there, to say whose it is, such as " under 'ip netns exec a'";
// i is a node's index.
func ChooseAwaiting(list func() ([]Node, error), device string, instances int,
	of func(i int) string, say func(format string, args ...any)) ([]Node, [][]Adapter, error) {
	limit, told := time.Now().Add(carrierLimit), false
	for {
		nodes, err := list()
		if err != nil {
			return nil, nil, err
		}
		late := strings.Join(awaited(nodes, device, instances, of), ", ")
		if late == "" || !time.Now().Before(limit) {
			if late != "" {
				say("no carrier on %s after %v: going on without", late, carrierLimit)
			}
			all, err := Choose(nodes, device, instances)
			return nodes, all, err
		}
		if !told {
			say("waiting for a carrier on %s, %v at most", late, carrierLimit)
		}
		told = true
		time.Sleep(carrierPause)
	}
}

// awaited names the interfaces without carrier that the choice would take if they had one, a word
// for each; of says whose they are.
func awaited(nodes []Node, device string, instances int, of func(i int) string) (names []string) {
	now, err := Choose(nodes, device, instances)
	hoped, hopedErr := Choose(withCarriers(nodes), device, instances)
	if hopedErr != nil || err == nil && reflect.DeepEqual(now, hoped) {
		return nil
	}
	for i, adapters := range hoped {
		for _, a := range adapters {
			d, _ := nodes[i].device(a.Device)
			if name := d.Name + of(i); d.Late && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// withCarriers is what nodes have once every carrier is there.
func withCarriers(nodes []Node) []Node {
	all := slices.Clone(nodes)
	for i := range all {
		all[i].Interfaces = slices.Clone(all[i].Interfaces)
		for k, d := range all[i].Interfaces {
			all[i].Interfaces[k].Up = d.Up || d.Late
		}
	}
	return all
}
