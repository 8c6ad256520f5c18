package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func table(t *testing.T) []call {
	t.Helper()
	calls, err := parseTable(read(t, tableFile))
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range outputs {
		if read(t, out.file) != out.render(s) {
			t.Errorf("%s is out of date: run go generate ./cmd/gencalls", out.file)
		}
	}
}

func TestGenerateWritesAllOutputs(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"cshim/lapi", "cshim/fortran", "cshim/dat", "tests/c/abi", "tests/fortran", "include",
		"fortran/include32"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{tableFile, typesFile, valuesFile, datFile, linkFile} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(read(t, file)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	for _, out := range outputs {
		got, err := os.ReadFile(filepath.Join(dir, out.file))
		if err != nil || string(got) != read(t, out.file) {
			t.Errorf("%s: differs from the tree's, or %v", out.file, err)
		}
	}
	if err := generate(t.TempDir()); err == nil {
		t.Error("no error although there is no table")
	}
}

// declarations returns what lapi.h declares, keyed by symbol: functions with their type, variables
// with theirs.
func declarations(t *testing.T) map[string]string {
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(read(t, "include/lapi.h"), " ")
	text = regexp.MustCompile(`(?m)^#(.*\\\n)*.*$`).ReplaceAllString(text, "")
	found := map[string]string{}
	function := regexp.MustCompile(`(\w+) (P?LAPI_\w+|plapi_\w+)\(([^;{}]*)\);`)
	for _, m := range function.FindAllStringSubmatch(text, -1) {
		found[m[2]] = normalize(m[1] + " (" + m[3] + ")")
	}
	variable := regexp.MustCompile(`extern (\w+) (LAPI_\w+);`)
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		found[m[2]] = m[1]
	}
	return found
}

// fortranPrototype is how lapi.h declares a call's plain name in Fortran: each parameter by its
// address, and the return code once more.
func fortranPrototype(c call) string {
	var all []string
	types := c.cTypes()
	for i, p := range c.parameters() {
		pointed := strings.TrimSuffix(types[i], " *")
		switch {
		case p.kind == "addr", p.kind == "out":
			pointed = "void *"
		case p.kind == "vector", p.kind == "handler", p.kind == "object", pointed == "void *[]":
			pointed = "void"
		}
		all = append(all, strings.ReplaceAll(pointed+" *"+p.name, "* *", "**"))
	}
	return "int (" + strings.Join(append(all, "int *ierror"), ", ") + ")"
}

func TestTableAgreesWithHeader(t *testing.T) {
	declared := declarations(t)
	want := map[string]string{}
	for _, c := range table(t) {
		want["LAPI_"+c.name] = c.prototype
		if c.group != dataGroup {
			want["PLAPI_"+c.name] = c.prototype
			want["plapi_"+strings.ToLower(c.name)] = fortranPrototype(c)
		}
	}
	for symbol, prototype := range want {
		if got, ok := declared[symbol]; !ok {
			t.Errorf("%s is not declared in lapi.h", symbol)
		} else if got != prototype {
			t.Errorf("%s: the table has %q, lapi.h %q", symbol, prototype, got)
		}
	}
	for symbol := range declared {
		if _, ok := want[symbol]; !ok {
			t.Errorf("%s is declared in lapi.h, but not in the table", symbol)
		}
	}
}

// The guide has 31 subroutines; the release after it added two and a variable.
func TestTableIsComplete(t *testing.T) {
	// shown: a function has two names in C and ten, or 14, in Fortran, a variable one; the COMMON
	// block five
	functions, shown := 0, 5
	for _, c := range table(t) {
		if c.group != dataGroup {
			functions++
		}
		if c.exported {
			shown++
			if c.group != dataGroup {
				shown += 11
				if c.takesProcedure() {
					shown += 4
				}
			}
		}
	}
	if functions != 31+2 {
		t.Errorf("%d functions, want 33", functions)
	}
	if got := len(symbols(table(t))); got != shown {
		t.Errorf("%d symbols, want %d", got, shown)
	}
}

