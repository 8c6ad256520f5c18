package wireup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs"
)

// OpenPort opens a port of an RDMA adapter; device "" is the first adapter that has one which
// works, port 0 the first such port. The error says why there is none.
type OpenPort func(device string, port int) (ibv.Device, error)

// ListPorts is the ports that work. The error says why that is not known.
type ListPorts func() ([]job.Port, error)

// openVerbs makes the link over RDMA adapters, if the job asks for user space communication. Where
// there is none, UDP is used in its place, unless the user does not want that.
func (n *Net) openVerbs() error {
	us := &n.job.US
	if !us.Wanted || n.cfg.OpenPort == nil {
		return nil
	}
	if n.remote == 0 && !us.Only {
		n.lookForPorts()
		return nil // no task is to be reached
	}
	all, err := n.openPorts()
	if err == nil && n.remote == 0 {
		return closeAll(all)
	}
	if err == nil {
		var key []byte
		if key, err = n.jobKey(); err != nil {
			_ = closeAll(all)
			return err
		}
		err = n.useAdapters(all, key)
	}
	switch {
	case err == nil:
		return nil
	case us.Only:
		return n.fail(NoAdapter, "MP_EUILIB=us and LAPI_US=only, but %v", err)
	}
	n.say(LevelFailure, "MP_EUILIB=us: %v. Shared memory and UDP/IP are used; set MP_EUILIB to "+
		"ip, or LAPI_US=only to fail instead", err)
	return nil
}

// lookForPorts reports to a job that reaches no task by an adapter, but has asked for one, that
// there is none: on several nodes such a job would run without.
func (n *Net) lookForPorts() {
	if n.cfg.ListPorts == nil {
		return
	}
	if ports, err := n.cfg.ListPorts(); err != nil || len(ports) == 0 {
		n.say(LevelFailure, "MP_EUILIB=us: there is no RDMA adapter here. Shared memory is used, and "+
			"between nodes UDP/IP; set MP_EUILIB to ip, or LAPI_US=only to fail instead")
	}
}

func closeAll(all []ibv.Device) (err error) {
	for _, a := range all {
		err = errors.Join(err, a.Close())
	}
	return err
}

// candidates are the ports to try, and how many of them to use at most.
func (n *Net) candidates() ([]job.Port, int) {
	us := &n.job.US
	named, most := us.Ports, max(us.Most, 1)
	listed := len(named) > 1 || len(named) == 1 && named[0].Number != 0
	if listed || n.cfg.ListPorts == nil || most == 1 {
		if named == nil {
			named = []job.Port{{}}
		}
		return named, most
	}
	working, err := n.cfg.ListPorts()
	if err != nil || len(working) == 0 { // opening a port says why
		return append(named, job.Port{})[:1], most
	}
	if named == nil {
		return working, most
	}
	of := slices.DeleteFunc(working, func(p job.Port) bool { return p.Device != named[0].Device })
	if len(of) == 0 {
		of = named
	}
	return of, most
}

// openPorts opens the ports to use: it tries the candidates until as many as are wanted are open.
// The error says why there is none.
func (n *Net) openPorts() (all []ibv.Device, err error) {
	ports, most := n.candidates()
	var why []string
	for _, p := range ports {
		if len(all) == most {
			break
		}
		a, err := n.cfg.OpenPort(p.Device, p.Number)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		all = append(all, a)
	}
	switch text := strings.Join(why, "; "); {
	case len(all) == 0:
		return nil, errors.New(text)
	case why != nil && len(n.job.US.Ports) > 0:
		n.happened(LevelFailure, FewerPaths, "(%s; %d of %d ports are used)", text, len(all),
			len(ports))
	case most > 1 && len(all) == 1:
		n.say(LevelFailure, "there is one port, %s: failover and recovery are not possible",
			all[0].Info().Name)
	}
	return all, nil
}

