package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wordSet is the marked members by their struct's name in C.
type wordSet map[string]map[string]bool

var (
	structBegins = regexp.MustCompile(`^(?:typedef )?struct (\w+) \{`)
	structEnds   = regexp.MustCompile(`^\}`)
	mark         = regexp.MustCompile(`^\s*CSHIM_SHARED \w+ ([^;]*);`)
	declarator   = regexp.MustCompile(`^\s*(\w+)`)
)

// marked reads the marks of all headers and C files below root.
func marked(root string) (wordSet, error) {
	words := wordSet{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".h" && filepath.Ext(file) != ".c" {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil {
			words.read(string(text))
		}
		return err
	})
	return words, err
}

func (w wordSet) read(text string) {
	name := ""
	for line := range strings.Lines(text) {
		if m := structBegins.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if structEnds.MatchString(line) {
			name = ""
		} else if m := mark.FindStringSubmatch(line); m != nil && name != "" {
			if w[name] == nil {
				w[name] = map[string]bool{}
			}
			for _, d := range strings.Split(m[1], ",") {
				w[name][declarator.FindStringSubmatch(d)[1]] = true
			}
		}
	}
}

// names are all words as struct.member.
func (w wordSet) names() []string {
	var all []string
	for s, members := range w {
		for m := range members {
			all = append(all, s+"."+m)
		}
	}
	slices.Sort(all)
	return all
}
