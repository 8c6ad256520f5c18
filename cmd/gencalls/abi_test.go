package main

import (
	"regexp"
	"strings"
	"testing"
)

// The ABI golden is only worth something if it has everything that the headers define: these tests
// read the headers as text and look each name up in the golden.

// abiGolden is the golden of the machine it was first written on; its names are those of every
// machine.
const abiGolden = "tests/c/abi/x86_64.golden"

// notABI are macros of the headers that programs do not use.
var notABI = map[string]bool{"LAPI_H": true, "CSS_SHARED_H": true, "LAPI_EXTENSION": true,
	"LAPI_ALIGN8": true, "LAPI_CAST": true}

// goldenNames returns the names in the golden by kind: "value LAPI_ERR_TGT", "member lapi_am_t.tgt"
// and so on.
func goldenNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(read(t, abiGolden)), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		name := regexp.MustCompile(`^(struct )?[\w.]+`).FindString(rest)
		names[kind+" "+name] = true
	}
	return names
}

// headerText returns both headers without comments.
func headerText(t *testing.T) string {
	text := read(t, "include/css_shared.h") + read(t, "include/lapi.h")
	return regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, " ")
}

func TestGoldenHasEveryConstant(t *testing.T) {
	golden, text, n := goldenNames(t), headerText(t), 0
	check := func(name string) {
		n++
		if !golden["value "+name] {
			t.Errorf("%s is in the headers, but not in %s", name, abiGolden)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)`).FindAllStringSubmatch(text, -1) {
		if !notABI[m[1]] {
			check(m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?s)typedef enum \{(.*?)\}`).FindAllStringSubmatch(text,
		-1) {
		for _, enumerator := range strings.Split(m[1], ",") {
			check(regexp.MustCompile(`\w+`).FindString(enumerator))
		}
	}
	if n < 300 {
		t.Errorf("found only %d constants in the headers: this test no longer understands them", n)
	}
}

func TestGoldenHasEveryType(t *testing.T) {
	golden, n := goldenNames(t), 0
	// never closed, as far as the next loop knows
	text := strings.ReplaceAll(headerText(t), `extern "C" {`, "")
	// The last word before the semicolon of a typedef, or a function type's name.
	bodies := regexp.MustCompile(`(?s)\{[^{}]*\}`)
	for bodies.MatchString(text) {
		text = bodies.ReplaceAllString(text, "")
	}
	inParentheses, plain := regexp.MustCompile(`\(\*?(\w+)\)\(`), regexp.MustCompile(`(\w+)\(`)
	for _, m := range regexp.MustCompile(`typedef ([^;]+);`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`\w+$`).FindString(m[1])
		if f := inParentheses.FindStringSubmatch(m[1]); f != nil {
			name = f[1]
		} else if f := plain.FindStringSubmatch(m[1]); f != nil {
			name = f[1]
		}
		n++
		if !golden["type "+name] && !golden["number "+name] {
			t.Errorf("type %s is in the headers, but not in %s", name, abiGolden)
		}
	}
	if n < 90 {
		t.Errorf("found only %d types in the headers: this test no longer understands them", n)
	}
}

func TestGoldenHasEveryMember(t *testing.T) {
	golden, n := goldenNames(t), 0
	text := regexp.MustCompile(`LAPI_EXTENSION|LAPI_ALIGN8`).ReplaceAllString(headerText(t), "")
	structure :=
		regexp.MustCompile(`(?ms)^(?:typedef (?:struct|union)|(struct \w+)) \{(.*?)^\} ?(\w*);`)
	for _, s := range structure.FindAllStringSubmatch(text, -1) {
		owner := s[1] + s[3]
		// An unnamed union's members are the structure's; a named one's carry its name.
		body := regexp.MustCompile(`(?s)union \{([^{}]*)\}(\s*\w*);`).ReplaceAllStringFunc(s[2],
			func(u string) string {
				m := regexp.MustCompile(`(?s)union \{([^{}]*)\}\s*(\w*);`).FindStringSubmatch(u)
				if m[2] == "" {
					return m[1]
				}
				return regexp.MustCompile(`(\w+);`).ReplaceAllString(m[1], m[2]+".$1;") +
					" union " +
					m[2] + ";"
			})
		for _, m := range regexp.MustCompile(`([\w.]+)\s*(?:\[\d+\])?\s*;`).FindAllStringSubmatch(
			body, -1) {
			n++
			if !golden["member "+owner+"."+m[1]] {
				t.Errorf("member %s.%s is in the headers, but not in %s", owner, m[1], abiGolden)
			}
		}
	}
	if n < 300 {
		t.Errorf("found only %d members in the headers: this test no longer understands them", n)
	}
}
