package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// placement is where tasks are to run, by the host list and by numbers of nodes, as in POE: of
// MP_PROCS, MP_NODES and MP_TASKS_PER_NODE two make the third. Hosts other than this one are
// reached by a launcher of the field (delegate.go).
type placement struct {
	listed  []host   // of -H
	file    string   // of -hostfile
	nodes   int      // MP_NODES; 0: not set
	perNode int      // MP_TASKS_PER_NODE; 0: not set
	exports []string // names of -x
	hosts   []host   // those that get tasks, each once; none: this one, or the launcher knows
	away    bool     // a launcher is to start the tasks
}

// host is a machine and how many tasks it gets.
type host struct {
	name  string
	tasks int
	given bool // tasks was
}

func applyHosts(o *options, v string) error {
	for _, word := range strings.Split(v, ",") {
		h, err := parseHost(word)
		if err != nil {
			return err
		}
		o.place.listed = append(o.place.listed, h)
	}
	return nil
}

// parseHost reads name or name:tasks.
func parseHost(word string) (host, error) {
	name, count, given := strings.Cut(word, ":")
	h := host{name: name, tasks: 1, given: given}
	// what could be taken for an option, or for several words, by a launcher
	if name == "" || name[0] == '-' || strings.ContainsAny(name, " \t,;@*'\"\\$`") {
		return h, fmt.Errorf("%q is not the name of a host", name)
	}
	var err error
	if given {
		h.tasks, err = number(count, 1, maxProcs)
	}
	return h, err
}

// parseHostFile reads a host list: a line a host, as POE (host), Hydra (host:tasks) and Open MPI
// (host slots=tasks) have it. A host that is named again gets more tasks. Lines that begin with #,
// ! or * are comments.
func parseHostFile(text []byte) (all []host, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.ContainsAny(fields[0][:1], "#!*") {
			continue
		}
		h, err := parseHost(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		for _, f := range fields[1:] {
			if f[0] == '#' || f[0] == '!' {
				break
			}
			if v, ok := strings.CutPrefix(f, "slots="); ok {
				if h.tasks, err = number(v, 1, maxProcs); err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				h.given = true
			}
		}
		all = append(all, h)
	}
	return all, nil
}

// merge puts the tasks of a host that is named several times together, at its first place.
func merge(all []host) (merged []host) {
	for _, h := range all {
		k := slices.IndexFunc(merged, func(m host) bool { return m.name == h.name })
		if k < 0 {
			merged = append(merged, h)
			continue
		}
		merged[k].tasks += h.tasks
		merged[k].given = true
	}
	return merged
}

// chooseHosts decides how many tasks run where.
func (o *options) chooseHosts() error {
	p := &o.place
	if len(o.nodes) > 0 { // --on says it all; variables are for other jobs
		for _, variable := range []string{"MP_HOSTFILE", "MP_NODES", "MP_TASKS_PER_NODE"} {
			if o.set[variable] != "" || len(p.listed) > 0 {
				return errors.New("--on starts tasks on this machine: it goes with none of -H, -hostfile, -nodes and -tasks_per_node")
			}
		}
		return nil
	}
	p.hosts = merge(p.listed)
	if len(p.hosts) == 0 && p.file != "" && p.file != "NULL" { // POE's word for none
		text, err := readFile(p.file)
		if err != nil {
			return fmt.Errorf("-hostfile: %w", err)
		}
		all, err := parseHostFile(text)
		if err != nil {
			return fmt.Errorf("%s, %w", p.file, err)
		}
		if p.hosts = merge(all); len(p.hosts) == 0 {
			return fmt.Errorf("%s names no host", p.file)
		}
	}
	if len(p.hosts) == 0 {
		return o.countNodes()
	}
	if err := o.fillHosts(); err != nil {
		return err
	}
	name, _ := os.Hostname()
	p.away = slices.ContainsFunc(p.hosts, func(h host) bool { return !isLocal(h.name, name) })
	return nil
}

// asksFor sets the number of tasks, which must be that of MP_PROCS if both are given.
func (o *options) asksFor(procs int, why string) error {
	if o.asked && o.procs != procs {
		return fmt.Errorf("%s make %d tasks, but %d are asked for", why, procs, o.procs)
	}
	if procs > maxProcs {
		return fmt.Errorf("%s make %d tasks; at most %d are possible", why, procs, maxProcs)
	}
	o.procs, o.asked = procs, true
	return nil
}

// countNodes: numbers without hosts. More than one node is a matter of the launcher, which knows
// them from a job of its own.
func (o *options) countNodes() error {
	p := &o.place
	switch {
	case p.nodes > 0 && p.perNode > 0:
		if err := o.asksFor(p.nodes*p.perNode, "-nodes and -tasks_per_node"); err != nil {
			return err
		}
	case p.nodes > 0 && !o.asked:
		o.procs, o.asked = p.nodes, true
	case p.perNode > 0 && !o.asked:
		o.procs, o.asked, p.nodes = p.perNode, true, 1
	case p.perNode > 0:
		if o.procs%p.perNode != 0 {
			return fmt.Errorf("%d tasks cannot be %d on each node", o.procs, p.perNode)
		}
		p.nodes = o.procs / p.perNode
	case p.nodes > o.procs:
		return fmt.Errorf("there are %d nodes for %d tasks", p.nodes, o.procs)
	}
	p.away = p.nodes > 1
	return nil
}

// fillHosts gives hosts their tasks. Hosts without numbers share what is asked for evenly, in
// blocks, as nodes do.
func (o *options) fillHosts() error {
	p := &o.place
	if p.nodes > len(p.hosts) {
		return fmt.Errorf("there are only %d hosts for %d nodes", len(p.hosts), p.nodes)
	}
	if p.nodes > 0 {
		p.hosts = p.hosts[:p.nodes]
	}
	counted := slices.ContainsFunc(p.hosts, func(h host) bool { return h.given })
	switch {
	case p.perNode > 0 && o.asked && p.nodes == 0:
		p.hosts = p.hosts[:min(len(p.hosts), (o.procs+p.perNode-1)/p.perNode)]
		fallthrough
	case p.perNode > 0:
		for i := range p.hosts {
			p.hosts[i].tasks = p.perNode
		}
	case o.asked && (p.nodes > 0 || !counted && o.procs > len(p.hosts)):
		for i := range p.hosts {
			p.hosts[i].tasks = (o.procs + len(p.hosts) - 1 - i) / len(p.hosts)
		}
	}
	return o.cutHosts()
}

// cutHosts removes the room that the hosts have beyond the number of tasks.
func (o *options) cutHosts() error {
	p := &o.place
	room := 0
	for i, h := range p.hosts {
		if o.asked {
			p.hosts[i].tasks = min(h.tasks, o.procs-room)
		}
		room += p.hosts[i].tasks
	}
	p.hosts = slices.DeleteFunc(p.hosts, func(h host) bool { return h.tasks == 0 })
	if o.asked && room < o.procs {
		return fmt.Errorf("the hosts have room for %d tasks, but %d are asked for", room, o.procs)
	}
	return o.asksFor(room, "the hosts")
}

// isLocal says whether a host is this machine, whose name is own.
func isLocal(name, own string) bool {
	short, _, _ := strings.Cut(own, ".")
	return name == "localhost" || strings.HasPrefix(name, "127.") || name == "::1" ||
		name == own || name == short
}

// hostList is what launchers take: name:tasks, separated by commas.
func (p *placement) hostList() string {
	words := make([]string, len(p.hosts))
	for i, h := range p.hosts {
		words[i] = h.name + ":" + strconv.Itoa(h.tasks)
	}
	return strings.Join(words, ",")
}
