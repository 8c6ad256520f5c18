package main

import (
	"fmt"
	"regexp"
	"strings"
)

// call is a record of the table.
type call struct {
	name      string // without LAPI_
	group     string
	exported  bool
	prototype string // the C type, on one line: "int (lapi_handle_t hndl)"
	fortran   string // what follows the word "fortran", on one line: "own hndl:int util_cmd:any"
	line      int    // of the record in the table, for messages
}

// dataGroup is the group of variables: they have no PLAPI_ name.
const dataGroup = "data"

// groups are the groups a record may name.
var groups = map[string]bool{
	"init": true, "env": true, "address": true, "counter": true, "transfer": true, "fence": true,
	"progress": true,
	"util":     true, "recovery": true, "vector": true, "xfer": true, "group": true,
	dataGroup: true,
}

var (
	nameForm     = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
	functionForm = regexp.MustCompile(`^int \(.+\)$`)
	dataForm     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// parseTable returns the records of the table in its order. An error begins with the number of the
// line at fault.
func parseTable(text string) ([]call, error) {
	var calls []call
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if len(calls) == 0 {
				return nil, fmt.Errorf("%d: a type before the first call", i+1)
			}
			calls[len(calls)-1].add(line)
		default:
			c, err := parseHead(line)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
			c.line = i + 1
			calls = append(calls, c)
		}
	}
	return calls, checkCalls(calls)
}

// add takes an indented line of the record: more of the C type or, from the word "fortran" on, of
// the Fortran parameters.
func (c *call) add(line string) {
	text := normalize(line)
	if first, rest, _ := strings.Cut(text, " "); first == "fortran" {
		c.fortran = normalize(rest)
	} else if c.fortran != "" {
		c.fortran += " " + text
	} else {
		c.prototype = normalize(c.prototype + " " + text)
	}
}

// parseHead reads the first line of a record.
func parseHead(line string) (call, error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return call{}, fmt.Errorf("want name, group and state, have %q", line)
	}
	name, group, state := words[0], words[1], words[2]
	if !nameForm.MatchString(name) || strings.HasPrefix(name, "LAPI_") ||
		strings.HasPrefix(name, "PLAPI_") {
		return call{}, fmt.Errorf("bad name %q", name)
	}
	if !groups[group] {
		return call{}, fmt.Errorf("unknown group %q", group)
	}
	if state != "exported" && state != "declared" {
		return call{}, fmt.Errorf("unknown state %q", state)
	}
	return call{name: name, group: group, exported: state == "exported"}, nil
}

// checkCalls checks what only whole records show: each has a type of the right form, no name comes
// twice.
func checkCalls(calls []call) error {
	if len(calls) == 0 {
		return fmt.Errorf("1: no calls")
	}
	seen := map[string]bool{}
	for _, c := range calls {
		form := functionForm
		if c.group == dataGroup {
			form = dataForm
		}
		if !form.MatchString(c.prototype) {
			return fmt.Errorf("%d: %s: bad type %q", c.line, c.name, c.prototype)
		}
		if seen[c.name] {
			return fmt.Errorf("%d: %s comes twice", c.line, c.name)
		}
		if err := checkFortran(c); err != nil {
			return fmt.Errorf("%d: %s: %w", c.line, c.name, err)
		}
		seen[c.name] = true
	}
	return nil
}

// normalize makes C text comparable: one blank wherever there is white space, none at the ends.
func normalize(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
