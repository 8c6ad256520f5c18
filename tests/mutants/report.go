package main

import (
	"fmt"
	"io"
	"strings"
)

// head is printed above the table by `make mutants-list`.
var head = strings.ReplaceAll(`# Mutants

Each line is a defect that somebody could make in one place, and the test that then fails.
"make mutants" makes them one after the other in a copy of the tree and sees that this is so. That
takes long, so it is not part of "make test"; "go test ./tests/mutants" is, and holds that each
mutation still fits its file and that its test is there.

    make mutants                       # all
    make mutants ONLY='lane|udp' J=2   # those whose name, file or test matches, in two copies
    make mutants-list                  # this page

A mutation counts as killed only if it compiles, the test passes without it, and fails, or does not
end within its time, with it. When you mend a fault add the mutation that brings it back: an entry
in "tests/mutants", keyed on text that is short and will last. "-kill" runs another test in place of
the table's, to look for one.

The test is named as one runs it: "go PACKAGE TEST" is a Go test, "c TEST" one of cshim/ctest,
"job N PROGRAM CASE" a case of tests/c/conform with N tasks, "host PROGRAM" a program of
tests/c/host, "dat PROGRAM" one of make dat-test.
`, `"`, "`")

// document writes the table of all mutants as Markdown.
func document(w io.Writer) {
	fmt.Fprint(w, head)
	for _, a := range areas {
		fmt.Fprintf(w, "\n## %s\n\n| mutant | file | what is broken | the test |\n|---|---|---|---|\n",
			a.name)
		for _, m := range a.list {
			fmt.Fprintf(w, "| %s | %s | %s | `%s` |\n", m.name, m.file,
				strings.ReplaceAll(m.broken, "|", `\|`), m.kill)
		}
	}
}

// tail is the end of a log.
func tail(log string, lines int) string {
	all := strings.Split(strings.TrimRight(log, "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	return "    " + strings.Join(all, "\n    ")
}

// summary writes the table of a run, and says whether all mutations were killed.
func summary(w io.Writer, results []result) bool {
	dead := 0
	fmt.Fprintln(w)
	for _, r := range results {
		fmt.Fprintf(w, "%-14s %-28s %-36s %s\n", r.outcome, r.m.name, r.m.file, r.m.kill)
		if r.good() {
			dead++
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", dead, len(results)-dead)
	return dead == len(results)
}
