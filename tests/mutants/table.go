package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutation is a defect: in file, old, which occurs there exactly once, becomes new. old is short,
// and unlikely to change.
type mutation struct {
	name     string
	file     string
	old, new string
	broken   string // what is wrong then: a half sentence
	kill     string // the test that must notice; kill.go has the forms
}

// areas are all mutations, by the part that they break.
var areas = []struct {
	name string
	list []mutation
}{
	{"Fast lane", lane},
	{"Data on a node", node},
	{"Lock, waiting, sleep", progress},
	{"Core and wire-up", core},
	{"lapi_link", link},
	{"Rendezvous", rendezvous},
	{"Jobs over several nodes", hubs},
	{"RDMA verbs", verbsLink},
	{"RDMA verbs: a port that is opened again", reopened},
	{"RDMA verbs in C", verbsPackets},
	{"uDAPL on RDMA adapters", datDevice},
	{"Windows and solicited receives on RDMA adapters", datWindows},
	{"UDP", udp},
	{"uDAPL", dat},
	{"Fast lane of uDAPL", datLane},
	{"Connections of a node in uDAPL", datNode},
	{"Collectives of uDAPL", collectives},
	{"Which way long data of a group goes on a node", groupWays},
	{"Registration of memory", registration},
}

// table is all mutations in order.
func table() (all []mutation) {
	for _, a := range areas {
		all = append(all, a.list...)
	}
	return all
}

// apply makes the defect in the file's text.
func (m *mutation) apply(text string) (string, error) {
	switch n := strings.Count(text, m.old); {
	case m.old == m.new:
		return "", fmt.Errorf("%s: old and new are the same", m.name)
	case n != 1:
		return "", fmt.Errorf("%s: %s has %d times, not once:\n%s", m.name, m.file, n, m.old)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// check returns the mutations that do not fit the sources in root, as errors.
func check(root string, all []mutation) (wrong []error) {
	var names []string
	for i := range all {
		m := &all[i]
		if slices.Contains(names, m.name) {
			wrong = append(wrong, fmt.Errorf("%s: there are two of that name", m.name))
		}
		names = append(names, m.name)
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err == nil {
			_, err = m.apply(string(text))
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		k, err := parseKill(m.kill)
		if err == nil {
			err = k.exists(root)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return wrong
}
