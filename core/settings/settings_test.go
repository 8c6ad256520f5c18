package settings

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestManualHasEverySetting: the table and docs/environment.md name the same variables, and so does
// the manual page.
func TestManualHasEverySetting(t *testing.T) {
	text, err := os.ReadFile("../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "\n## Runtime attributes")
	rows := regexp.MustCompile("`((?:MP|LAPI|DAT|DAPL)_[A-Z_]+)`").FindAllStringSubmatch(before, -1)
	documented := map[string]bool{"LAPI_LAUNCHER_FD": true}
	for _, row := range rows {
		documented[row[1]] = true
		if _, ok := Named(row[1]); !ok && row[1] != "LAPI_LAUNCHER_FD" {
			t.Errorf("environment.md has %s, the table has not", row[1])
		}
	}
	page, err := os.ReadFile("../../man/man7/lapi_environment.7")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range All() {
		if !documented[s.Name] {
			t.Errorf("the table has %s, environment.md has not", s.Name)
		}
		if !strings.Contains(string(page), s.Name) && s.Readers&Launcher == 0 {
			t.Errorf("the table has %s, lapi_environment(7) has not", s.Name)
		}
		if s.Values == "" || s.Default == "" || s.Meaning == "" || s.Readers == 0 ||
			strings.HasSuffix(s.Meaning, ".") {
			t.Errorf("%s lacks a text", s.Name)
		}
	}
}

// TestUnknownNamesAreReported: misspelt, with the other prefix, unlike any; and names of others, without a report.
func TestUnknownNamesAreReported(t *testing.T) {
	for name, want := range map[string]string{
		"LAPI_USE_SMH":     "did you mean LAPI_USE_SHM?",
		"LAPI_FASTLAN":     "did you mean LAPI_FASTLANE?",
		"MP_INFOLEVELL":    "did you mean MP_INFOLEVEL?",
		"MP_USE_SHM":       "did you mean LAPI_USE_SHM?",
		"LAPI_INFOLEVEL":   "did you mean MP_INFOLEVEL?",
		"LAPI_TRACE_LEVEL": "did you mean MP_LAPI_TRACE_LEVEL?",
		"LAPI_QUANTUM":     "lapi_info lists them all",
	} {
		got := Unknown([]string{"PATH=/bin", name + "=1", "MP_INFOLEVEL=1"})
		if len(got) != 1 || !strings.HasPrefix(got[0], name+" has no effect") ||
			!strings.Contains(got[0], want) {
			t.Errorf("%s: %q, wanted %q", name, got, want)
		}
	}
	for _, quiet := range [][]string{{"MP_FOO=1"}, {"LAPI_HOME=/opt"}, {"LAPI_LIBDIR=/opt"},
		{"MP_WAIT_MODE=poll"}, {"MP_CSS_INTERRUPT=yes"}, {"LAPI_USE_SMH="}, {"HOME=/"}, {"=x"}, {""},
		{"LAPI_USE_SMH=1", CheckVariable + "=no"}} {
		if got := Unknown(quiet); got != nil {
			t.Errorf("%q: %q", quiet, got)
		}
	}
	for _, s := range All() {
		if got := Unknown([]string{s.Name + "=1"}); got != nil {
			t.Errorf("%s is a setting: %q", s.Name, got)
		}
	}
	twice := Unknown([]string{"LAPI_B=1", "LAPI_A=1", "LAPI_B=2"})
	if len(twice) != 2 || !strings.HasPrefix(twice[0], "LAPI_A ") {
		t.Errorf("each once, sorted: %q", twice)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"abc", "axc", 1}, {"abc", "abcd", 1},
		{"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}

// files writes settings files and returns the environment that leads to them.
func files(t *testing.T, user, named string) (getenv func(string) (string, bool), path string) {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if user != "" {
		write(filepath.Join(home, ".lapi.conf"), user)
	}
	path = filepath.Join(home, "other")
	if named != "" {
		write(path, named)
		env[FileVariable] = path
	}
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }, path
}

// TestFileSettingsHold: in their syntax, below the environment, the first of equal names.
func TestFileSettingsHold(t *testing.T) {
	getenv, _ := files(t, "# mine\n\n  MP_INFOLEVEL = 2 \nLAPI_ROUTE=auto\nMP_INFOLEVEL=3\n"+
		"LAPI_TRACE_DIR = /tmp/a b=c #d\nLAPI_MUNGE =\r\n", "")
	f := Read(getenv, false)
	if len(f.Notices) != 0 {
		t.Fatalf("%q", f.Notices)
	}
	for name, want := range map[string]string{"MP_INFOLEVEL": "2", "LAPI_ROUTE": "auto",
		"LAPI_TRACE_DIR": "/tmp/a b=c #d", "LAPI_MUNGE": ""} {
		value, where, ok := f.Lookup(name)
		if value != want || !ok || !strings.Contains(where, ".lapi.conf, line ") {
			t.Errorf("%s: %q, %q, %v", name, value, where, ok)
		}
	}
	env := f.Over(func(name string) (string, bool) { return "on", name == "LAPI_ROUTE" })
	if v, ok := env("LAPI_ROUTE"); v != "on" || !ok {
		t.Error("the environment does not win")
	}
	if v, ok := env("MP_INFOLEVEL"); v != "2" || !ok {
		t.Error("the file is not asked")
	}
	if _, ok := env("MP_EUILIB"); ok {
		t.Error("a setting that is nowhere is found")
	}
	added := f.Add([]string{"LAPI_ROUTE=on", "PATH=x"})
	want := []string{"LAPI_ROUTE=on", "PATH=x", "MP_INFOLEVEL=2", "LAPI_TRACE_DIR=/tmp/a b=c #d",
		"LAPI_MUNGE="}
	if !slices.Equal(added, want) {
		t.Errorf("%q", added)
	}
}

// TestNamedFileReplaces: LAPI_CONF's file is read alone; none reads none; a privileged program
// believes neither it nor HOME.
func TestNamedFileReplaces(t *testing.T) {
	getenv, _ := files(t, "MP_INFOLEVEL=2\n", "LAPI_ROUTE=auto\n")
	f := Read(getenv, false)
	if _, _, ok := f.Lookup("MP_INFOLEVEL"); ok {
		t.Error("the user's file was read as well")
	}
	if _, _, ok := f.Lookup("LAPI_ROUTE"); !ok {
		t.Error("the named file was not read")
	}
	f = Read(func(name string) (string, bool) {
		if name == FileVariable {
			return "none", true
		}
		return getenv(name)
	}, false)
	if len(f.entries) != 0 {
		t.Error("none reads a file")
	}
	f = Read(getenv, true)
	if len(f.entries) != 0 || len(f.Notices) != 0 {
		t.Errorf("privileged: %v", f)
	}
}

// TestBadFilesAreReported: each line without effect, and each file that is not read, has a notice
// with its name.
func TestBadFilesAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"LAPI_FASTLAN = on":        "line 1: there is no setting \"LAPI_FASTLAN\"; did you mean LAPI_FASTLANE?",
		"\nsomething = 1":          "line 2: there is no setting \"something\"; lapi_info",
		"MP_CHILD = 1":             "MP_CHILD has no effect in a file",
		"MP_INFOLEVEL":             "line 1 has no effect: expected is name = value",
		"MP_INFOLEVEL = 1\x002":    "expected is name = value",
		strings.Repeat("#", 65537): "longer than 65536 bytes",
	} {
		getenv, path := files(t, "", text)
		f := Read(getenv, false)
		if len(f.Notices) != 1 || !strings.Contains(f.Notices[0], want) ||
			!strings.HasPrefix(f.Notices[0], path) || len(f.entries) != 0 {
			t.Errorf("%.30q: %q", text, f.Notices)
		}
	}
	getenv, path := files(t, "", "MP_INFOLEVEL=1")
	check := func(want string) {
		t.Helper()
		f := Read(getenv, false)
		if len(f.Notices) != 1 || !strings.Contains(f.Notices[0], want) || len(f.entries) != 0 {
			t.Errorf("%q, wanted %q", f.Notices, want)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	check("everybody may write it")
	os.Remove(path)
	check("no such file")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	check("it is no regular file")
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	check("it is no regular file")
}

func FuzzFile(f *testing.F) {
	f.Add("MP_INFOLEVEL = 2\n# x\nLAPI_ROUTE=auto")
	f.Fuzz(func(t *testing.T, text string) {
		all := &Files{}
		for _, line := range strings.Split(text, "\n") {
			all.line("x, line 1", strings.TrimSpace(line))
		}
		for _, e := range all.entries {
			if s, ok := Named(e.name); !ok || !s.Site || strings.ContainsAny(e.value, "\n\x00") {
				t.Errorf("%q", e)
			}
		}
	})
}
