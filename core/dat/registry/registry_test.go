package registry

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const conf = `
# a comment, and a blank line

ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""   # and one behind
	ib1   u2.0	threadsafe nondefault lib.so dapl.2.0 "a \"b\" \\ c" x#y
ib0 u2.0 nonthreadsafe default other.so dapl.2.0 "ib0 1" ""
kernel k2.0 threadsafe default lib.so dapl.2.0 "" ""
ib0 u1.2 nonthreadsafe default old.so dapl.1.2 "ib0 0" ""
seven u2.0 nonthreadsafe default lib.so dapl.2.0 "seven"
open u2.0 nonthreadsafe default lib.so dapl.2.0 "open ""
api 2.0 nonthreadsafe default lib.so dapl.2.0 "" ""
safe u2.0 perhaps default lib.so dapl.2.0 "" ""
def u2.0 threadsafe maybe lib.so dapl.2.0 "" ""
`

func parse(t *testing.T) (entries []Entry, warnings []string) {
	t.Helper()
	return Parse("dat.conf", conf, func(s string) { warnings = append(warnings, s) }), warnings
}

func TestParse(t *testing.T) {
	entries, warnings := parse(t)
	want := []Entry{
		{"ib0", 2, 0, false, true, "libdaplofa.so.2", "dapl.2.0", "ib0 0", "", false, 0},
		{"ib1", 2, 0, true, false, "lib.so", "dapl.2.0", `a "b" \ c`, "x#y", false, 0},
		{"ib0", 2, 0, false, true, "other.so", "dapl.2.0", "ib0 1", "", false, 0},
		{"ib0", 1, 2, false, true, "old.so", "dapl.1.2", "ib0 0", "", false, 0},
	}
	if !reflect.DeepEqual(entries, want) {
		t.Errorf("entries\n%v\nwant\n%v", entries, want)
	}
	for i, part := range []string{":9: 7 fields", ":10: a quote", ":11: \"2.0\"",
		":12: \"perhaps\"",
		":13: \"maybe\""} {
		if i >= len(warnings) || !strings.Contains(warnings[i], part) {
			t.Fatalf("warnings %q, want %s", warnings, part)
		}
	}
}

func TestLookup(t *testing.T) {
	entries, _ := parse(t)
	r := New([]Entry{{Name: "own", Major: 2, Default: true}}, entries)
	for _, c := range []struct {
		name         string
		major, minor uint32
		safe         bool
		missing      Missing
		libraries    string
	}{
		{"ib0", 2, 0, false, Found, "libdaplofa.so.2 other.so"},
		{"ib0", 1, 2, false, Found, "old.so"},
		{"own", 2, 0, false, Found, ""},
		{"ib", 2, 0, false, NoName, ""},
		{"ib1", 2, 0, true, NoName, ""}, // no default
		{"ib0", 3, 0, false, NoMajor, ""},
		{"ib0", 2, 1, false, NoMinor, ""},
		{"ib0", 2, 0, true, NoThreadSafety, ""},
	} {
		found, missing := r.Lookup(c.name, c.major, c.minor, c.safe)
		var libraries []string
		for _, e := range found {
			libraries = append(libraries, e.Library)
		}
		if missing != c.missing || strings.Join(libraries, " ") != c.libraries {
			t.Errorf("%v: missing %v, libraries %q", c, missing, libraries)
		}
	}
	if n := len(r.List()); n != 3 {
		t.Errorf("%d names are listed, want 3: %v", n, r.List())
	}
}

func TestAdd(t *testing.T) {
	r := New(nil, nil)
	e := Entry{Name: "mine", Major: 2, Default: true, Library: "program", Table: 7}
	if r.Add(e) != nil || r.Add(e) != ErrRegistered {
		t.Error("registered twice")
	}
	if !r.HasTable(7) || r.HasTable(8) {
		t.Error("its table is not the one that is registered")
	}
	if found, _ := r.Lookup("mine", 2, 0, false); len(found) != 1 {
		t.Error("it is not found")
	}
	if !r.Remove("mine", 2, 0, false) || r.Remove("mine", 2, 0, false) {
		t.Error("removed not once")
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dat.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "nowhere")
	for _, c := range []struct {
		override string
		files    []string
		entries  int
	}{
		{"", []string{nowhere, file}, 4},
		{"", []string{nowhere}, 0},
		{file, nil, 4},
		{nowhere, []string{file}, 0}, // and nothing else is tried
	} {
		env := func(name string) (string, bool) {
			return c.override, name == "DAT_OVERRIDE" && c.override != ""
		}
		warnings := 0
		got := Load(env, c.files, func(string) { warnings++ })
		if len(got) != c.entries {
			t.Errorf("%+v: %d entries", c, len(got))
		}
		if c.override == nowhere && warnings != 1 {
			t.Errorf("%+v: %d warnings", c, warnings)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(conf)
	f.Add(`a u2.0 threadsafe default "\`)
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		warnings := 0
		entries := Parse("f", text, func(string) { warnings++ })
		if len(entries)+warnings > lines {
			t.Errorf("%d entries and %d warnings of %d lines", len(entries), warnings, lines)
		}
		for _, e := range entries {
			if e.Name == "" || len(e.Name) > NameMax {
				t.Errorf("the name %q", e.Name)
			}
		}
	})
}

func TestNamed(t *testing.T) {
	var warned []string
	got := Named("ib0=eth0, OpenIB-cma-name=10.0.0.1,,bad,=x,y=,z=a b",
		func(s string) { warned = append(warned, s) })
	if len(got) != 2 || got[0].Name != "ib0" || got[0].Params != "eth0 0" ||
		got[1].Name != "OpenIB-cma-name" || got[1].Params != "10.0.0.1 0" || !got[1].Default {
		t.Errorf("%+v", got)
	}
	if len(warned) != 4 {
		t.Errorf("warned of %q", warned)
	}
}
