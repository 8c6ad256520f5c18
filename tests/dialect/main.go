// Program dialect keeps the tree's words plain. It counts phrases that CONTRIBUTING.md asks not to
// write, in comments, messages and documents, by folder and kind of phrase, and compares with
// counts.txt. A count that has grown, or one that has fallen and is not lowered in counts.txt, is a
// failure.
//
//	go run ./tests/dialect          compare (make vet)
//	go run ./tests/dialect -lower   rewrite counts.txt, if no kind has grown in the whole tree
//	go run ./tests/dialect -accept  rewrite it in any case: when branches with old text are merged
//	go run ./tests/dialect -list    print every phrase
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

const file = own + "/counts.txt"

func main() {
	lower := flag.Bool("lower", false, "rewrite "+file)
	accept := flag.Bool("accept", false, "rewrite "+file+", whatever has grown")
	list := flag.Bool("list", false, "print every phrase")
	flag.Parse()
	found, hits, err := look(".")
	var allowed counts
	if err == nil {
		allowed, err = load(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dialect:", err)
		os.Exit(2)
	}
	switch {
	case *list:
		for _, h := range hits {
			fmt.Printf("%s: %s: %s\n", h.where, h.kind, h.text)
		}
	case *accept:
		if err := found.save(file); err != nil {
			fmt.Fprintln(os.Stderr, "dialect:", err)
			os.Exit(1)
		}
	case *lower:
		if !rewrite(os.Stderr, found, allowed, hits) {
			os.Exit(1)
		}
	case !compare(os.Stderr, found, allowed, hits):
		os.Exit(1)
	default:
		fmt.Printf("dialect: %d phrases, none more than before\n", len(hits))
	}
}

// compare reports each count of found that differs from allowed, and says whether none does.
func compare(out io.Writer, found, allowed counts, hits []hit) bool {
	grown, fallen := 0, 0
	for _, folder := range folders(found, allowed) {
		for _, k := range kinds {
			now, before := found[folder][k.name], allowed[folder][k.name]
			if now < before {
				fallen++
			}
			if now <= before {
				continue
			}
			grown++
			fmt.Fprintf(out, "dialect: %s has %d of the kind %q, %d before; write %s:\n",
				folder, now, k.name, before, k.say)
			for _, h := range hits {
				if h.folder == folder && h.kind == k.name {
					fmt.Fprintf(out, "  %s: %s\n", h.where, h.text)
				}
			}
		}
	}
	if grown > 0 {
		fmt.Fprintln(out, "dialect: for phrases that moved with a file: make dialect")
	} else if fallen > 0 {
		fmt.Fprintf(out, "dialect: %d counts have fallen; lower them: make dialect\n", fallen)
	}
	return grown == 0 && fallen == 0
}

// rewrite saves found, unless a kind has grown in the whole tree: phrases may move between folders.
func rewrite(out io.Writer, found, allowed counts, hits []hit) bool {
	for _, k := range kinds {
		if found.total(k.name) > allowed.total(k.name) {
			compare(out, found, allowed, hits)
			fmt.Fprintf(out, "dialect: there is more of %q than before: not rewritten\n", k.name)
			return false
		}
	}
	if err := found.save(file); err != nil {
		fmt.Fprintln(out, "dialect:", err)
		return false
	}
	return true
}

// folders gives the folders of both, sorted.
func folders(a, b counts) []string {
	both := map[string]bool{}
	for folder := range a {
		both[folder] = true
	}
	for folder := range b {
		both[folder] = true
	}
	return slices.Sorted(maps.Keys(both))
}
