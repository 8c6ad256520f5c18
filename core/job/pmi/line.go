package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// cutLine takes the first line off b.
func cutLine(b []byte) (line string, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return "", b, false
	}
	return string(b[:end]), b[end+1:], true
}

// parse splits a line into its words, name=value, in any order. A word without = belongs to the
// text of some launcher's message and is passed over. A name that comes twice is an error, for it
// is not known which holds.
func parse(line string) (map[string]string, error) {
	words := make(map[string]string)
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			continue
		}
		if _, twice := words[name]; twice {
			return nil, fmt.Errorf("%q stands twice in a line", name)
		}
		words[name] = value
	}
	if words["cmd"] == "" {
		return nil, errors.New("a line without a command")
	}
	return words, nil
}
