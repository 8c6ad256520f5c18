// Program shared finds plain uses of words that several threads or processes touch: members that
// the headers of cshim mark CSHIM_SHARED (cshim/cpu/shared.h, docs/dev/memory-order.md). In C each use
// must be the operand of an atomic builtin, or by CSHIM_OWN, which says that nobody writes the word
// meanwhile; in Go an operand of sync/atomic. It also finds conditions on the architecture outside
// of cshim/cpu and the guarded copies.
//
//	go run ./tests/shared          look (make vet)
//	go run ./tests/shared -list    print the marked words as well
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

// A finding is a use that is not as it must be.
type finding struct {
	file string
	line int
	text string
}

func main() {
	list := flag.Bool("list", false, "print the marked words")
	flag.Parse()
	words, err := marked("cshim")
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("no header marks a word")
	}
	var found []finding
	var uses int
	for _, look := range []func(wordSet) ([]finding, int, error){lookAtC, lookAtGo, lookAtConditions} {
		if err != nil {
			break
		}
		var some []finding
		var n int
		some, n, err = look(words)
		found, uses = append(found, some...), uses+n
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shared:", err)
		os.Exit(2)
	}
	if *list {
		for _, w := range words.names() {
			fmt.Println(w)
		}
	}
	slices.SortFunc(found, func(a, b finding) int {
		if a.file != b.file {
			return len(a.file) - len(b.file)
		}
		return a.line - b.line
	})
	for _, f := range found {
		fmt.Fprintf(os.Stderr, "%s:%d: %s\n", f.file, f.line, f.text)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
	fmt.Printf("shared: %d words, %d uses, none plain\n", len(words.names()), uses)
}
