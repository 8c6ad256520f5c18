package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lapi/core/version"
)

// TestMain: the command starts itself as the child whose memory it reads.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == targetName {
		beTarget()
		return
	}
	os.Exit(m.Run())
}

func capture(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(args, &o, &e)
	return status, o.String(), e.String()
}

// TestEverySectionIsPrinted: as text, with each link, and no name of a Go type or package.
func TestEverySectionIsPrinted(t *testing.T) {
	status, out, errs := capture(t)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %q", status, errs)
	}
	for _, want := range []string{"Library\n", "Machine\n", "Links\n", "Launchers\n", "Limits\n",
		"\nSettings", "shared memory", "cross-memory", "UDP/IP", "RDMA adapter", "lapirun", "munge",
		"PMIx", "locked memory", "open files", "net.core.rmem_max", "MP_INFOLEVEL", "LAPI_ROUTE",
		"DAT_OVERRIDE"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, bad := range []string{"*main.", "unix.", "errors.", "%!", "<nil>", "netip."} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%s", bad, out)
		}
	}
}

// TestJSONHasTheSameFacts: fields as the manual page names them.
func TestJSONHasTheSameFacts(t *testing.T) {
	t.Setenv("MP_INFOLEVEL", "3")
	t.Setenv("LAPI_FASTLAN", "on")
	status, out, _ := capture(t, "--json")
	var r struct {
		Sections []struct {
			Title string
			Items []struct{ Name, State, Text, Remedy string }
		}
		Settings []struct{ Name, Value, Where, Default, Values, Meaning string }
		Notices  []string
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("status %d, %v\n%s", status, err, out)
	}
	if len(r.Sections) != 5 || len(r.Sections[2].Items) < 4 {
		t.Errorf("%+v", r.Sections)
	}
	for _, s := range r.Settings {
		if s.Name == "MP_INFOLEVEL" && (s.Value != "3" || s.Where != "environment" || s.Default != "0") {
			t.Errorf("%+v", s)
		}
		if s.Name == "MP_ACK_THRESH" && (s.Value != "30" || s.Where != byDefault) {
			t.Errorf("%+v", s)
		}
	}
	if len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "did you mean LAPI_FASTLANE?") {
		t.Errorf("%q", r.Notices)
	}
}

// TestSettingsNameTheirFile: a value of a settings file is shown with the file and line.
func TestSettingsNameTheirFile(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("\nLAPI_ROUTE = origin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LAPI_CONF", conf)
	status, out, _ := capture(t, "LAPI_ROUTE")
	if status != 0 || !strings.Contains(out, "origin  ("+conf+", line 2; default: auto)") ||
		strings.Contains(out, "Machine") || strings.Contains(out, "MP_INFOLEVEL") {
		t.Errorf("status %d\n%s", status, out)
	}
	t.Setenv("LAPI_ROUTE", "target")
	if _, out, _ = capture(t, "LAPI_ROUTE"); !strings.Contains(out, "target  (environment;") {
		t.Errorf("%s", out)
	}
}

// TestBadUsage: unknown names and options end with their status, and a line on standard error.
func TestBadUsage(t *testing.T) {
	for _, k := range []struct {
		args   []string
		status int
		says   string
	}{{[]string{"NO_SUCH"}, exitUnknown, "no such setting: NO_SUCH"},
		{[]string{"--jsn"}, exitUsage, "Try 'lapi_info -h'"}} {
		if status, _, errs := capture(t, k.args...); status != k.status ||
			!strings.Contains(errs, k.says) {
			t.Errorf("%q: status %d, %q", k.args, status, errs)
		}
	}
	if status, out, _ := capture(t, "-h"); status != 0 || !strings.HasPrefix(out, "Usage: lapi_info") {
		t.Errorf("-h: status %d, %q", status, out)
	}
	for _, option := range []string{"-V", "--version"} {
		if _, out, _ := capture(t, option); out != version.Line("lapi_info") {
			t.Errorf("%s: %q", option, out)
		}
	}
}

// TestChildIsRead: the memory of a child is read, or the kernel forbids it, which is said.
func TestChildIsRead(t *testing.T) {
	if i := crossMemory(); i.State != works && !strings.Contains(i.Text, "not permitted") &&
		!strings.Contains(i.Text, "not implemented") {
		t.Errorf("%+v", i)
	}
}

// TestVersionIsFoundInTheFile: of this version, of another, and of none.
func TestVersionIsFoundInTheFile(t *testing.T) {
	for _, k := range []struct {
		text, says string
		state      state
	}{{"\x00xlapi-version:" + version.String() + ":y", "version " + version.String(), works},
		{"lapi-version:lapi-version:9.9.9~rc1+gab:", "version 9.9.9~rc1+gab", limited},
		{"\x7fELF", "of a version before 0.2.0", works}} {
		path := filepath.Join(t.TempDir(), "lib")
		if err := os.WriteFile(path, []byte(k.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if i := libraryItem(path, works, ""); i.State != k.state || !strings.Contains(i.Text, k.says) {
			t.Errorf("%q: %+v", k.text, i)
		}
	}
}
