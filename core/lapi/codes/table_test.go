package codes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tree is the root of the source tree.
const tree = "../../.."

// row is a line of the table in docs/return-codes.md.
type row struct {
	code                     int
	name, who, meaning, test string
}

// rows reads the table.
func rows(t *testing.T) []row {
	text, err := os.ReadFile(tree + "/docs/return-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		code, err := strconv.Atoi(cells[0])
		if err != nil || !strings.HasPrefix(line, "|") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("return-codes.md: %d cells in %q", len(cells), line)
		}
		all = append(all, row{code, cells[1], cells[2], cells[3], cells[4]})
	}
	return all
}

// guideCodes are the numbers of the guide's Tables 33 and 35, first and last of each run.
var guideCodes = [][2]int{
	{485, 491}, {499, 509}, // Table 33
	{400, 402}, {404, 410}, {412, 449}, {451, 456}, {458, 482}, {492, 498}, {510, 511}, // Table 35
}

func TestEveryCodeHasOneRow(t *testing.T) {
	byCode := map[int]row{}
	for _, r := range rows(t) {
		if _, double := byCode[r.code]; double {
			t.Errorf("%d has two rows", r.code)
		}
		byCode[r.code] = r
		if want := Name(Code(r.code)); r.name != want {
			t.Errorf("%d: the table calls it %s, it is %s", r.code, r.name, want)
		}
		if r.who == "" || r.meaning == "" {
			t.Errorf("%d: who or meaning is empty", r.code)
		}
	}
	for code := int(First); code <= int(Last); code++ {
		if _, ok := byCode[code]; !ok {
			t.Errorf("%d %s has no row", code, Name(Code(code)))
		}
	}
	for _, run := range guideCodes {
		for code := run[0]; code <= run[1]; code++ {
			if _, ok := byCode[code]; !ok {
				t.Errorf("%d of the guide has no row", code)
			}
		}
	}
}

// conformCases returns the cases of tests/c/conform and the text of the file that has each.
func conformCases(t *testing.T) map[string]string {
	files, err := filepath.Glob(tree + "/tests/c/conform/*.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conform programs: %v", err)
	}
	cases := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`CONFORM_CASE\((\w+)\)`).FindAllStringSubmatch(
			string(text), -1) {
			cases[m[1]] = string(text)
		}
	}
	return cases
}

// sourceOf returns the text behind a named test, or an error that says what is missing.
func sourceOf(kind, name string, cases map[string]string) (string, error) {
	switch kind {
	case "conform":
		if text, ok := cases[name]; ok {
			return text, nil
		}
		return "", fmt.Errorf("no case %s in tests/c/conform", name)
	case "host":
		text, err := os.ReadFile(filepath.Join(tree, "tests/c/host", name+".c"))
		return string(text), err
	case "ctest":
		text, err := os.ReadFile(filepath.Join(tree, "cshim/ctest", name+".c"))
		return string(text), err
	}
	folder, test, _ := strings.Cut(name, " ")
	files, _ := filepath.Glob(filepath.Join(tree, folder, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "func "+test+"(") {
			return string(text), nil
		}
	}
	return "", fmt.Errorf("no test %s in %s", test, folder)
}

func TestEveryRowHasItsTest(t *testing.T) {
	cases := conformCases(t)
	later := regexp.MustCompile(`^(vectors|DGSP|Xfer|Util|recovery|UDP striping|verbs)$`)
	for _, r := range rows(t) {
		kind, rest, _ := strings.Cut(r.test, ": ")
		switch kind {
		case "cannot arise":
			if len(rest) < 20 {
				t.Errorf("%d: %q is no reason", r.code, rest)
			}
		case "later":
			if !later.MatchString(rest) {
				t.Errorf("%d: what is %q?", r.code, rest)
			}
		case "conform", "host", "ctest", "go":
			for _, name := range strings.Split(rest, ", ") {
				text, err := sourceOf(kind, name, cases)
				if err != nil {
					t.Errorf("%d %s: %v", r.code, r.name, err)
				} else if !mentions(text, r.code) {
					t.Errorf("%d %s: the file of %s does not mention it", r.code, r.name, name)
				}
			}
		default:
			t.Errorf("%d: neither a test nor a reason: %q", r.code, r.test)
		}
	}
}

// mentions says whether a test's text names a code: in C, in Go, or by its number.
func mentions(text string, code int) bool {
	name := strings.TrimPrefix(Name(Code(code)), "LAPI_")
	goName := ""
	for _, word := range strings.Split(name, "_") {
		goName += word
	}
	return regexp.MustCompile(`(?i)\b(LAPI_`+name+`|codes\.`+goName+`)\b`).MatchString(text) ||
		code != 0 && regexp.MustCompile(`\b`+strconv.Itoa(code)+`\b`).MatchString(text)
}

// usedCodes returns the codes that core, capi and cshim name, tests and this package apart: C names
// in lower case, and Go names as "codes.errtgt".
func usedCodes(t *testing.T) map[string]bool {
	used := map[string]bool{}
	word := regexp.MustCompile(`\bLAPI_\w+|\bcodes\.\w+`)
	for _, folder := range []string{"capi", "core", "cshim"} {
		err := filepath.WalkDir(filepath.Join(tree, folder),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				if d.IsDir() && (d.Name() == "codes" || d.Name() == "ctest") {
					return filepath.SkipDir
				}
				if ext := filepath.Ext(path); ext != ".go" && ext != ".c" ||
					strings.HasSuffix(path, "_test.go") {
					return nil
				}
				text, err := os.ReadFile(path)
				for _, name := range word.FindAllString(string(text), -1) {
					used[strings.ToLower(name)] = true
				}
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return used
}

// TestImpossibleCodesAreNotUsed holds the reasons against the sources: what they name can arise,
// and what has a test is named.
func TestImpossibleCodesAreNotUsed(t *testing.T) {
	named := usedCodes(t)
	for _, r := range rows(t) {
		possible := !strings.HasPrefix(r.test, "cannot arise:") &&
			!strings.HasPrefix(r.test, "later:")
		name := strings.ToLower(r.name)
		used := named[name] ||
			named["codes."+strings.ReplaceAll(strings.TrimPrefix(name, "lapi_"), "_", "")]
		if used && !possible {
			t.Errorf("%d %s: the sources use it, the table says %q", r.code, r.name, r.test)
		}
		if possible && !used {
			t.Errorf("%d %s: the table names a test, but nothing in the sources uses it",
				r.code, r.name)
		}
	}
}
