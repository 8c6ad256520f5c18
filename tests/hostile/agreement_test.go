package hostile

import (
	"strings"
	"testing"
	"time"

	core "lapi/core/job"
)

// TestByHand: two tasks started by hand communicate at every level on which they agree; they print
// a warning only at level none or without a key.
func TestByHand(t *testing.T) {
	key := core.KeyFileVariable + "=" + keyFile(t, []byte("sixteen bytes or more"))
	for _, c := range []struct {
		env  []string
		says string
	}{
		{[]string{key}, ""},
		{[]string{key, "LAPI_AUTH=mac"}, ""},
		{[]string{key, "LAPI_AUTH=none"}, "LAPI_AUTH=none: packets prove nothing"},
		{[]string{}, "this job is unauthenticated"},
	} {
		j := startByHand(t, 100*time.Millisecond, c.env, c.env)
		for task, err := range j.wait() {
			if err != nil {
				t.Errorf("%v: task %d: %v", c.env, task, err)
			}
		}
		if n := strings.Count(j.output(), "LAPI: "); c.says == "" && n != 0 || c.says != "" &&
			(n != 1 || !strings.Contains(j.output(), c.says)) {
			t.Errorf("%v: the output is\n%s", c.env, j.output())
		}
	}
}

// TestDisagreement: tasks that disagree about the level or the key say so at once, by name and with
// a remedy, and end when TIMEOUT, here 10 seconds, is over.
func TestDisagreement(t *testing.T) {
	key := core.KeyFileVariable + "=" + keyFile(t, []byte("sixteen bytes or more"))
	other := core.KeyFileVariable + "=" + keyFile(t, []byte("sixteen other bytes or more"))
	var jobs []*job
	cases := []struct {
		env  [2][]string
		says []string
	}{
		{[2][]string{{key}, {key, "LAPI_AUTH=mac"}},
			[]string{"task 0: task 1 has LAPI_AUTH=mac, this task cookie",
				"task 1: task 0 has LAPI_AUTH=cookie, this task mac"}},
		{[2][]string{{key, "LAPI_AUTH=none"}, {key}},
			[]string{"task 0: task 1 has LAPI_AUTH=cookie, this task none",
				"Set LAPI_AUTH to the same value"}},
		{[2][]string{{key}, {other}}, []string{"task 0: task 1 has another job key",
			"LAPI_JOB_KEY_FILE with the same contents"}},
		{[2][]string{{key}, {}}, []string{"task 0: task 1 has another job key",
			"task 1: task 0 has another job key"}},
	}
	for _, c := range cases {
		jobs = append(jobs, startByHand(t, time.Second, c.env[0], c.env[1]))
	}
	for i, c := range cases {
		for _, text := range c.says {
			jobs[i].await(text)
		}
	}
	for i, c := range cases {
		for task, err := range jobs[i].wait() {
			if err == nil {
				t.Errorf("%v: task %d succeeds", c.env, task)
			}
		}
		if n := strings.Count(jobs[i].output(), "They cannot talk to each other"); n != 2 {
			t.Errorf("%v: %d complaints:\n%s", c.env, n, jobs[i].output())
		}
	}
}

// TestBadLevel: a level that does not exist, or cannot be had, ends LAPI_Init with
// LAPI_ERR_NO_ENV_VAR (510).
func TestBadLevel(t *testing.T) {
	for value, says := range map[string]string{
		"LAPI_AUTH=MAC": `LAPI_AUTH: the value "MAC" is not valid; set it to cookie, mac or none`,
		"LAPI_AUTH=mac": "LAPI_JOB_KEY_FILE: it is not set, and LAPI_AUTH=mac needs a job key",
	} {
		j := startByHand(t, time.Second, []string{value}, []string{value})
		for task, err := range j.wait() {
			if err == nil {
				t.Errorf("%s: task %d succeeds", value, task)
			}
		}
		if !strings.Contains(j.output(), says) || !strings.Contains(j.output(),
			"LAPI_Init(&hndl, &info): 510") {
			t.Errorf("%s:\n%s", value, j.output())
		}
	}
}
