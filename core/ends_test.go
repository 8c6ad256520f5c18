package core

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEndsTable: in docs/dev/ends.md, each row of the table of what waits for a peer that ends has a row
// in the table of tests, and each cell of that names tests, all of which are in the tree.
func TestEndsTable(t *testing.T) {
	text, err := os.ReadFile("../docs/dev/ends.md")
	if err != nil {
		t.Fatal(err)
	}
	rule, tests, ok := strings.Cut(string(text), "## How it is tested")
	if !ok {
		t.Fatal("no section of tests")
	}
	inTree := map[string]bool{}
	for _, names := range functions(t) {
		for name := range names {
			inTree[name] = true
		}
	}
	tested := map[string]bool{}
	name := regexp.MustCompile("`(Test\\w+|\\w+\\.c)`")
	for _, row := range rows(tests) {
		tested[rowName(row[0])] = true
		for i, cell := range row[1:] {
			all := name.FindAllStringSubmatch(cell, -1)
			if len(all) == 0 {
				t.Errorf("%s, column %d: no test", row[0], i+1)
			}
			for _, n := range all {
				if !inTree[strings.TrimSuffix(n[1], ".c")] {
					t.Errorf("%s: %s is not in the tree", row[0], n[1])
				}
			}
		}
	}
	all := rows(rule)
	if len(all) < 8 {
		t.Errorf("%d rows", len(all))
	}
	for _, row := range all {
		if !tested[rowName(row[0])] {
			t.Errorf("%s has no row of tests", row[0])
		}
	}
}

// rowName is the name of a row, without what the table says of it: "put, active message, vectors".
func rowName(cell string) string {
	name, _, _ := strings.Cut(cell, ":")
	return name
}

// rows are the rows of the four columns of a table, without its head.
func rows(text string) (all [][]string) {
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 4 && cells[0] != "what waits" {
			all = append(all, cells)
		}
	}
	return all
}
