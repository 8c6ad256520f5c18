package wireup

import (
	"fmt"
	"strings"

	"lapi/core/job"
	"lapi/transport/verbs"
	"lapi/transport/verbs/adapter"
)

// OpenPort opens a port of an RDMA adapter; device "" is the first adapter that has one which
// works, port 0 the first such port. The error says why there is none.
type OpenPort func(device string, port int) (adapter.Adapter, error)

// openVerbs makes the link over an RDMA adapter, if the job asks for user space communication.
// Where there is none, UDP is used in its place, unless the user does not want that.
func (n *Net) openVerbs() error {
	us := &n.job.US
	if !us.Wanted || n.cfg.OpenPort == nil {
		return nil
	}
	if n.remote == 0 && !us.Only {
		return nil // nobody is to be reached
	}
	a, err := n.openPort(us.Ports)
	switch {
	case err != nil:
	case n.remote == 0:
		return a.Close()
	default:
		if err = n.useAdapter(a); err == nil {
			return nil
		}
		if _, ok := err.(*job.EnvError); ok { // about the key
			return err
		}
	}
	if us.Only {
		return n.fail(NoAdapter, "MP_EUILIB=us and LAPI_US=only, but %v", err)
	}
	n.say(LevelFailure, "MP_EUILIB=us: %v. Shared memory and UDP/IP are used; set MP_EUILIB to "+
		"ip, or LAPI_US=only to fail instead", err)
	return nil
}

// openPort opens the first of those ports that can be opened.
func (n *Net) openPort(ports []job.Port) (a adapter.Adapter, err error) {
	if len(ports) == 0 {
		ports = []job.Port{{}}
	}
	var why []string
	for _, p := range ports {
		if a, err = n.cfg.OpenPort(p.Device, p.Number); err == nil {
			return a, nil
		}
		why = append(why, err.Error())
	}
	return nil, fmt.Errorf("%s", strings.Join(why, "; "))
}

// useAdapter makes the link over a.
func (n *Net) useAdapter(a adapter.Adapter) error {
	key, err := n.jobKey()
	if err != nil {
		_ = a.Close()
		return err
	}
	cfg := verbs.Config{Adapter: a, Task: n.me, Key: key, Clock: n.cfg.Clock,
		Timeout: int64(n.cfg.Timeout), NoTimeout: n.job.NoTimeout,
		PeerFailed: n.cfg.PeerFailed, Expected: n.cfg.Expected,
		RegistrationLimit:   n.job.RegistrationLimit,
		KeepNoRegistrations: n.job.RegistrationLimit == 0,
		Say:                 func(text string) { n.say(LevelFailure, "%s", text) }}
	if n.job.UseBulk {
		cfg.BulkMin = uint64(n.job.BulkMin)
	}
	l, err := verbs.New(cfg) // closes a if it fails
	if err != nil {
		return fmt.Errorf("adapter %s cannot be used: %w", a.Info().Name, err)
	}
	n.Verbs = l
	info := a.Info()
	n.happened(LevelInform, PortOpened, "(instance %d, adapter %s, port %d)", n.cfg.Instance,
		info.Name, info.Port)
	return nil
}
