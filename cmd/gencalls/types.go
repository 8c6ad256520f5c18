package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// kind is a KIND parameter of lapif.h; bytes 0 is the word.
type kind struct {
	name  string
	bytes int
}

// structure is a derived type of lapif.h. cName is empty where C has none.
type structure struct {
	name, cName string
	members     []member
}

// member is a component: an INTEGER of some bytes (0: the word) or, where inner is set, another
// derived type. count 0 is no array.
type member struct {
	name  string
	bytes int
	inner string
	count int
	only  int // 64 or 32: only in the file of that word size; 0: in both
}

// word is the word size of one lapif.h, bits.
type word int

// bytesOf returns a size in bytes, where 0 stands for the word.
func (w word) bytesOf(n int) int {
	if n == 0 {
		return int(w) / 8
	}
	return n
}

// membersFor returns the members that the file for w has.
func (s structure) membersFor(w word) []member {
	var all []member
	for _, m := range s.members {
		if m.only == 0 || m.only == int(w) {
			all = append(all, m)
		}
	}
	return all
}

// padding says whether the member is there for the layout only.
func (m member) padding() bool { return strings.HasPrefix(m.name, "pad") }

var (
	memberForm = regexp.MustCompile(
		`^\t(\w+) (i2|i4|i8|word|type\((\w+)\))(?:\((\d+)\))?(?: @(64|32))?$`)
	kindForm = regexp.MustCompile(`^kind ([A-Z0-9_]+) (word|[248])$`)
	typeForm = regexp.MustCompile(`^type ([A-Z0-9_]+) ([a-z0-9_]+|-)$`)
)

// parseTypes reads fortran/types.txt. An error begins with the number of the line at fault.
func parseTypes(text string) (kinds []kind, types []structure, err error) {
	for i, line := range strings.Split(text, "\n") {
		k, t, m := kindForm.FindStringSubmatch(line), typeForm.FindStringSubmatch(line),
			memberForm.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case k != nil:
			n, _ := strconv.Atoi(k[2]) // 0 for the word
			kinds = append(kinds, kind{k[1], n})
		case t != nil:
			types = append(types,
				structure{name: t[1], cName: strings.Replace(strings.TrimPrefix(t[2], "-"),
					"struct_", "struct ", 1)})
		case m != nil && len(types) > 0:
			last := &types[len(types)-1]
			last.members = append(last.members, parseMember(m))
		default:
			return nil, nil, fmt.Errorf("%d: cannot read %q", i+1, line)
		}
	}
	if len(kinds) == 0 || len(types) == 0 {
		return nil, nil, fmt.Errorf("1: no kinds or no types")
	}
	return kinds, types, nil
}

// parseMember makes a member of what memberForm found.
func parseMember(m []string) member {
	made := member{name: m[1], inner: m[3]}
	if made.inner == "" {
		made.bytes, _ = strconv.Atoi(strings.TrimPrefix(m[2], "i")) // 0 for the word
	}
	made.count, _ = strconv.Atoi(m[4])
	made.only, _ = strconv.Atoi(m[5])
	return made
}

// constant is a named value of the C headers.
type constant struct {
	name  string
	value int64
}

// notFortran are values of the headers that lapif.h does not have as constants: LAPI_ADDR_NULL is a
// variable there.
var notFortran = map[string]bool{"__64BIT__": true, "LAPI_ADDR_NULL": true}

// parseConstants returns the values in the ABI golden of a 64-bit machine.
func parseConstants(golden string) ([]constant, error) {
	var all []constant
	for _, m := range regexp.MustCompile(`(?m)^value (\w+) (-?\d+)$`).FindAllStringSubmatch(golden,
		-1) {
		value, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return nil, err
		}
		if !notFortran[m[1]] {
			all = append(all, constant{m[1], value})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no values")
	}
	return all, nil
}

// valueFor returns the constant's value where the word size is w: those that depend on it are
// computed.
func (c constant) valueFor(w word, types []structure) int64 {
	instructions := map[string]string{
		"LAPI_DGSM_COPY_SIZE": "LAPI_DGSM_COPY_T", "LAPI_DGSM_GOSUB_SIZE": "LAPI_DGSM_GOSUB_T",
		"LAPI_DGSM_ITERATE_SIZE":     "LAPI_DGSM_ITERATE_T",
		"LAPI_DGSM_CONTROL_SIZE":     "LAPI_DGSM_CONTROL_T",
		"LAPI_DGSM_MCOPY_SIZE":       "LAPI_DGSM_MCOPY_T",
		"LAPI_DGSM_MCOPY_BLOCK_SIZE": "LAPI_DGSM_BLOCK_T",
	}
	if c.name == "LAPI_MAX_MSG_SZ" && w == 32 {
		return 1<<31 - 1
	}
	if name := instructions[c.name]; name != "" {
		return int64(sizeOf(name, w, types) / 4)
	}
	return c.value
}

// sizeOf returns the bytes of a type without holes: its padding is written out.
func sizeOf(name string, w word, types []structure) int {
	size := 0
	for _, t := range types {
		if t.name != name {
			continue
		}
		for _, m := range t.membersFor(w) {
			size += m.size(w, types)
		}
	}
	return size
}

// size returns the bytes of a member.
func (m member) size(w word, types []structure) int {
	n := w.bytesOf(m.bytes)
	if m.inner != "" {
		n = sizeOf(m.inner, w, types)
	}
	return n * max(m.count, 1)
}
