package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindsEachKind: each kind is found in each form of text, also where a line breaks in it.
func TestFindsEachKind(t *testing.T) {
	phrases := map[string]string{
		"who":          "Who waits, sleeps.",
		"to-who":       "It is for who waits.",
		"what":         "What is left, goes.",
		"one-that":     "This is one that waits.",
		"what-is-none": "It ends what is no task.",
		"of-before":    "The lock of before is free.",
		"told":         "The peer is told.",
		"heard":        "The peer hears of it.",
		"so-many":      "One time in so many.",
		"comes-to-be":  "A lane comes to be.",
		"generation":   "The epoch is over.",
		"his":          "It is his turn.",
		"lend":         "The ring is lent.",
		"rests":        "The lane rests.",
		"detour":       "It takes a detour.",
	}
	forms := map[string]string{
		"a.go":     "package a\n\n// Text. %s\nvar x = '\"'\n",
		"b.go":     "package a\n\nvar x = \"Text. %s\"\n",
		"c.c":      "/* Text.\n * %s */\nint x;\n",
		"d.h":      "int x; // Text. %s\n",
		"e.md":     "# Title\n\nText. %s\n",
		"f.sh":     "#!/bin/sh\n# Text. %s\ntrue\n",
		"lapi.man": ".PP\nText. %s\n",
	}
	for _, k := range kinds {
		text, ok := phrases[k.name]
		if !ok {
			t.Errorf("no phrase of the kind %s", k.name)
		}
		for name, form := range forms {
			hits := lookInto(name, strings.Replace(form, "%s", text, 1))
			if len(hits) != 1 || hits[0].kind != k.name {
				t.Errorf("%s: %s: found %v", k.name, name, hits)
			}
		}
		for at := range text {
			if text[at] != ' ' {
				continue
			}
			broken := "// Text. " + text[:at] + "\n// " + text[at+1:] + "\n"
			if hits := lookInto("dir/x.go", broken); len(hits) != 1 || hits[0].folder != "dir" ||
				(hits[0].where != "dir/x.go:1" && hits[0].where != "dir/x.go:2") {
				t.Errorf("%s: in two lines: found %v", k.name, hits)
			}
		}
	}
}

// TestLeavesPlainTextAlone: questions, titles, code and plain sentences are no hits.
func TestLeavesPlainTextAlone(t *testing.T) {
	for name, text := range map[string]string{
		"a.go":     "package a\n\n// A waiting thread sleeps.\nvar told, epoch = one(that)\n",
		"b.md":     "## What works\n\n| What | is it |\n\nWho pays for it? What is it?\n",
		"c.c":      "int of, before; char told = '\"', lent = '\"';\n",
		"d.md":     "```\nthe epoch of before\n```\n",
		"e.go":     "package a\n\n// It is of\n\n// before the list.\n",
		"threads.": "Peers who left are gone.\n",
	} {
		if hits := lookInto(name, text); len(hits) != 0 {
			t.Errorf("%s: found %v", name, hits)
		}
	}
}

// TestFailsWhenACountDiffers: one more phrase is reported with its place, one less asks for
// `make dialect`, and the same counts pass.
func TestFailsWhenACountDiffers(t *testing.T) {
	before := counts{"a": {"told": 2}, "b": {"his": 1}}
	hits := []hit{{"a", "told", "a/x.go:7", "told of it"}}
	for _, c := range []struct {
		now  counts
		well bool
		say  string
	}{
		{counts{"a": {"told": 2}, "b": {"his": 1}}, true, ""},
		{counts{"a": {"told": 3}, "b": {"his": 1}}, false, "a/x.go:7: told of it"},
		{counts{"a": {"told": 2}, "b": {"his": 1}, "c": {"lend": 1}}, false, "c has 1"},
		{counts{"a": {"told": 1}, "b": {"his": 1}}, false, "make dialect"},
	} {
		var out bytes.Buffer
		if well := compare(&out, c.now, before, hits); well != c.well ||
			!strings.Contains(out.String(), c.say) {
			t.Errorf("%v: %v, %s", c.now, well, out.String())
		}
	}
}

// TestRewritesUnlessAKindHasGrown: phrases may move between folders, but not become more.
func TestRewritesUnlessAKindHasGrown(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	before := counts{"a": {"told": 2}}
	moved := counts{"a": {"told": 1}, "b": {"told": 1}}
	var out bytes.Buffer
	if rewrite(&out, counts{"a": {"told": 2}, "b": {"told": 1}}, before, nil) {
		t.Error("rewrote grown counts")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("wrote the file all the same")
	}
	if !rewrite(&out, moved, before, nil) {
		t.Fatalf("did not rewrite: %s", out.String())
	}
	read, err := load(file)
	if err != nil || !compare(&out, moved, read, nil) {
		t.Errorf("read %v, %v: %s", read, err, out.String())
	}
}
