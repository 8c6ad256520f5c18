package core

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// functions are the names of test functions of the tree, by folder: Go's, and C programs.
func functions(t *testing.T) (all map[string]map[string]bool) {
	t.Helper()
	all = map[string]map[string]bool{}
	add := func(folder, name string) {
		if all[folder] == nil {
			all[folder] = map[string]bool{}
		}
		all[folder][name] = true
	}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "build"):
			return filepath.SkipDir
		}
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
		switch {
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, f := range function.FindAllSubmatch(text, -1) {
				add(folder, string(f[1]))
			}
		case strings.HasSuffix(path, ".c"):
			add(folder, strings.TrimSuffix(d.Name(), ".c"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFuzzTable: the table of docs/dev/threat-model.md has the tree's fuzz targets, each once, and no
// others.
func TestFuzzTable(t *testing.T) {
	text, err := os.ReadFile("../docs/dev/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	all := functions(t)
	listed := map[string]bool{}
	row := regexp.MustCompile(`(?m)^\| ([\w/]+) \| (Fuzz\w+|test_\w*hostile) \| [^|]+ \| [\d,]+`)
	for _, r := range row.FindAllStringSubmatch(string(text), -1) {
		folder, name := r[1], r[2]
		if listed[folder+" "+name] {
			t.Errorf("%s %s is in the table twice", folder, name)
		}
		if listed[folder+" "+name] = true; !all[folder][name] {
			t.Errorf("%s %s is in the table, and not in the tree", folder, name)
		}
	}
	for folder, names := range all {
		for name := range names {
			fuzz := strings.HasPrefix(name, "Fuzz") || strings.HasSuffix(name, "hostile") &&
				strings.HasPrefix(folder, "cshim/ctest")
			if fuzz && !listed[folder+" "+name] {
				t.Errorf("%s %s is not in the table", folder, name)
			}
		}
	}
}

// TestThreatModelNamesTests: each test that docs/dev/threat-model.md names exists, in the folder that
// stands before it, if one does.
func TestThreatModelNamesTests(t *testing.T) {
	b, err := os.ReadFile("../docs/dev/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	all := functions(t)
	known := map[string]bool{}
	for _, names := range all {
		for name := range names {
			known[name] = true
		}
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	test := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*|\btest_\w+`)
	for _, name := range test.FindAllString(text, -1) {
		if !known[name] {
			t.Errorf("docs/dev/threat-model.md names %s, which is no test", name)
		}
	}
	placed := regexp.MustCompile("([a-z]+(?:/[a-z]+)+) ((?:`?(?:Test|Fuzz)[A-Z]\\w*`?(?:, )?)+)")
	n := 0
	for _, m := range placed.FindAllStringSubmatch(text, -1) {
		for _, name := range test.FindAllString(m[2], -1) {
			if n++; !all[m[1]][name] {
				t.Errorf("docs/dev/threat-model.md names %s in %s, where it is not", name, m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d tests stand behind their folder", n)
	}
}
