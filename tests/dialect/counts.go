package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// counts has the number of phrases by folder and kind. Zeros are left out.
type counts map[string]map[string]int

func (c counts) add(folder, kind string) {
	if c[folder] == nil {
		c[folder] = map[string]int{}
	}
	c[folder][kind]++
}

// total gives the number of phrases of a kind in the whole tree.
func (c counts) total(kind string) int {
	sum := 0
	for _, kinds := range c {
		sum += kinds[kind]
	}
	return sum
}

// A hit is one phrase: its file, line, and the text about it.
type hit struct {
	folder, kind, where, text string
}

// own is the folder of this program, whose patterns and tests have all phrases.
const own = "tests/dialect"

// look finds the phrases in the files of the tree at root that git knows.
func look(root string) (counts, []hit, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	output, err := list.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("git ls-files: %w", err)
	}
	found := counts{}
	var hits []hit
	for _, name := range strings.Split(strings.TrimRight(string(output), "\x00"), "\x00") {
		folder := path.Dir(name)
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() || folder == own ||
			strings.Contains(name, "/testdata/") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, nil, err
		}
		for _, h := range lookInto(name, string(source)) {
			found.add(h.folder, h.kind)
			hits = append(hits, h)
		}
	}
	return found, hits, nil
}

// lookInto finds the phrases in one file.
func lookInto(name, source string) []hit {
	var hits []hit
	for _, p := range read(name, source) {
		for i := range kinds {
			for _, at := range kinds[i].find(p.text) {
				end := min(at+60, len(p.text))
				hits = append(hits, hit{path.Dir(name), kinds[i].name,
					fmt.Sprintf("%s:%d", name, p.line(at)), p.text[at:end]})
			}
		}
	}
	return hits
}

// load reads a file of counts: a line "FOLDER KIND=N..." for each folder.
func load(name string) (counts, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := counts{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		c[words[0]] = map[string]int{}
		for _, word := range words[1:] {
			kind, number, _ := strings.Cut(word, "=")
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%s: not KIND=N: %s", name, lines.Text())
			}
			c[words[0]][kind] = n
		}
	}
	return c, lines.Err()
}

// save writes a file of counts.
func (c counts) save(name string) error {
	var text strings.Builder
	text.WriteString("# Phrases by folder that `make vet` lets pass. `make dialect` lowers them.\n")
	for _, folder := range slices.Sorted(maps.Keys(c)) {
		text.WriteString(folder)
		for _, k := range kinds {
			if n := c[folder][k.name]; n > 0 {
				fmt.Fprintf(&text, " %s=%d", k.name, n)
			}
		}
		text.WriteByte('\n')
	}
	return os.WriteFile(name, []byte(text.String()), 0o644)
}
