package main

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"lapi/core/job"
)

// An interface that is up may have no carrier yet: its cable, switch or driver needs some seconds
// after a boot or a reset. Where the choice of addresses depends on it, it is waited for.

// carrierLimit is how long. A variable for tests.
var carrierLimit = 5 * time.Second

const carrierPause = 200 * time.Millisecond

// lateInterface says whether an interface that is up and does not run may run soon. A bridge
// without ports, as those of containers are, does not.
func lateInterface(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name + "/bridge")
	return err != nil
}

// awaited names the interfaces without carrier that the choice would take if they had one, a word
// for each; node tells whose they are.
func awaited(nodes []inventory, device string, instances int,
	node func(i int) string) (names []string) {
	now, err := chooseAdapters(nodes, device, instances)
	hoped, hopedErr := chooseAdapters(withCarriers(nodes), device, instances)
	if hopedErr != nil || err == nil && reflect.DeepEqual(now, hoped) {
		return nil
	}
	for i, adapters := range hoped {
		for _, a := range adapters {
			d, _ := nodes[i].device(a.Device)
			if name := d.Name + node(i); d.Late && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// withCarriers is what nodes have once every carrier is there.
func withCarriers(nodes []inventory) []inventory {
	all := slices.Clone(nodes)
	for i := range all {
		all[i].Interfaces = slices.Clone(all[i].Interfaces)
		for k, d := range all[i].Interfaces {
			all[i].Interfaces[k].Up = d.Up || d.Late
		}
	}
	return all
}

// choose chooses addresses from what list finds, and waits for carriers.
func (j *launch) choose(list func() ([]inventory, error)) ([]inventory, [][]job.Adapter, error) {
	limit, before := time.Now().Add(carrierLimit), ""
	for {
		nodes, err := list()
		if err != nil {
			return nil, nil, err
		}
		late := strings.Join(awaited(nodes, j.o.device, j.o.instances, func(i int) string {
			return j.o.nodes[i].under()
		}), ", ")
		if late == "" || !time.Now().Before(limit) {
			if late != "" {
				j.say("no carrier on %s after %v: going on without", late, carrierLimit)
			}
			all, err := chooseAdapters(nodes, j.o.device, j.o.instances)
			return nodes, all, err
		}
		if before == "" {
			j.say("waiting for a carrier on %s, %v at most", late, carrierLimit)
		}
		before = late
		time.Sleep(carrierPause)
	}
}
