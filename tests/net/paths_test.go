package net

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lapi/tests/net/world"
)

// One of two links fails, comes back, and then the other does: the job goes on while it fails, and
// nothing is lost. It does so within a second, and ten times what a job without faults pauses at
// the same time: how long a task waits for a processor depends on what else the machine does.
func TestFailover(t *testing.T) {
	for _, fault := range world.Faults {
		t.Run(name(fault.Name), func(t *testing.T) {
			counted(t)
			t.Parallel()
			w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
			j := steady(t, w, []int{2, 2}, "MP_EUIDEVICE=sn_all")
			undisturbed := steady(t, newWorld(t, world.Shape{Nodes: 2, Links: 2}), []int{2, 2},
				"MP_EUIDEVICE=sn_all")
			for link := range 2 {
				if err := fault.Begin(w, link, link); err != nil {
					t.Fatal(err)
				}
				j.goesOn(2)
				if err := fault.End(w, link, link); err != nil {
					t.Fatal(err)
				}
				j.goesOn(2)
			}
			usual := slices.Max(undisturbed.pauses(2))
			for _, pause := range j.pauses(2) {
				t.Logf("the longest pause is %v, and %v without faults", pause, usual)
				if pause > time.Second+10*usual {
					t.Errorf("the longest pause is %v, and %v without faults", pause, usual)
				}
			}
		})
	}
}

// Both links fail at a time; the job goes on when one is back.
func TestAllLinksDown(t *testing.T) {
	counted(t)
	w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
	j := steady(t, w, []int{1, 1}, "MP_EUIDEVICE=sn_all")
	fault := world.Faults[0]
	for link := range 2 {
		if err := fault.Begin(w, 0, link); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(outage)
	if err := fault.End(w, 0, 1); err != nil {
		t.Fatal(err)
	}
	if pause := j.pauses(1)[0]; pause < outage/2 {
		t.Errorf("the longest pause is %v: the outage of %v was none", pause, outage)
	}
}

// Large messages take both links, where one alone would be slow.
func TestStriping(t *testing.T) {
	counted(t)
	w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
	const megabytes = 64
	for link := range 2 {
		if err := w.Limit(0, link, 400); err != nil {
			t.Fatal(err)
		}
	}
	spread(t, w, []int{1, 1}, []string{"MP_EUIDEVICE=sn_all"}, "net/stream",
		strconv.Itoa(megabytes)).wait()
	for link := range 2 {
		if sent, err := w.Sent(0, link); err != nil || sent < megabytes<<20/5 {
			t.Errorf("link %d has carried %d of %d bytes, %v", link, sent, megabytes<<20, err)
		}
	}
}

// The effect of MP_EUIDEVICE and MP_INSTANCES on the networks that the nodes have in common, as
// tasks see it.
func TestAddresses(t *testing.T) {
	w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
	const one, other = "@1:10.77.0.%,eth0", "@1:10.77.1.%,eth1"
	for environ, want := range map[string]string{
		"X=":                                   one,
		"MP_EUIDEVICE=sn_single":               one,
		"MP_EUIDEVICE=eth1":                    other,
		"MP_EUIDEVICE=sn_all":                  "@2:10.77.0.%,eth0:10.77.1.%,eth1",
		"MP_INSTANCES=2":                       "@2:10.77.0.%,eth0:10.77.0.%,eth0",
		"MP_EUIDEVICE=sn_all MP_INSTANCES=maX": "@2:10.77.0.%,eth0:10.77.1.%,eth1",
	} {
		t.Run(environ, func(t *testing.T) {
			counted(t)
			j := spread(t, w, []int{1, 2}, strings.Fields(environ), "/bin/sh", "-c",
				`echo "task $MP_CHILD: $MP_COMMON_TASKS $MP_LAPI_INET_ADDR."`)
			out := j.wait()
			for line, node := range map[string]string{"task 0: 0 ": "1", "task 1: 1:2 ": "2",
				"task 2: 1:1 ": "2"} {
				if full := line + strings.ReplaceAll(want, "%", node) +
					".\n"; !strings.Contains(out, full) {
					t.Errorf("no line %q", full)
				}
			}
		})
	}
}