// useAdapters makes the link over all opened ports.
func (n *Net) useAdapters(all []ibv.Device, key []byte) error {
	cfg := verbs.Config{Adapter: all[0], More: all[1:], Task: n.me, Key: key, Clock: n.cfg.Clock,
		Timeout: int64(n.cfg.Timeout), NoTimeout: n.job.NoTimeout,
		PeerFailed: n.cfg.PeerFailed, RequestFailed: n.requestFailed, Event: n.adapterEvent,
		Unanswered: n.unansweredVerbs, Expected: n.cfg.Expected,
		RegistrationLimit:   n.job.RegistrationLimit,
		KeepNoRegistrations: n.job.RegistrationLimit == 0,
		Say:                 func(text string) { n.say(LevelFailure, "%s", text) },
		Changed:             n.portChanged, Spared: n.sparedChanged}
	if n.job.UseBulk {
		cfg.BulkMin = uint64(n.job.BulkMin)
	}
	var infos []ibv.Info
	for _, a := range all {
		infos = append(infos, a.Info())
	}
	cfg.Reopen = n.reopener(infos)
	cfg.Moved = func() { n.Session.Publish(n.Verbs.Address().Bytes) }
	l, err := verbs.New(cfg) // closes them if it fails
	if err != nil {
		return fmt.Errorf("adapter %s cannot be used: %w", infos[0].Name, err)
	}
	n.Verbs = l
	for _, i := range infos {
		n.happened(LevelInform, PortOpened, "(instance %d, adapter %s, port %d)", n.cfg.Instance,
			i.Name, i.Port)
	}
	return nil
}

// reopener opens ports again whose adapters were gone.
func (n *Net) reopener(infos []ibv.Info) func(int) (ibv.Device, error) {
	return func(i int) (ibv.Device, error) {
		return n.cfg.OpenPort(infos[i].Name, int(infos[i].Port))
	}
}

// offerSpare lets the link over adapters fall back to UDP where no adapter leads to a task, unless
// the user wants nothing but adapters.
func (n *Net) offerSpare() {
	if n.Verbs != nil && n.UDP != nil && !n.job.US.Only && n.job.Gathered() {
		n.spareTo = make([]bool, n.job.NumTasks)
		n.Verbs.UseSpare(n.UDP)
	}
}

// VerbsAddress is the address in a task's card that the link over adapters is to be given.
func (n *Net) VerbsAddress(ep transport.Endpoint, c *Card) transport.Address {
	if n.spareTo == nil {
		return transport.Address{Bytes: c.Verbs}
	}
	n.spareTo[ep] = len(c.UDP) > 0
	n.anySpare = n.anySpare || n.spareTo[ep]
	return verbs.JoinAddress(c.Verbs, c.UDP)
}

// isSpare says whether UDP is the fallback of the link over adapters to ep.
func (n *Net) isSpare(ep transport.Endpoint) bool { return n.spareTo != nil && n.spareTo[ep] }

// sparedChanged is what the link calls when a task begins to be reached by UDP, and when it is
// reached by an adapter again.
func (n *Net) sparedChanged(ep transport.Endpoint, spared bool) {
	text := "is reached by an adapter again"
	if spared {
		text = "is reached by UDP/IP, as no adapter leads there"
	}
	n.cfg.Message(LevelInform, fmt.Sprintf("task %d: task %d %s", n.me, ep, text))
}

// requestFailed is what the link calls when a request to a task has failed.
func (n *Net) requestFailed(ep transport.Endpoint, f ibv.Failure) {
	n.cfg.Message(LevelInform, fmt.Sprintf("task %d: a request to task %d has failed: %s. It goes "+
		"on over another queue pair", n.me, ep, f.String()))
}

// adapterEvent is what the link calls with an adapter's event.
func (n *Net) adapterEvent(e ibv.Event, of ibv.Info) {
	if text := e.Report(&of); text != "" {
		n.cfg.Message(LevelInform, fmt.Sprintf("task %d: %s", n.me, text))
	}
}

// portChanged is what the link calls when a port is down, up again or gone, or stays gone though its
// adapter is there.
func (n *Net) portChanged(c verbs.PortChange) {
	text := "is up again"
	switch c.State {
	case verbs.PortDown:
		text = "is down; other ports are tried"
	case verbs.PortGone:
		text = "is gone; other ports are tried, and it is looked for until it is there again"
	}
	level := LevelInform
	if c.Refused != nil {
		level = LevelFailure
		text = fmt.Sprintf("is there again and cannot be used: %v. It is tried again; if it stays "+
			"so, start the job anew to use it", c.Refused)
	}
	n.cfg.Message(level, fmt.Sprintf("task %d: port %d (adapter %s) %s", n.me, c.Index, c.Name,
		text))
}
