package core

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cParts says which parts of cshim each part may include, and what for. The include lines are read
// rather than gcc asked: a line names the part's folder, and -MM would add what that part includes
// in turn, which is no arrow of the includer's.
var cParts = map[string]map[string]string{
	"coll":    {"cpu": "what processors have"},
	"context": {"cpu": "marks of shared words", "progress": "the block begins with progress's", "start": "core's first call"},
	"cpu":     {},
	"dat":     {"dat/evd": "handles, the block"},
	"dat/api": {"dat": "the block, core", "dat/coll": "posts", "dat/dev": "posts in place", "dat/evd": "waits, dequeues",
		"dat/rc": "posts, turns", "node": "guarded arguments", "progress": "lock, waits",
		"registry": "adapters of other providers", "start": "core's first call"},
	"dat/coll": {"coll": "reductions", "cpu": "marks of shared words", "dat": "handles, core", "dat/evd": "events",
		"ibv": "queue pairs to members on other nodes", "node": "copies"},
	"dat/dev": {"dat": "posts, events"},
	"dat/evd": {"cpu": "marks of shared words", "progress": "the block is one of progress's"},
	"dat/rc": {"cpu": "marks of shared words", "dat": "the lane, core", "dat/coll": "a turn goes on with groups",
		"dat/dev": "posts to adapters, their completions", "dat/evd": "events", "node": "rings, copies"},
	"fortran": {"context": "calls enter it", "handlers": "procedures as arguments",
		"lapi": "LAPI_BYTE", "node": "guarded arguments"},
	"handlers": {"context": "whose handlers run", "node": "guarded copies",
		"progress": "handler threads sleep"},
	"ibv": {},
	"lane": {"context": "whose messages these are", "handlers": "header handlers run",
		"node": "rings", "packets": "packets over adapters", "progress": "waits"},
	"lapi": {"context": "calls enter it", "handlers": "errors, completions", "lane": "the fast path",
		"node": "the barrier, guarded memory", "progress": "waits"},
	"link": {"cpu": "the least page", "context": "whether this is a forked child", "handlers": "whose operation an error is of",
		"lane": "a look at the rings before progress returns",
		"lapi": "LAPI's read-modify-write with more operations",
		"node": "guarded copies of messages"},
	"munge":    {},
	"node":     {"cpu": "pauses"},
	"packets":  {"ibv": "queue pairs, completions"},
	"pmix":     {},
	"progress": {"cpu": "pauses, processors"},
	"registry": {"cpu": "the least page", "node": "guarded pointers", "progress": "messages",
		"registry/provider": "what the object's table says"},
	"registry/provider": {},
	"start":             {"node": "the guard's handler", "progress": "signals, messages"},
	"watch":             {"cpu": "marks of shared words"},
}

// cContracts are the headers of a room of uDAPL that others may include; the rest is its own. No
// room includes api.
var cContracts = map[string][]string{
	"dat/api":  nil,
	"dat/coll": {"dat/coll/coll.h"},
	"dat/dev":  {"dat/dev/dev.h", "dat/dev/quick.h"},
	"dat/evd":  {"dat/evd/evd.h"},
	"dat/rc":   {"dat/rc/rc.h"},
	"registry": {"registry/registry.h"},
}

// cInclude is a line of a C file, or of the C in a Go file.
var cInclude = regexp.MustCompile(`(?m)^(?://)?\s*#\s*include\s+([<"])([^>"]+)[>"]`)

// cIncludes returns which parts of cshim each part includes, and where. Tests may include anything;
// shared.h is what the Go side sees of all parts.
func cIncludes(t *testing.T) map[string]map[string]string {
	t.Helper()
	const root = "../cshim"
	arrows := map[string]map[string]string{}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		part := path.Dir(filepath.ToSlash(name))
		if d.IsDir() && slices.Contains([]string{"ctest", "model", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".c", ".h", ".go"}, path.Ext(name)) {
			return nil
		}
		if _, err := os.Stat(path.Join("../include", name)); err == nil {
			t.Errorf("cshim/%s and include/%s: one include line names either", name, name)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		inside := part != "."
		if inside && arrows[part] == nil {
			arrows[part] = map[string]string{}
		}
		for _, m := range cInclude.FindAllStringSubmatch(string(src), -1) {
			header := m[2]
			_, missing := os.Stat(path.Join(root, header))
			to := path.Dir(header)
			contracts, room := cContracts[to]
			switch {
			case m[1] == "<":
				if missing == nil {
					t.Errorf("cshim/%s includes <%s>: cshim's own headers stand in quotes",
						name, header)
				}
			case missing != nil || to == "." || strings.HasPrefix(header, "."):
				t.Errorf("cshim/%s includes %q: an include names the folder of its header, from "+
					"cshim on", name, header)
			case inside && to != part:
				arrows[part][to] = name + " includes " + header
				if room && !slices.Contains(contracts, header) {
					t.Errorf("cshim/%s includes %s, which is %s's own", name, header, to)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return arrows
}

// TestCParts: each part of cshim includes exactly the parts that cParts names. There is no circle.
func TestCParts(t *testing.T) {
	arrows := cIncludes(t)
	if !slices.Equal(slices.Sorted(maps.Keys(arrows)), slices.Sorted(maps.Keys(cParts))) {
		t.Errorf("the parts are %v, those of the table %v", slices.Sorted(maps.Keys(arrows)),
			slices.Sorted(maps.Keys(cParts)))
	}
	for part, uses := range arrows {
		for to, where := range uses {
			if cParts[part][to] == "" {
				t.Errorf("cshim/%s: %s does without %s", where, part, to)
			}
		}
		for to := range cParts[part] {
			if uses[to] == "" {
				t.Errorf("%s does not include %s any more: the table need not allow it", part, to)
			}
		}
	}
	if circle := circleOf(arrows); circle != nil {
		t.Errorf("a circle: %s", strings.Join(circle, " -> "))
	}
}

// circleOf returns a circle, its first part at the end once more; nil: there is none.
func circleOf(arrows map[string]map[string]string) []string {
	over := map[string]bool{}
	var look func(way []string, part string) []string
	look = func(way []string, part string) []string {
		if i := slices.Index(way, part); i >= 0 {
			return append(slices.Clone(way[i:]), part)
		}
		if over[part] {
			return nil
		}
		over[part] = true
		for _, to := range slices.Sorted(maps.Keys(arrows[part])) {
			if circle := look(append(way, part), to); circle != nil {
				return circle
			}
		}
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(arrows)) {
		if circle := look(nil, part); circle != nil {
			return circle
		}
	}
	return nil
}

func TestCircleOf(t *testing.T) {
	all := func(parts ...string) map[string]string {
		to := map[string]string{}
		for _, p := range parts {
			to[p] = "somewhere"
		}
		return to
	}
	straight := map[string]map[string]string{"a": all("b", "c"), "b": all("c"), "c": nil}
	if circle := circleOf(straight); circle != nil {
		t.Errorf("a circle without one: %v", circle)
	}
	straight["c"] = all("b")
	if circle := circleOf(straight); !slices.Equal(circle, []string{"b", "c", "b"}) {
		t.Errorf("b and c know each other; found %v", circle)
	}
}
