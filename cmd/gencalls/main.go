// Command gencalls writes what follows from the table of calls cshim/calls.txt: the LAPI_/PLAPI_ pairs, the linker's
// version script and the golden list of exported symbols. Run it with `go generate ./cmd/gencalls` after a change of
// the table and commit the results; the tests of this package fail while they are out of date.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . -root ../..

// tableFile is where the table is, below the root of the source tree.
const tableFile = "cshim/calls.txt"

// outputs are the generated files, below the root, and what makes their contents.
var outputs = []struct {
	file   string
	render func([]call) string
}{
	{"cshim/pairs_gen.h", renderPairs},
	{"cshim/exports.map", renderExports},
	{"tests/c/abi/symbols.golden", renderSymbols},
}

func main() {
	root := flag.String("root", ".", "root of the source tree")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintln(os.Stderr, "gencalls:", err)
		os.Exit(1)
	}
}

// generate reads the table below root and writes every output.
func generate(root string) error {
	text, err := os.ReadFile(filepath.Join(root, tableFile))
	if err != nil {
		return err
	}
	calls, err := parseTable(string(text))
	if err != nil {
		return fmt.Errorf("%s:%w", tableFile, err)
	}
	for _, out := range outputs {
		if err := os.WriteFile(filepath.Join(root, out.file), []byte(out.render(calls)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
