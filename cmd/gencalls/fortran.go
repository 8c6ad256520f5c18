package main

import (
	"fmt"
	"regexp"
	"strings"
)

// parameter is a parameter of a Fortran subroutine, ierror left out.
type parameter struct{ name, kind string }

// parameterKinds are the kinds of calls.txt and what the entry point in C declares for each.
var parameterKinds = map[string]string{
	"int": "const int32_t *", "long": "const ulong *", "addr": "void *const *", "out": "void *",
	"any":     "void *",
	"handler": "void *", "object": "void *", "vector": "void *", "text": "void *",
}

var parameterForm = regexp.MustCompile(`^([a-z][a-z0-9_]*):([a-z]+)$`)

// parameters returns the Fortran parameters of a checked record.
func (c call) parameters() []parameter {
	var all []parameter
	for _, word := range strings.Fields(strings.TrimPrefix(c.fortran, "own ")) {
		m := parameterForm.FindStringSubmatch(word)
		all = append(all, parameter{m[1], m[2]})
	}
	return all
}

// own says whether the call's conversion is written by hand.
func (c call) own() bool { return strings.HasPrefix(c.fortran, "own ") }

// takesProcedure says whether a parameter may be a procedure or a variable: such a subroutine is
// generic in lapif.h.
func (c call) takesProcedure() bool {
	for _, p := range c.parameters() {
		if p.kind == "handler" || p.kind == "object" {
			return true
		}
	}
	return false
}

// cTypes returns the types of the C function's parameters, without their names.
func (c call) cTypes() []string {
	inside := strings.TrimSuffix(strings.TrimPrefix(c.prototype, "int ("), ")")
	var types []string
	for _, p := range strings.Split(inside, ", ") {
		types = append(types,
			strings.TrimSpace(regexp.MustCompile(`\w+(\[\])?$`).ReplaceAllString(p, "")))
	}
	return types
}

// checkFortran checks a record's Fortran part: kinds are known, and there is a parameter for each
// of C's.
func checkFortran(c call) error {
	if c.group == dataGroup {
		if c.fortran != "" {
			return fmt.Errorf("a variable has no Fortran form")
		}
		return nil
	}
	words := strings.Fields(strings.TrimPrefix(c.fortran, "own "))
	for _, word := range words {
		m := parameterForm.FindStringSubmatch(word)
		if m == nil || parameterKinds[m[2]] == "" {
			return fmt.Errorf("bad Fortran parameter %q", word)
		}
		if (m[2] == "handler" || m[2] == "text") && !c.own() {
			return fmt.Errorf("parameter %q of Fortran needs a function of its own", word)
		}
	}
	if n := len(c.cTypes()); len(words) != n {
		return fmt.Errorf("%d Fortran parameters, want %d", len(words), n)
	}
	return nil
}

// spellings returns the names that compilers give to a Fortran procedure (guide, Table 10), and
// that of old GNU compilers with two underscores. The others are aliases of the first.
func spellings(name string) []string {
	lower, upper := strings.ToLower(name), strings.ToUpper(name)
	return []string{lower, lower + "_", upper, upper + "_", lower + "__"}
}

// entries returns the names of a call's entry point. Where lapif.h has a name with an underscore
// more for a procedure as argument, the compilers with two underscores make three of it, and those
// with capitals two.
func entries(prefix string, c call) []string {
	names := spellings(prefix + c.name)
	if c.takesProcedure() {
		names = append(names, names[0]+"___", names[2]+"__")
	}
	return names
}

// commonBlock is the COMMON block of lapif.h with LAPI_ADDR_NULL and LAPI_BYTE.
const commonBlock = "LAPI_ADDRESSES"

// fortranSymbols returns what the library shows to Fortran.
func fortranSymbols(calls []call) []symbol {
	var all []symbol
	for _, s := range spellings(commonBlock) {
		all = append(all, symbol{"B", s})
	}
	for _, c := range fortranCalls(calls) {
		for _, s := range entries("LAPI_", c) {
			all = append(all, symbol{"W", s})
		}
		for _, s := range entries("PLAPI_", c) {
			all = append(all, symbol{"T", s})
		}
	}
	return all
}

// fortranCalls returns the calls that Fortran has.
func fortranCalls(calls []call) []call {
	var found []call
	for _, c := range calls {
		if c.exported && c.group != dataGroup {
			found = append(found, c)
		}
	}
	return found
}