func TestRenderedText(t *testing.T) {
	calls, err := parseTable(
		"Put transfer exported\n\tint (int a,\n\t     int b)\n\tfortran a:int\n\t\tb:int\n" +
			"Xfer transfer declared\n int (int a)\n fortran a:int\n" +
			"BYTE data exported\n\tlapi_dg_handle_t\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := calls[0].prototype; got != "int (int a, int b)" {
		t.Errorf("type of two lines: %q", got)
	}
	if got, want := calls[0].fortran, "a:int b:int"; got != want {
		t.Errorf("Fortran parameters of two lines: %q", got)
	}
	want := "B LAPI_ADDRESSES\nB LAPI_ADDRESSES_\nD LAPI_BYTE\nW LAPI_PUT\nW LAPI_PUT_\nW LAPI_Put\nT PLAPI_PUT\nT PLAPI_PUT_\nT PLAPI_Put\n" +
		"B lapi_addresses\nB lapi_addresses_\nB lapi_addresses__\nW lapi_put\nW lapi_put_\nW lapi_put__\nT plapi_put\nT plapi_put_\nT plapi_put__\n"
	if got := renderSymbols(calls, nil); got != want {
		t.Errorf("symbols %q, want %q", got, want)
	}
	dat, err := parseSymbols("# comment\n\nT DAT_2.0 dat_b\nB DAT_2.0 dat_a\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseSymbols("T dat_b\n"); err == nil || !strings.HasPrefix(err.Error(), "1:") {
		t.Errorf("a line without version: %v", err)
	}
	exports := renderExports(calls, dat, []symbol{{"T", "lapi_link_x"}})
	if !strings.Contains(exports, "DAT_2.0 {\nglobal:\n\tdat_a;\n\tdat_b;\n};\nLAPI_1.0 {\nglobal:\n") ||
		!strings.HasSuffix(exports, "\tlapi_link_x;\nlocal:\n\t*;\n};\n") ||
		!strings.Contains(renderSymbols(calls, dat), "D LAPI_BYTE\nW LAPI_PUT\n") ||
		!strings.Contains(renderSymbols(calls, dat), "B dat_a\nT dat_b\n") {
		t.Errorf("version script %q", exports)
	}
	pairs := renderPairs(calls)
	if !strings.Contains(pairs,
		"#ifdef CSHIM_GROUP_TRANSFER\nextern __typeof__(PLAPI_Put) LAPI_Put\n") ||
		strings.Contains(pairs, "Xfer") || strings.Contains(pairs, "BYTE") {
		t.Errorf("pairs %q", pairs)
	}
}

func TestBadTables(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"", "1: no calls"},
		{"# nothing\n", "1: no calls"},
		{"\tint (void)\n", "1: a type before"},
		{"Put transfer\n", "1: want name"},
		{"Put transfer exported now\n", "1: want name"},
		{"put transfer exported\n", "1: bad name"},
		{"LAPI_Put transfer exported\n", "1: bad name"},
		{"Put transport exported\n", "1: unknown group"},
		{"\nPut transfer hidden\n", "2: unknown state"},
		{"Put transfer exported\n", "1: Put: bad type"},
		{"Put transfer exported\n\tint LAPI_Put(int a);\n", "1: Put: bad type"},
		{"BYTE data exported\n\tint (int a)\n", "1: BYTE: bad type"},
		{"Put transfer exported\n\tint (int a)\n\tfortran a:int\nPut vector declared\n\tint (int a)\n",
			"4: Put comes twice"},
		{"Put transfer exported\n\tint (int a)\n", "1: Put: 0 Fortran parameters, want 1"},
		{"Put transfer exported\n\tint (int a)\n\tfortran a:int b:int\n",
			"1: Put: 2 Fortran parameters, want 1"},
		{"Put transfer exported\n\tint (int a)\n\tfortran a\n", "1: Put: bad Fortran parameter"},
		{"Put transfer exported\n\tint (int a)\n\tfortran a:number\n",
			"1: Put: bad Fortran parameter"},
		{"Put transfer exported\n\tint (int a)\n\tfortran a:handler\n",
			"1: Put: parameter \"a:handler\" of Fortran needs"},
		{"BYTE data exported\n\tlapi_dg_handle_t\n\tfortran a:int\n",
			"1: BYTE: a variable has no Fortran form"},
	} {
		if _, err := parseTable(c.text); err == nil || !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%q: error %v, want %q", c.text, err, c.err)
		}
	}
}
