package main

import (
	"bytes"
	"strings"
	"testing"
)

const root = "../.."

// TestTableFits: each mutation still applies, and names an existing test.
func TestTableFits(t *testing.T) {
	for _, err := range check(root, table()) {
		t.Error(err)
	}
}

// TestListHasEveryMutant: the printed table has a row for each, with its test.
func TestListHasEveryMutant(t *testing.T) {
	var list bytes.Buffer
	document(&list)
	for _, m := range table() {
		if !strings.Contains(list.String(), "\n| "+m.name+" | "+m.file+" |") ||
			!strings.Contains(list.String(), "`"+m.kill+"`") {
			t.Errorf("no row of %s", m.name)
		}
	}
}

// TestCheckBites: check reports mutations that do not fit.
func TestCheckBites(t *testing.T) {
	good := mutation{name: "a", file: "go.mod", old: "module lapi", new: "module lap",
		kill: "go ./tests/mutants TestCheckBites"}
	if wrong := check(root, []mutation{good}); wrong != nil {
		t.Fatal(wrong)
	}
	for _, spoil := range []func(m *mutation){
		func(m *mutation) { m.file = "nowhere" },
		func(m *mutation) { m.old = "no such text" },
		func(m *mutation) { m.old = "o" }, // more than once
		func(m *mutation) { m.new = m.old },
		func(m *mutation) { m.kill = "go ./tests/mutants TestNone" },
		func(m *mutation) { m.kill = "c nothing" },
		func(m *mutation) { m.kill = "job 2 fence no_such_case" },
		func(m *mutation) { m.kill = "host nothing" },
		func(m *mutation) { m.kill = "true" },
		func(m *mutation) { m.kill = "A=1" },
	} {
		bad := good
		spoil(&bad)
		if len(check(root, []mutation{bad})) != 1 {
			t.Errorf("%+v passes", bad)
		}
	}
	if len(check(root, []mutation{good, good})) != 1 {
		t.Error("two of one name pass")
	}
}
