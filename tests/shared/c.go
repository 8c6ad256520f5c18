package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// lookAtC judges the uses in C. Which they are gcc says, which knows the types: in this build a
// marked member is deprecated. It names the line, and the text there says how the word is used.
func lookAtC(wordSet) ([]finding, int, error) {
	files, err := sources("cshim", ".c")
	if err != nil {
		return nil, 0, err
	}
	uses, err := askCompiler(files)
	var found []finding
	texts := map[string]string{}
	for u, n := range uses {
		if texts[u.file] == "" {
			b, err := os.ReadFile(u.file)
			if err != nil {
				return nil, 0, err
			}
			texts[u.file] = string(b)
		}
		if why := judge(texts[u.file], u.line, u.member, n); why != "" {
			found = append(found, finding{u.file, u.line, u.member + " " + why})
		}
	}
	return found, len(uses), err
}

// sources are the product's files below a folder; tests, and what needs cgo's header, are not.
func sources(root string, suffixes ...string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "ctest" || d.Name() == "testdata" || d.Name() == "model") {
			return filepath.SkipDir
		}
		for _, s := range suffixes {
			if strings.HasSuffix(file, s) && !strings.HasSuffix(file, "_test.go") {
				files = append(files, file)
			}
		}
		return nil
	})
	return files, err
}

type use struct {
	file   string
	line   int
	member string
}

// The names are between quotation marks of any kind.
var deprecated = regexp.MustCompile(`(?m)^([^:\n]+):(\d+):\d+: warning: \W+(\w+)\W+ is deprecated`)

// askCompiler counts the uses of each line, the most that one file of those sees there.
func askCompiler(files []string) (map[use]int, error) {
	uses := map[use]int{}
	var first error
	var lock sync.Mutex
	var all sync.WaitGroup
	slots := make(chan bool, runtime.NumCPU())
	for _, file := range files {
		all.Add(1)
		slots <- true
		go func() {
			defer all.Done()
			var said bytes.Buffer
			cmd := exec.Command("gcc", "-fsyntax-only", "-std=gnu11", "-DCSHIM_FIND_SHARED",
				"-Wdeprecated-declarations", "-Icshim", "-Iinclude", file)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			cmd.Stderr = &said
			err := cmd.Run()
			<-slots
			lock.Lock()
			defer lock.Unlock()
			if err != nil && first == nil {
				first = fmt.Errorf("gcc %s: %w\n%s", file, err, said.Bytes())
			}
			here := map[use]int{}
			for _, m := range deprecated.FindAllStringSubmatch(said.String(), -1) {
				line, _ := strconv.Atoi(m[2])
				here[use{filepath.Clean(m[1]), line, m[3]}]++
			}
			for u, n := range here {
				uses[u] = max(uses[u], n)
			}
		}()
	}
	all.Wait()
	return uses, first
}

// Functions that take the address of a word and use it atomically.
var takers = map[string]bool{
	"cshim_futex_wait": true, "cshim_futex_wake": true, "cshim_futex_wait_until": true,
	"node_await_copy": true, "post_words": true, "cshim_prefetch_to_write": true, "offsetof": true, "sizeof": true,
}

// judge says what is wrong with n uses of a member in a line, where members of other structs may have
// the same name; "": nothing.
func judge(text string, line int, member string, n int) string {
	begin := 0
	for range line - 1 {
		begin += strings.IndexByte(text[begin:], '\n') + 1
	}
	end := len(text)
	if n := strings.IndexByte(text[begin:], '\n'); n >= 0 {
		end = begin + n
	}
	at := regexp.MustCompile(`(->|\.)`+member+`\b`).FindAllStringIndex(text[begin:end], -1)
	why := ""
	for _, a := range at {
		if one := judgeOne(text, begin+a[0]); one == "" {
			n--
		} else {
			why = one
		}
	}
	// offsetof(type, member), and macros that add the arrow to a member's name
	for _, a := range regexp.MustCompile(`\b(\w+)\((?:\w+, )?`+member+`\b`).FindAllStringSubmatch(
		text[begin:end], -1) {
		if a[1] == "offsetof" || isAtomicMacro(text, a[1]) {
			n--
		}
	}
	if n <= 0 {
		return ""
	}
	return cmp.Or(why, "is used where its name is not written")
}

