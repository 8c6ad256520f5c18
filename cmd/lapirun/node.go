package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"lapi/core/job"
	"lapi/core/job/adapters"
)

// node is a group of tasks that share memory with each other, and reach others by UDP: those of one
// --on, or all.
type node struct {
	command string // of --on, as it was given
	// its words, which are put before the program; none: the program is started directly
	prefix    []string
	procs     int
	given     bool   // procs was set
	first     int    // the lowest of its tasks; the others follow
	addresses string // MP_LAPI_INET_ADDR of its tasks; "": the user has set what there is to set
}

func applyOn(o *options, v string) error {
	words, err := splitWords(v)
	if err != nil {
		return fmt.Errorf("%q cannot be split into words: %w", v, err)
	}
	if o.counted {
		return errors.New("a number of tasks stands before it; each --on is followed by its own, as in --on 'ip netns exec a' -n 2")
	}
	o.nodes = append(o.nodes, &node{command: v, prefix: words, procs: 1})
	return nil
}

// finishNodes numbers the tasks: those of a node follow each other, in the nodes' order.
func (o *options) finishNodes() error {
	if len(o.nodes) == 0 {
		o.nodes = []*node{{procs: o.procs}}
		return nil
	}
	o.procs = 0
	for _, n := range o.nodes {
		n.first = o.procs
		o.procs += n.procs
	}
	if o.procs > maxProcs {
		return fmt.Errorf("%d tasks in all; at most %d are possible", o.procs, maxProcs)
	}
	return nil
}

// under names the command of a node, to follow its task.
func (n *node) under() string {
	if len(n.prefix) == 0 {
		return ""
	}
	return fmt.Sprintf(" under '%s'", n.command)
}

// tasks names the tasks of a node.
func (n *node) tasks() string {
	if n.procs == 1 {
		return fmt.Sprintf("task %d%s", n.first, n.under())
	}
	return fmt.Sprintf("tasks %d to %d%s", n.first, n.first+n.procs-1, n.under())
}

// commandLine is what starts a task of n. Where that is a command, the command looks the program
// up: it may see other files than lapirun.
func (j *launch) commandLine(n *node, task int) (path string, args []string, err error) {
	program := j.o.command(task)
	if len(n.prefix) == 0 {
		return j.paths[program[0]], program, nil
	}
	path, err = j.o.lookUp(n.prefix[0])
	return path, slices.Concat(n.prefix, program), err
}

// chooseAddresses sets the nodes' addresses by MP_EUIDEVICE and MP_INSTANCES (package adapters),
// unless the user has named addresses, and with them the packet size that they have in common.
func (j *launch) chooseAddresses() error {
	euilib := j.o.set["MP_EUILIB"]
	if euilib == "" {
		euilib = lookup(j.environ, "MP_EUILIB")
	}
	device := job.DeviceForIP(euilib, j.o.device)
	chosen := device != "" || j.o.instances != 0
	// with either, LAPI_Init refuses the other
	for _, variable := range []string{"MP_LAPI_INET_ADDR", "MP_LAPI_NETWORK"} {
		if lookup(j.environ, variable) == "" {
			continue
		}
		if chosen && j.o.infoLevel >= 1 {
			j.say("%s is set, so MP_EUIDEVICE and MP_INSTANCES have no effect", variable)
		}
		return nil
	}
	nodes, all, err := adapters.ChooseAwaiting(func() ([]adapters.Node, error) {
		return j.networks(chosen || len(j.o.nodes) > 1)
	}, device, j.o.instances, func(i int) string { return j.o.nodes[i].under() }, j.say)
	if _, notice := adapters.Available(nodes, device); notice != "" {
		j.say("%s", notice)
	}
	var lacks adapters.NodeError
	if errors.As(err, &lacks) {
		return fmt.Errorf("the node of %s %s", j.o.nodes[lacks.Node].tasks(), lacks.Text)
	}
	if err != nil {
		return err
	}
	size := adapters.PacketSize(nodes, all)
	if size != 0 && lookup(j.environ, "MP_UDP_PACKET_SIZE") == "" &&
		j.o.set["MP_UDP_PACKET_SIZE"] == "" {
		j.o.set["MP_UDP_PACKET_SIZE"] = strconv.Itoa(size)
		if j.o.infoLevel >= 2 {
			j.say("the nodes' MTUs differ: MP_UDP_PACKET_SIZE=%d", size)
		}
	}
	for i, n := range j.o.nodes {
		n.addresses = job.FormatAdapters(all[i])
		if j.o.infoLevel >= 1 && adapters.SameAdapter(all[i]) {
			j.say("%s: all %d instances are on %s; failover and recovery may not be possible",
				n.tasks(), len(all[i]), all[i][0].Device)
		}
		if j.o.infoLevel >= 2 {
			j.say("%s: MP_LAPI_INET_ADDR=%s", n.tasks(), n.addresses)
		}
	}
	return nil
}

// networks asks for the nodes' interfaces, or leaves them empty where they do not matter.
func (j *launch) networks(asked bool) ([]adapters.Node, error) {
	nodes := make([]adapters.Node, len(j.o.nodes))
	if !asked {
		return nodes, nil
	}
	for i, n := range j.o.nodes {
		var err error
		if nodes[i], err = j.networkOf(n); err != nil {
			return nil, fmt.Errorf("%s cannot be started: %w. The command must run what follows it, with the environment and descriptor %d that it "+
				"was given; where lapirun itself cannot run under it, as in a chroot without /proc, set MP_LAPI_INET_ADDR",
				n.tasks(), err, launcherFD)
		}
	}
	return nodes, nil
}
