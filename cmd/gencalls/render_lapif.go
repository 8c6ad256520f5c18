package main

import (
	"fmt"
	"strings"
)

// fixedForm is the last column of a line in fixed form. No line is continued: no way of doing that
// suits fixed form of every length and free form.
const fixedForm = 72

// renderLapif returns lapif.h for a word size. It is fixed form and free form at once.
func renderLapif(s source, w word) string {
	var b strings.Builder
	fmt.Fprintf(&b, lapifHead, w, origin)
	rule(&b, "Kinds and kinds of numbers")
	for _, k := range s.kinds {
		fmt.Fprintf(&b, "      integer, parameter :: %s=%d\n", k.name, w.bytesOf(k.bytes))
	}
	rule(&b, "No address, and the DGSP of contiguous bytes: variables, never to be changed")
	fmt.Fprintf(&b, "      integer(%[1]d) LAPI_ADDR_NULL, LAPI_BYTE\n      common /%[2]s/ LAPI_ADDR_NULL, LAPI_BYTE\n      save /%[2]s/\n",
		w/8, commonBlock)
	rule(&b, "Constants")
	for _, c := range s.constants {
		fmt.Fprintf(&b, "      integer(%d), parameter :: %s=%s\n", constantBytes(c.name, w), c.name,
			literal(c, w, s.types))
	}
	rule(&b, "Types")
	for _, t := range s.types {
		renderType(&b, t, w)
	}
	rule(&b, "Subroutines")
	for _, prefix := range []string{"LAPI_", "PLAPI_"} {
		for _, c := range fortranCalls(s.calls) {
			renderInterface(&b, prefix, c, w)
		}
	}
	return b.String()
}

// lapifHead heads the file; its arguments are the word size and the origin.
const lapifHead = `! lapif.h - LAPI for Fortran programs, %d-bit. %s
!
! include 'lapif.h' in each program unit that calls LAPI, in fixed or free form, behind IMPLICIT and before other declarations.
! What a call does and returns is said in lapi.h and the man pages; what is different in Fortran, in docs/fortran.md. In short:
! - ierror, the last argument, gets the return code.
! - Buffers, counters and commands are the variables themselves; LAPI_ADDR_NULL in their place is no variable.
! - Arguments of KIND=LAPI_ADDR_TYPE hold addresses, which LAPI_ADDRESS tells and LAPI_ADDRESS_INIT exchanges; 0 is none.
! - Handlers are external procedures with the parameters of C by reference; a header handler is an INTEGER(LAPI_ADDR_TYPE) FUNCTION.
`

func rule(b *strings.Builder, title string) { fmt.Fprintf(b, "!\n! ---- %s ----\n!\n", title) }

// constantBytes returns the kind of a constant: 4 but for lengths and thread ids.
func constantBytes(name string, w word) int {
	if name == "LAPI_MAX_MSG_SZ" || name == "LAPI_NULL_THREAD_ID" {
		return int(w) / 8
	}
	return 4
}

// literal returns a constant's value as Fortran writes it: there are no unsigned numbers, and the
// lowest has no literal.
func literal(c constant, w word, types []structure) string {
	v := c.valueFor(w, types)
	if constantBytes(c.name, w) == 8 {
		return fmt.Sprintf("%d_8", v)
	}
	if v >= 1<<31 {
		v -= 1 << 32
	}
	if v == -1<<31 {
		return "-2147483647-1"
	}
	return fmt.Sprint(v)
}

func renderType(b *strings.Builder, t structure, w word) {
	fmt.Fprintf(b, "      type %s\n      sequence\n", t.name)
	for _, m := range t.membersFor(w) {
		of := fmt.Sprintf("integer(%d)", w.bytesOf(m.bytes))
		if m.inner != "" {
			of = "type(" + m.inner + ")"
		}
		array := ""
		if m.count > 0 {
			array = fmt.Sprintf("(%d)", m.count)
		}
		fmt.Fprintf(b, "      %s :: %s%s\n", of, m.name, array)
	}
	fmt.Fprintf(b, "      end type %s\n", t.name)
}

// renderInterface writes the interface of one subroutine. The interface of a subroutine that takes
// a procedure or a variable is generic: the name with an underscore more is the same entry point
// under another of its names.
func renderInterface(b *strings.Builder, prefix string, c call, w word) {
	name := prefix + strings.ToUpper(c.name)
	if !c.takesProcedure() {
		b.WriteString("      interface\n")
		renderSubroutine(b, name, c, w, false)
	} else {
		fmt.Fprintf(b, "      interface %s\n", name)
		renderSubroutine(b, name, c, w, false)
		renderSubroutine(b, name+"_", c, w, true)
	}
	b.WriteString("      end interface\n")
}

// renderSubroutine writes an interface body. Names of its own for the parameters where all fit the
// line, else letters.
func renderSubroutine(b *strings.Builder, name string, c call, w word, procedure bool) {
	parameters := c.parameters()
	var names, letters []string
	for i, p := range parameters {
		names, letters = append(names, p.name), append(letters, string(rune('a'+i)))
	}
	first := subroutineLine(name, names)
	if len(first) > fixedForm {
		fmt.Fprintf(b, "! %s(%s, ierror)\n", name, strings.Join(names, ", "))
		names = letters
		first = subroutineLine(name, names)
	}
	b.WriteString(first + "\n")
	b.WriteString(declare(names, parameters, w, procedure))
	b.WriteString("      end subroutine\n")
}

func subroutineLine(name string, parameters []string) string {
	return fmt.Sprintf("      subroutine %s(%s,ierror)", name, strings.Join(parameters, ","))
}

// declare returns the lines that declare a subroutine's parameters; with procedure, those that may
// be one are.
func declare(names []string, parameters []parameter, w word, procedure bool) string {
	anything, integers := []string{}, []string{}
	var b strings.Builder
	for i, p := range parameters {
		mayBe := p.kind == "handler" || p.kind == "object"
		switch {
		case mayBe && procedure:
			fmt.Fprintf(&b, "      external :: %s\n", names[i])
		case p.kind == "any" || p.kind == "vector" || p.kind == "object":
			anything = append(anything, names[i])
		case p.kind == "int":
			integers = append(integers, names[i])
		case p.kind == "text":
			fmt.Fprintf(&b, "      character(1) :: %s(*)\n", names[i])
		default: // long, addr, out, handler
			fmt.Fprintf(&b, "      integer(%d) :: %s\n", w/8, names[i])
		}
	}
	fmt.Fprintf(&b, "      integer(4) :: %s\n", strings.Join(append(integers, "ierror"), ","))
	if len(anything) > 0 {
		b.WriteString(ofAnyType(anything))
	}
	return b.String()
}

// ofAnyType declares parameters whose type and rank the compiler shall not look at. Compilers that
// do not know one of the directives take it for a comment.
func ofAnyType(names []string) string {
	list := strings.Join(names, ",")
	var b strings.Builder
	for _, directive := range []string{"GCC$ ATTRIBUTES NO_ARG_CHECK ::",
		"DEC$ ATTRIBUTES NO_ARG_CHECK ::", "DIR$ IGNORE_TKR", "IBM* IGNORE_TKR"} {
		fmt.Fprintf(&b, "!%s %s\n", directive, list)
	}
	fmt.Fprintf(&b, "      integer(4), dimension(*) :: %s\n", list)
	return b.String()
}
