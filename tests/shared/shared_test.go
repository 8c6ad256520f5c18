package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each line of C uses the member word once or twice.
var lines = []struct {
	c     string
	uses  int
	plain bool
}{
	{"x = __atomic_load_n(&p->word, __ATOMIC_RELAXED);", 1, false},
	{"x = __atomic_load_n(&at(p->q)->list[p->i.j].word, __ATOMIC_ACQUIRE);", 1, false},
	{"__atomic_store_n(&p->word, CSHIM_OWN(p->word) + 1, __ATOMIC_RELEASE);", 2, false},
	{"__atomic_store_n(&p->word, p->word + 1, __ATOMIC_RELEASE);", 2, true},
	{"__atomic_store_n(&p->other, p->word, __ATOMIC_RELEASE);", 1, true},
	{"x = p->word;", 1, true},
	{"if (a && p->word)", 1, true},
	{"p->word++;", 1, true},
	{"f(&p->word);", 1, true},
	{"cshim_futex_wait(&p->word, x, -1);", 1, false},
	{"STORE(p->word, 1);", 1, false},
	{"PLAIN(p->word, 1);", 1, true},
	{"x = LOOK(word);", 1, false},
	{"x = offsetof(thing, word);", 1, false},
	{"uint32_t *w = &p->word; __atomic_load_n(w, __ATOMIC_RELAXED);", 1, false},
	{"uint32_t *w = &p->word; x = *w;", 1, true},
	// Of another struct, which is not marked.
	{"x = __atomic_load_n(&at(p->own.word)->word, __ATOMIC_ACQUIRE);", 1, false},
}

func TestPlainUsesInC(t *testing.T) {
	const before = "#define STORE(w, v) __atomic_store_n(&(w), (v), __ATOMIC_RELAXED)\n" +
		"#define LOOK(m) __atomic_load_n(&p->m, __ATOMIC_RELAXED)\n" +
		"#define PLAIN(w, v) ((w) = (v))\nvoid g(thing *p)\n{\n\t"
	for _, l := range lines {
		why := judge(before+l.c+"\n}\n", strings.Count(before, "\n")+1, "word", l.uses)
		if (why != "") != l.plain {
			t.Errorf("%s: %q", l.c, why)
		}
	}
}

func TestCompilerNamesTheUses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.c")
	source := "#include <stdint.h>\n#define CSHIM_SHARED __attribute__((deprecated))\n" +
		"typedef struct thing { CSHIM_SHARED uint32_t word, other; } thing;\n" +
		"uint32_t f(thing *p)\n{\n\treturn p->word +\n\t       p->other;\n}\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	uses, err := askCompiler([]string{file})
	if err != nil || len(uses) != 2 || uses[use{file, 6, "word"}] != 1 || uses[use{file, 7, "other"}] != 1 {
		t.Errorf("%v, %v", uses, err)
	}
}

func TestMarksAreRead(t *testing.T) {
	w := wordSet{}
	w.read("typedef struct a {\n\tCSHIM_SHARED uint64_t one, two[2]; /* x; */\n\tuint32_t no;\n} a;\n" +
		"struct b {\n\tCSHIM_SHARED uint32_t three;\n};\n")
	if got := strings.Join(w.names(), " "); got != "a.one a.two b.three" {
		t.Error(got)
	}
}

func TestConditionsOnTheProcessor(t *testing.T) {
	for line, is := range map[string]bool{
		"#if defined(__x86_64__)": true, "  #  ifdef __aarch64__": true, "#elif __powerpc64__": true,
		"#ifdef __SANITIZE_THREAD__": false, "/* __x86_64__ */": false, "#if UINTPTR_MAX > 5": false,
	} {
		if condition.MatchString(line) != is {
			t.Error(line)
		}
	}
}

// docs/dev/memory-order.md names each marked word, and no other, in its tables.
func TestEachWordHasItsLineInTheDocument(t *testing.T) {
	words, err := marked("../../cshim")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/dev/memory-order.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		for _, m := range regexp.MustCompile("`(\\w+\\.\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = true
		}
	}
	for _, name := range words.names() {
		if !documented[name] {
			t.Errorf("%s has no line", name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s is not marked CSHIM_SHARED", name)
	}
}
