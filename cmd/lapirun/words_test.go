package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for s, want := range map[string][]string{
		"":                             nil,
		" \t\n":                        nil,
		"ip netns exec a":              {"ip", "netns", "exec", "a"},
		" env  X=Y\tZ=1\n":             {"env", "X=Y", "Z=1"},
		`a 'b c' "d e" f\ g`:           {"a", "b c", "d e", "f g"},
		`X='1 2'"3 4"5`:                {"X=1 23 45"},
		`'' ""`:                        {"", ""},
		`"a\"b\\c\$d\e" 'a\b'`:         {`a"b\c$d\e`, `a\b`},
		"a\\\nb \\\n c \"d\\\ne\"":     {"ab", "c", "de"},
		`sh -c 'exec "$0" "$@"' $HOME`: {"sh", "-c", `exec "$0" "$@"`, "$HOME"},
		"a#b #c ä":                     {"a#b", "#c", "ä"},
	} {
		if got, err := splitWords(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", s, got, err, want)
		}
	}
	for s, says := range map[string]string{`a 'b`: "'", `a "b`: `"`, `a "b\"`: `"`,
		`a\`: "backslash", `"a'`: `"`} {
		if got, err := splitWords(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// FuzzSplitWords: words written in quotes are read back as they were, and nothing is made up.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"", "ip netns exec a", `a 'b c' "d\"e" f\ g`, "'", `"`, `\`, "\\\n",
		"''", "a\\\n\n''b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		var quoted []string
		total := 0
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
			total += len(w)
		}
		if again, err := splitWords(strings.Join(quoted, " ")); err != nil ||
			!slices.Equal(again, words) {
			t.Fatalf("%q gives %q, but in quotes %q, %v", s, words, again, err)
		}
		if total > len(s) {
			t.Fatalf("%q gives %q", s, words)
		}
	})
}

// A shell splits in the same way where it has nothing to expand.
func TestSplitsAsShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("skipped: no sh")
	}
	for _, s := range []string{`a 'b c' "d e" f\ g`, `X='1 2'"3 4"5 '' ""`, `"a\"b\\c\$d\e" 'a\b'`,
		"a\\\nb \\\n c \"d\\\ne\"", `\a\'\"\\ "'" '"'`} {
		out, err := exec.Command(sh, "-c", `printf '%s\0' `+s).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if got, err := splitWords(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; sh has %q", s, got, err, want)
		}
	}
}