// judgeOne looks at a use whose arrow or dot is at a place.
func judgeOne(text string, at int) string {
	begin := expression(text, at)
	before := strings.TrimRight(text[:begin], " \t\n")
	addressed := strings.HasSuffix(before, "&") && !strings.HasSuffix(before, "&&")
	if addressed {
		before = strings.TrimRight(before[:len(before)-1], " \t\n")
	}
	callee, first := call(before)
	switch {
	case callee == "CSHIM_OWN", takers[callee] && (addressed || callee == "sizeof"):
		return ""
	case strings.HasPrefix(callee, "__atomic_") && addressed && first:
		return ""
	case callee != "" && !addressed && first && isAtomicMacro(text, callee):
		return ""
	case addressed && strings.HasSuffix(before, "="):
		return alias(text, before, at)
	}
	return "is used plainly"
}

// expression is where the operand of an arrow or dot begins.
func expression(text string, at int) int {
	for at > 0 {
		if text[at] == '.' || text[at] == '-' { // it may begin a line
			at = len(strings.TrimRight(text[:at], " \t\n"))
		}
		switch c := text[at-1]; {
		case c == ')' || c == ']':
			at = opening(text, at-1)
		case c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
			c >= 'A' && c <= 'Z' || c == '>' && at > 1 && text[at-2] == '-':
			at--
			if c == '>' {
				at--
			}
		default:
			return at
		}
	}
	return at
}

// opening is the place of the bracket that belongs to a closing one.
func opening(text string, at int) int {
	depth := 0
	for ; at > 0; at-- {
		switch text[at] {
		case ')', ']':
			depth++
		case '(', '[':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return at
}

var lastName = regexp.MustCompile(`(\w+)$`)

// call is the function or macro whose argument comes next, and whether that is its first.
func call(before string) (string, bool) {
	depth, first := 0, true
	for i := len(before) - 1; i >= 0; i-- {
		switch before[i] {
		case ')', ']':
			depth++
		case ';', '{', '}':
			return "", false
		case ',':
			first = first && depth > 0
		case '(', '[':
			if depth--; depth < 0 {
				if strings.TrimSpace(before[i+1:]) != "" {
					first = false
				}
				return lastName.FindString(before[:i]), first
			}
		}
	}
	return "", false
}

// isAtomicMacro says whether a macro of this file hands its argument to an atomic builtin.
func isAtomicMacro(text, name string) bool {
	return regexp.MustCompile(`(?m)^#define ` + name + `\(.*__atomic_`).MatchString(text)
}

var pointer = regexp.MustCompile(`\*\s*(\w+)\s*=$`)

// alias judges `type *name = &word;`: in the rest of the function name is an atomic operand only.
func alias(text, before string, at int) string {
	m := pointer.FindStringSubmatch(before)
	if m == nil {
		return "has its address taken, and nobody sees what for"
	}
	rest := text[at:]
	if n := strings.Index(rest, "\n}"); n >= 0 {
		rest = rest[:n]
	}
	rest = rest[strings.IndexAny(rest, ",;")+1:]
	for _, a := range regexp.MustCompile(`\b`+m[1]+`\b`).FindAllStringIndex(rest, -1) {
		before := strings.TrimRight(rest[:a[0]], " \t\n")
		callee, first := call(before)
		if !takers[callee] && !(strings.HasPrefix(callee, "__atomic_") && first) &&
			!strings.HasSuffix(before, "return") {
			return "is used plainly by " + m[1]
		}
	}
	return ""
}
