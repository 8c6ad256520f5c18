package shm

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// tracers notes whom links let in; the kernel refuses those of refused.
func tracers(t *testing.T, refused ...uintptr) *[]uintptr {
	t.Helper()
	var asked []uintptr
	before := setTracer
	t.Cleanup(func() { setTracer = before })
	setTracer = func(tracer uintptr) error {
		asked = append(asked, tracer)
		if slices.Contains(refused, tracer) {
			return unix.EINVAL
		}
		return nil
	}
	return &asked
}

// TestAdmitPeers: under a launcher its descendants are let in, and nobody else unless the kernel
// cannot do that; tasks started by hand let in every process of the user; a link that copies nothing
// lets in nobody.
func TestAdmitPeers(t *testing.T) {
	for name, c := range map[string]struct {
		config  func(*Config)
		refused []uintptr
		want    []uintptr
	}{
		"launched": {config: func(c *Config) { c.Tracer = 4711 }, want: []uintptr{4711}},
		"launcher not visible": {config: func(c *Config) { c.Tracer = 4711 },
			refused: []uintptr{4711}, want: []uintptr{4711, anyTracer}},
		"by hand":   {config: func(*Config) {}, want: []uintptr{anyTracer}},
		"no copies": {config: func(c *Config) { c.DisableCMA = true }},
	} {
		asked := tracers(t, c.refused...)
		newLinks(t, 1, c.config)
		if !slices.Equal(*asked, c.want) {
			t.Errorf("%s: let in %v, want %v", name, *asked, c.want)
		}
	}
}

// TestSetTracer: the system call is the right one. Without Yama the kernel says EINVAL to it, with
// Yama it takes any process; another number would be EFAULT or do something.
func TestSetTracer(t *testing.T) {
	if err := setTracer(anyTracer); err != nil && !errors.Is(err, unix.EINVAL) {
		t.Errorf("prctl: %v", err)
	}
	if unix.PR_SET_PTRACER != 0x59616d61 {
		t.Errorf("PR_SET_PTRACER is %#x", unix.PR_SET_PTRACER)
	}
}
