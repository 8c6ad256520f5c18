// Package docs holds no code: its tests check that the documents' links lead somewhere.
package docs

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// documents are all Markdown files of the tree, without their code.
func documents(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.md")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	texts := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(path.Join(root, name))
		if err != nil {
			continue // deleted, not yet committed
		}
		texts[name] = fence.ReplaceAllString(string(text), "")
	}
	if len(texts) < 20 {
		t.Fatalf("only %d documents", len(texts))
	}
	return texts
}

// anchor is the name that viewers give a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all[anchor(link.ReplaceAllString(m[1], "]"))] = true
	}
	return all
}

// TestLinksLead: each relative link of a document names a file of the tree, and a heading of it.
func TestLinksLead(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to, at, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, ":") {
				continue
			}
			file := name
			if to != "" {
				file = path.Join(path.Dir(name), to)
			}
			if _, err := os.Stat(path.Join(root, file)); err != nil {
				t.Errorf("%s: %s leads nowhere", name, m[1])
				continue
			}
			if there, ok := texts[file]; ok && at != "" && !anchors(there)[at] {
				t.Errorf("%s: %s: no such heading", name, m[1])
			}
		}
	}
}

// TestBookIsWhole: each page of the user's book is in its index.
func TestBookIsWhole(t *testing.T) {
	texts := documents(t)
	for name := range texts {
		if dir, file := path.Split(name); dir == "docs/user/" && file != "README.md" &&
			!strings.Contains(texts["docs/user/README.md"], "("+file+")") {
			t.Errorf("docs/user/README.md does not name %s", file)
		}
	}
}
