package wireup

import (
	"errors"
	"fmt"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/udp/wire"
)

// levelOf is what LAPI_AUTH means for the UDP link.
var levelOf = [...]wire.Level{job.AuthCookie: wire.LevelCookie, job.AuthMAC: wire.LevelMAC,
	job.AuthNone: wire.LevelNone}

// jobKey is what findKey has found.
type jobKey struct{ key []byte }

// jobKey finds the job key once.
func (n *Net) jobKey() ([]byte, error) {
	if n.key == nil {
		key, err := n.findKey()
		if err != nil {
			return nil, err
		}
		n.key = &jobKey{key}
	}
	return n.key.key, nil
}

// findKey finds the job key, if LAPI_AUTH wants one, and reports once a job if packets prove
// nothing.
func (n *Net) findKey() (key []byte, err error) {
	if n.job.Auth == job.AuthNone {
		if n.me == 0 {
			n.say(0,
				"LAPI_AUTH=none: packets prove nothing, anyone who can reach the tasks' "+
					"addresses can write into their memory; for isolated networks only")
		}
		return nil, nil
	}
	get := n.cfg.Key
	if get == nil {
		get = (*job.Config).Key
	}
	key, authenticated, err := get(n.job)
	if err != nil {
		return nil, err
	}
	if !authenticated && n.me == 0 {
		n.say(0,
			"this job is unauthenticated: anyone who can send from its tasks' addresses can "+
				"disturb it; set LAPI_JOB_KEY_FILE or use lapirun")
	}
	return key, nil
}

// disagreement reports to the user that a task that wants to talk to this one has another
// LAPI_AUTH, or another job key. Messages to that task wait, and end as to any task that does not
// answer.
func (n *Net) disagreement(ep transport.Endpoint, theirs wire.Level) {
	ours := levelOf[n.job.Auth]
	text := "another job key than this task, or none. Give all tasks a LAPI_JOB_KEY_FILE with " +
		"the same contents"
	if theirs != ours {
		text = fmt.Sprintf("LAPI_AUTH=%v, this task %v. Set LAPI_AUTH to the same value for all "+
			"tasks", theirs, ours)
	}
	n.cfg.Message(0, fmt.Sprintf("task %d: task %d has %s. They cannot talk to each other", n.me,
		ep, text))
}

// EnvCode is the code of LAPI for err, if err is about the environment.
func EnvCode(err error) (code int, ok bool) {
	var e *job.EnvError
	if errors.As(err, &e) {
		return e.Code, true
	}
	return 0, false
}
