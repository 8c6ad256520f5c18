// Command gencalls writes what follows from the table of calls cshim/calls.txt: the LAPI_/PLAPI_
// pairs, the Fortran entry points, the linker's version script, the golden list of exported symbols
// and, with fortran/types.txt and the constants of the C headers, lapif.h and the program that
// prints its layout; from core/lapi/codes the texts of LAPI_Msg_string. Run it with `go generate ./cmd/gencalls` after a change of any of these and
// commit the results; the tests of this package fail while they are out of date.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

//go:generate go run . -root ../..

// The files that are read, below the root of the source tree.
const (
	tableFile = "cshim/calls.txt"
	typesFile = "fortran/types.txt"
	// what the library shows for uDAPL
	datFile = "cshim/dat/exports.txt"
	// and for lapi_link
	linkFile = "include/lapi_link.h"
	// the constants of the C headers, as a compiler knows them
	valuesFile = "tests/c/abi/x86_64.golden"
)

// source is what the files above say.
type source struct {
	calls     []call
	kinds     []kind
	types     []structure
	constants []constant
	dat, link []symbol
}

// outputs are the generated files, below the root, and what makes their contents.
var outputs = []struct {
	file   string
	render func(source) string
}{
	{"cshim/lapi/pairs_gen.h", func(s source) string { return renderPairs(s.calls) }},
	{"cshim/lapi/texts_gen.h", renderTexts},
	{"cshim/fortran/fortran_gen.h", renderEntries},
	{"cshim/exports.map", func(s source) string { return renderExports(s.calls, s.dat, s.link) }},
	{"tests/c/abi/symbols.golden", func(s source) string { return renderSymbols(s.calls, slices.Concat(s.dat, s.link)) }},
	{"fortran/lapif.h", func(s source) string { return renderLapif(s, 64) }},
	{"fortran/include32/lapif.h", func(s source) string { return renderLapif(s, 32) }},
	{"tests/fortran/layout_gen.f90", renderLayout},
}

func main() {
	root := flag.String("root", ".", "root of the source tree")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintln(os.Stderr, "gencalls:", err)
		os.Exit(1)
	}
}

// declared is a function of lapi_link.h.
var declared = regexp.MustCompile(`(?m)^\w+ (lapi_link_\w+)\(`)

// load reads the sources below root.
func load(root string) (s source, err error) {
	var texts [5]string
	for i, file := range []string{tableFile, typesFile, valuesFile, datFile, linkFile} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return s, err
		}
		texts[i] = string(text)
	}
	if s.calls, err = parseTable(texts[0]); err != nil {
		return s, fmt.Errorf("%s:%w", tableFile, err)
	}
	if s.kinds, s.types, err = parseTypes(texts[1]); err != nil {
		return s, fmt.Errorf("%s:%w", typesFile, err)
	}
	if s.constants, err = parseConstants(texts[2]); err != nil {
		return s, fmt.Errorf("%s: %w", valuesFile, err)
	}
	if s.dat, err = parseSymbols(texts[3]); err != nil {
		return s, fmt.Errorf("%s:%w", datFile, err)
	}
	for _, found := range declared.FindAllStringSubmatch(texts[4], -1) {
		s.link = append(s.link, symbol{"T", found[1]})
	}
	return s, nil
}

// generate reads the sources below root and writes every output.
func generate(root string) error {
	s, err := load(root)
	if err != nil {
		return err
	}
	for _, out := range outputs {
		if err := os.WriteFile(filepath.Join(root, out.file), []byte(out.render(s)),
			0o644); err != nil {
			return err
		}
	}
	return nil
}
