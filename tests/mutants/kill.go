package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// kill is the command that a mutation must make fail. In the table:
//
//	go PACKAGE TEST         a Go test
//	c TEST                  a test of cshim/ctest (make cshim-test-plain)
//	job N PROGRAM CASE      a case of tests/c/conform in a job of N tasks
//	host PROGRAM [CASE]     a program of tests/c/host
//	dat PROGRAM             a program of make dat-test
//	link N PROGRAM          a program of tests/c/link in a job of N tasks
//
// VARIABLE=value in front of these sets the command's environment.
type kill struct {
	text  string
	env   []string
	form  string
	words []string
}

var forms = map[string]struct{ least, most int }{"go": {2, 2}, "c": {1, 1}, "job": {3, 3},
	"host": {1, 2}, "dat": {1, 1}, "link": {2, 2}}

func parseKill(text string) (*kill, error) {
	words := strings.Fields(text)
	k := &kill{text: text}
	for len(words) > 0 && strings.Contains(words[0], "=") {
		k.env, words = append(k.env, words[0]), words[1:]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no command in %q", text)
	}
	k.form, k.words = words[0], words[1:]
	f, ok := forms[k.form]
	if !ok || len(k.words) < f.least || len(k.words) > f.most {
		return nil, fmt.Errorf("%q is no command: kill.go has the forms", text)
	}
	return k, nil
}

// build is the command that builds the program of run, in a copy of the tree.
func (k *kill) build() []string {
	switch k.form {
	case "go":
		return []string{"go", "test", "-trimpath", "-c", "-o", "build/mutants/go-test", k.words[0]}
	case "c":
		return []string{"make", "-s", "build/mutants/cshim-test"}
	case "job":
		return []string{"make", "-s", "build/bin/lapirun", "build/conform/" + k.words[1]}
	case "dat":
		return []string{"make", "-s", "build/dat/" + k.words[0]}
	case "link":
		return []string{"make", "-s", "build/bin/lapirun", "build/link/" + k.words[1]}
	default:
		return []string{"make", "-s", "build/bin/lapirun", "build/conform/" + k.words[0]}
	}
}

// run is the command that must fail, and its working folder in the copy.
func (k *kill) run(root string) (argv []string, dir string) {
	at := func(p string) string { return filepath.Join(root, "build", p) }
	switch k.form {
	case "go":
		return []string{at("mutants/go-test"), "-test.run", "^" + k.words[1] + "$"},
			filepath.Join(root, k.words[0])
	case "c":
		return []string{at("mutants/cshim-test"), k.words[0]}, root
	case "job":
		return []string{at("bin/lapirun"), "-n", k.words[0], at("conform/" + k.words[1]),
			k.words[2]}, root
	case "dat":
		return []string{at("dat/" + k.words[0])}, root
	case "link":
		return []string{at("bin/lapirun"), "--timeout", "60", "-n", k.words[0],
			at("link/" + k.words[1])}, root
	default:
		return append([]string{at("conform/" + k.words[0])}, k.words[1:]...), root
	}
}

// ranNothing says whether a command succeeded without running the test.
func (k *kill) ranNothing(output string) bool {
	switch k.form {
	case "go":
		return strings.Contains(output, "no tests to run") ||
			strings.Contains(output, "--- SKIP")
	case "c":
		return !strings.Contains(output, "ok "+k.words[0])
	case "dat":
		return !strings.Contains(output, k.words[0]+": passed")
	case "link":
		return !strings.Contains(output, "passed\n")
	default:
		return !regexp.MustCompile(`: [1-9][0-9]* passed, 0 failed, 0 skipped`).
			MatchString(output)
	}
}

// exists looks for the test that k names in the sources.
func (k *kill) exists(root string) error {
	var pattern, files string
	switch k.form {
	case "go":
		pattern, files = `(?m)^func `+k.words[1]+`\(t \*testing\.T\)`,
			filepath.Join(k.words[0], "*_test.go")
	case "c":
		pattern, files = `\{"`+k.words[0]+`", test_`, "cshim/ctest/main.c"
	case "job":
		pattern, files = `\b`+k.words[2]+`\b`, "tests/c/conform/"+k.words[1]+".c"
	case "dat":
		pattern, files = `(?m)^int main\(`, "tests/c/dat/*/"+k.words[0]+".c"
		if k.words[0] == "sweep" {
			files = "tests/c/dat/sweep/main.c"
		}
	case "link":
		pattern, files = `(?m)^int main\(`, "tests/c/link/"+k.words[1]+".c"
	default:
		pattern, files = `(?m)^int main\(`, "tests/c/host/"+k.words[0]+".c"
		if len(k.words) > 1 {
			pattern = `\b` + k.words[1] + `\b`
		}
	}
	names, err := filepath.Glob(filepath.Join(root, files))
	for _, name := range names {
		var text []byte
		if text, err = os.ReadFile(name); err != nil {
			return err
		}
		if regexp.MustCompile(pattern).Match(text) {
			return nil
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no test %q", k.text)
	}
	return err
}
