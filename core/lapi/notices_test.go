package lapi

import (
	"errors"
	"slices"
	"testing"

	"lapi/core/job"
	"lapi/core/wireup"
	"lapi/transport/layout"
)

// TestSettingsAreReportedByOneTask: task 0 reports settings without effect, the others do not; where
// the environment is unusable no task knows its number, and each reports them.
func TestSettingsAreReportedByOneTask(t *testing.T) {
	for _, k := range []struct {
		child, api string
		want       int
	}{{"0", "lapi", 1}, {"1", "lapi", 0}, {"1", "nothing", 1}} {
		vars := map[string]string{"MP_MSG_API": k.api, "MP_CHILD": k.child, "MP_PROCS": "2",
			"MP_PARTITION": "test", "LAPI_USE_SHM": "only",
			"MP_COMMON_TASKS": "1:" + map[string]string{"0": "1", "1": "0"}[k.child]}
		host, calls := newTestTask(), 0
		_, _ = New(&Options{Shared: new(layout.Context), Host: host, Instance: 1,
			Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
			Notices: func() []string {
				calls++
				return []string{"a setting has no effect"}
			},
			Hooks: wireup.Hooks{OpenSession: func(*job.Config, int) (job.Session, error) {
				return nil, errors.New("not here")
			}}})
		if got := slices.Contains(host.messages, "a setting has no effect"); calls != k.want ||
			got != (k.want == 1) {
			t.Errorf("%+v: asked %d times, messages %q", k, calls, host.messages)
		}
	}
}
