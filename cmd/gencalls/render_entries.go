package main

import (
	"fmt"
	"strings"
)

// renderEntries returns the Fortran entry points in C: each converts its arguments, calls the C
// function, stores ierror and returns the same; then all its names.
//
// The plain LAPI name is the same entry as the PLAPI names. The other spellings call it, as the
// loader finds it, so that a profiling library needs the plain one alone, whatever a compiler makes
// of names.
func renderEntries(source source) string {
	var b strings.Builder
	fmt.Fprintf(&b, `/*
 * fortran_gen.h - the Fortran entry points. %s
 *
 * Included by fortran_calls.c alone. The LAPI names are weak, as those of C are (pairs_gen.h). All
 * but the plain one call that one, which a profiling library may have.
 */

#define CSHIM_FORTRAN_STRONG(name, of) extern __typeof__(of) name __attribute__((visibility("default"), alias(#of)));
#define CSHIM_FORTRAN_PLAIN(name, at) ((__typeof__(&name))fortran_plain(at, #name, (void *)name))
#define CSHIM_FORTRAN_WEAK(name, of) extern __typeof__(of) name __attribute__((weak, visibility("default"), alias(#of)));
`, origin)
	for _, c := range fortranCalls(source.calls) {
		b.WriteString(renderEntry(c))
	}
	return b.String()
}

// renderEntry returns one entry point.
func renderEntry(c call) string {
	lower, types := strings.ToLower(c.name), c.cTypes()
	var declared, passed, names []string
	for i, p := range c.parameters() {
		names = append(names, p.name)
		declared = append(declared, parameterKinds[p.kind]+withBlank(parameterKinds[p.kind])+p.name)
		if c.own() {
			passed = append(passed, p.name)
		} else {
			passed = append(passed, convert(p, types[i]))
		}
	}
	called := "PLAPI_" + c.name
	if c.own() {
		called = "fortran_" + lower
	}
	parameters := strings.Join(declared, ", ") + ", int32_t *ierror"
	var b strings.Builder
	fmt.Fprintf(&b, "\n__attribute__((visibility(\"default\"))) int plapi_%s(%s)\n{\n\treturn fortran_result(ierror, %s(%s));\n}\n",
		lower, parameters, called, strings.Join(passed, ", "))
	for _, name := range entries("PLAPI_", c)[1:] {
		fmt.Fprintf(&b, "CSHIM_FORTRAN_STRONG(%s, plapi_%s)\n", name, lower)
	}
	plain, others := "lapi_"+lower, entries("LAPI_", c)[1:]
	fmt.Fprintf(&b, "CSHIM_FORTRAN_WEAK(%s, plapi_%s)\n", plain, lower)
	fmt.Fprintf(&b, "__attribute__((weak, visibility(\"default\"))) int %s(%s)\n{\n\tstatic void *at;\n\n\treturn CSHIM_FORTRAN_PLAIN(%s, &at)(%s, ierror);\n}\n",
		others[0], parameters, plain, strings.Join(names, ", "))
	for _, name := range others[1:] {
		fmt.Fprintf(&b, "CSHIM_FORTRAN_WEAK(%s, %s)\n", name, others[0])
	}
	return b.String()
}

// withBlank returns what stands between a C type and a name.
func withBlank(cType string) string {
	if strings.HasSuffix(cType, "*") {
		return ""
	}
	return " "
}

// convert returns the C argument made of a Fortran one.
func convert(p parameter, cType string) string {
	switch p.kind {
	case "int":
		return "fortran_int(" + p.name + ")"
	case "long":
		return "fortran_long(" + p.name + ")"
	case "addr":
		if !strings.HasSuffix(cType, "*") {
			return "(uintptr_t)fortran_addr(" + p.name + ")"
		}
		return "fortran_addr(" + p.name + ")"
	case "vector":
		return "fortran_vector(" + p.name + ")"
	default: // any, out, object
		return "fortran_any(" + p.name + ")"
	}
}
