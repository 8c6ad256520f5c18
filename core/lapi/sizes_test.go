package lapi

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lapi/transport/calibration"
)

// calibrate writes a file in which puts go directly from 2000 bytes on.
func calibrate(t *testing.T, machine calibration.Machine) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calibration")
	sizes := calibration.BuiltIn()
	sizes.PutDirect = 2000
	if err := calibration.Save(path, sizes, &machine); err != nil {
		t.Fatal(err)
	}
	return path
}

// putsDirect are the lengths, of those tried, of puts to a task that computes which go directly;
// and what LAPI_Init has said.
func putsDirect(t *testing.T, vars map[string]string) (copied []uint64, said string) {
	t.Helper()
	all := map[string]string{"MP_INFOLEVEL": "1"}
	maps.Copy(all, vars)
	w := newWatched(t, all)
	said = strings.Join(w.tasks[0].messages, "\n")
	w.copied()
	for _, n := range []uint64{1999, 2000, 4095, 4096} {
		w.transfer(XferPut, int(n), 0)
	}
	return w.copied(), said
}

// TestCalibration: a file for this machine is in force; any other is not, and LAPI_Init says so.
func TestCalibration(t *testing.T) {
	fits := calibrate(t, calibration.ThisMachine())
	other := calibrate(t, calibration.Machine{CPU: "x", Caches: "y", Kernel: "z"})
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("lapi-calibration 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	if err := os.MkdirAll(filepath.Join(cache, "lapi"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fits, filepath.Join(cache, "lapi", "calibration")); err != nil {
		t.Fatal(err)
	}
	fits = filepath.Join(cache, "lapi", "calibration")
	builtIn, calibrated := []uint64{4096}, []uint64{2000, 4095, 4096}
	for _, c := range []struct {
		name string
		vars map[string]string
		want []uint64
		says string
	}{
		{"nothing set", nil, builtIn, ""},
		{"named", map[string]string{calibration.Variable: fits}, calibrated, "are in force"},
		{"in the cache", map[string]string{"XDG_CACHE_HOME": cache}, calibrated, "are in force"},
		{"off", map[string]string{calibration.Variable: calibration.Off, "XDG_CACHE_HOME": cache},
			builtIn, ""},
		{"another machine's", map[string]string{calibration.Variable: other}, builtIn,
			"made on another machine or kernel"},
		{"broken", map[string]string{calibration.Variable: broken}, builtIn,
			`no "cpu" with a value`},
		{"named but missing", map[string]string{calibration.Variable: fits + "x"}, builtIn,
			"no such file"},
		{"no cache", map[string]string{"XDG_CACHE_HOME": cache + "x"}, builtIn, ""},
	} {
		got, said := putsDirect(t, c.vars)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: direct copies %v, want %v", c.name, got, c.want)
		}
		if !strings.Contains(said, c.says) || c.says == "" && (strings.Contains(said, "calibrat") ||
			strings.Contains(said, "in force")) {
			t.Errorf("%s: LAPI_Init said %q", c.name, said)
		}
	}
}
