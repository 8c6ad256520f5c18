// Package core holds no code: this test keeps the layers of docs/dev/architecture.md as they are.
package core

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

type goPackage struct {
	ImportPath        string
	Imports           []string
	CgoFiles, GoFiles []string
	TestGoFiles       []string
	XTestGoFiles      []string
	IgnoredGoFiles    []string
	TestImports       []string
	Dir               string
}

func packages(t *testing.T) (all []goPackage) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json", "lapi/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for d.More() {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 15 {
		t.Fatalf("go list shows only %d packages", len(all))
	}
	return all
}

// links are the packages that implement a medium; none may know another.
var links = []string{"lapi/transport/self", "lapi/transport/shm", "lapi/transport/udp",
	"lapi/transport/verbs"}

// cgo says where import "C" is allowed; benchmarks have a library of their own.
var cgo = []string{"lapi/capi", "lapi/cmd/lapi_info", "lapi/cshim", "lapi/cshim/coll", "lapi/cshim/context", "lapi/cshim/cpu",
	"lapi/cshim/ctest/evd",
	"lapi/cshim/ctest/ends",
	"lapi/cshim/ctest/verbs",
	"lapi/cshim/dat", "lapi/cshim/dat/api", "lapi/cshim/dat/coll", "lapi/cshim/dat/dev",
	"lapi/cshim/dat/evd",
	"lapi/cshim/dat/rc", "lapi/cshim/fortran", "lapi/cshim/handlers", "lapi/cshim/ibv", "lapi/cshim/lane", "lapi/cshim/lapi", "lapi/cshim/link",
	"lapi/cshim/munge", "lapi/cshim/node", "lapi/cshim/packets", "lapi/cshim/pmix", "lapi/cshim/progress",
	"lapi/cshim/registry", "lapi/cshim/start", "lapi/transport/layout", "lapi/cshim/watch", "lapi/tests/bench/crossing"}

// parts says which parts of LAPI each part may import. The package lapi puts them together.
var parts = map[string][]string{
	"lapi/core/lapi/dgsm":       {"codes"},
	"lapi/core/lapi/host":       {"codes"},
	"lapi/core/lapi/vector":     {"codes", "wire"},
	"lapi/core/lapi/placed":     {"dgsm", "vector"},
	"lapi/core/lapi/peer":       {"codes", "wire"},
	"lapi/core/lapi/singlecopy": {"peer", "vector"},
	"lapi/core/lapi/handlers":   {"codes", "host", "peer"},
	"lapi/core/lapi/counter":    {"codes", "wire"},
	"lapi/core/lapi/faults":     {"codes", "host", "peer", "wire"},
	"lapi/core/lapi/send":       {"codes", "handlers", "peer", "placed", "vector", "wire"},
	"lapi/core/lapi/fence":      {"codes", "peer", "send", "wire"},
	"lapi/core/lapi/receive": {"codes", "dgsm", "faults", "handlers", "host", "peer", "placed",
		"send", "singlecopy", "vector", "wire"},
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		in := func(dir string) bool {
			return p.ImportPath == dir || strings.HasPrefix(p.ImportPath, dir+"/")
		}
		for _, imported := range p.Imports {
			uses := func(dir string) bool {
				return imported == dir || strings.HasPrefix(imported, dir+"/")
			}
			switch {
			case uses("lapi/capi"):
				t.Errorf("%s imports %s: nothing may", p.ImportPath, imported)
			case uses("lapi/cshim/node") && (in("lapi/cshim") || in("lapi/transport/shm")),
				uses("lapi/cshim/watch") && in("lapi/transport/verbs/internal/registration"),
				uses("lapi/cshim/dat/evd") && (in("lapi/capi") || in("lapi/core/dat")),
				uses("lapi/cshim/dat/coll") && in("lapi/core/dat"),
				uses("lapi/cshim/dat/rc") && p.ImportPath == "lapi/core/dat",
				uses("lapi/cshim/dat/dev") &&
					(p.ImportPath == "lapi/core/dat" || in("lapi/core/dat/device")),
				(uses("lapi/cshim/munge") || uses("lapi/cshim/ibv")) && in("lapi/cmd/lapi_info"),
				(uses("lapi/cshim/coll") || uses("lapi/cshim/pmix") || uses("lapi/cshim/munge") ||
					uses("lapi/cshim/ibv")) && in("lapi/capi"),
				uses("lapi/cshim/ibv") && in("lapi/tests/verbs/rig"):
			case uses("lapi/cshim") && imported != "lapi/cshim" && !in("lapi/cshim"),
				imported == "lapi/cshim" && !in("lapi/capi"):
				t.Errorf("%s imports %s: only capi may import cshim and its coll, munge, pmix "+
					"and ibv parts, only cshim the others, transport/shm the node part, "+
					"registration the watch part, and core/dat event queues, groups and engines",
					p.ImportPath,
					imported)
			case in("lapi/descriptor") && uses("lapi"):
				t.Errorf("%s imports %s: all may import it", p.ImportPath, imported)
			case in("lapi/transport") && uses("lapi/core"):
				t.Errorf("%s imports %s: transport knows nothing of core", p.ImportPath, imported)
			case in("lapi/core/settings") && uses("lapi"):
				t.Errorf("%s imports %s: all may import it", p.ImportPath, imported)
			case in("lapi/core/job/adapters") && uses("lapi"):
				t.Errorf("%s imports %s: job, which imports it, and lapirun bring what it needs",
					p.ImportPath, imported)
			case in("lapi/core/job") && uses("lapi/transport"),
				in("lapi/core/job") && uses("lapi/core/lapi"):
				t.Errorf("%s imports %s: job knows nothing of links and calls",
					p.ImportPath, imported)
			case (in("lapi/core/wireup") || in("lapi/core/progress")) && uses("lapi/core/lapi"):
				t.Errorf("%s imports %s: it serves any API", p.ImportPath, imported)
			case in("lapi/core/dat") && uses("lapi/core/lapi"),
				in("lapi/core/lapi") && uses("lapi/core/dat"):
				t.Errorf("%s imports %s: one API knows nothing of the other", p.ImportPath, imported)
			case in("lapi/core/dat/cm") && uses("lapi/transport"),
				(in("lapi/core/dat/rc") || in("lapi/core/dat/coll") ||
					in("lapi/core/dat/codes")) && uses("lapi/core"):
				t.Errorf("%s imports %s: it is a part that knows no other", p.ImportPath, imported)
			case in("lapi/core/dat/device") && uses("lapi/core") && !slices.Contains([]string{
				"lapi/core/dat/codes", "lapi/core/dat/rc",
				"lapi/core/progress"}, imported):
				t.Errorf("%s imports %s: it knows adapters, requests and results alone",
					p.ImportPath, imported)
			case in("lapi/core") && uses("lapi/core/lapi") && !in("lapi/core/lapi"):
				t.Errorf("%s imports %s: only capi and LAPI's own parts may",
					p.ImportPath, imported)
			case in("lapi/core/lapi") && p.ImportPath != "lapi/core/lapi" &&
				uses("lapi/core/lapi") &&
				!slices.Contains(parts[p.ImportPath],
					strings.TrimPrefix(imported, "lapi/core/lapi/")):
				t.Errorf("%s imports %s: it is to do without", p.ImportPath, imported)
			}
			for _, l := range links {
				for _, m := range links {
					if l != m && in(l) && uses(m) {
						t.Errorf("%s imports %s: a link knows no other", p.ImportPath, imported)
					}
				}
			}
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(cgo, p.ImportPath) {
			t.Errorf("%s uses cgo", p.ImportPath)
		}
	}
}

// TestMaps: the package comment of each part of core names every file of it, so that a newcomer
// finds the room. A package of one file is its own map.
func TestMaps(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != "lapi/core/lapi" &&
			!strings.HasPrefix(p.ImportPath, "lapi/core/lapi/") &&
			p.ImportPath != "lapi/core/wireup" && p.ImportPath != "lapi/core/progress" &&
			p.ImportPath != "lapi/core/dat/coll" && p.ImportPath != "lapi/core/dat/device" {
			continue
		}
		var doc string
		for _, f := range p.GoFiles {
			src, err := os.ReadFile(path.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			before, _, _ := strings.Cut(string(src), "\npackage ")
			doc += before
		}
		for _, f := range p.GoFiles {
			if len(p.GoFiles) > 1 && f != "doc.go" && !strings.Contains(doc, f) {
				t.Errorf("the comment of %s does not say what is in %s", p.ImportPath, f)
			}
		}
	}
}

// TestUnsafeFiles: in core and transport, unsafe is imported only by files whose name says so.
func TestUnsafeFiles(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, "lapi/core") &&
			!strings.HasPrefix(p.ImportPath, "lapi/transport") {
			continue
		}
		for _, f := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if strings.Contains(f, "_unsafe") || strings.HasSuffix(f, "_gen.go") {
				continue
			}
			src, err := os.ReadFile(path.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(src), "\t\"unsafe\"\n") ||
				strings.Contains(string(src), "import \"unsafe\"") {
				t.Errorf("%s/%s imports unsafe; its name should say so: _unsafe.go",
					p.ImportPath, f)
			}
		}
	}
}

// TestNoSIGPIPE: the program gets no SIGPIPE, and is not ended by one, for what the library writes:
// each send says so to the kernel, and lines go through say (capi).
func TestNoSIGPIPE(t *testing.T) {
	sends := 0
	for _, p := range packages(t) {
		part, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, "lapi/"), "/")
		if !slices.Contains([]string{"capi", "core", "transport"}, part) ||
			p.ImportPath == "lapi/transport/simnet" {
			continue
		}
		for _, f := range append(p.GoFiles, p.CgoFiles...) {
			src, err := os.ReadFile(path.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			text := string(src)
			for _, name := range []string{"os.Stderr", "os.Stdout", "unix.Sendto(", "unix.Writev("} {
				if strings.Contains(text, name) {
					t.Errorf("%s/%s uses %s", p.ImportPath, f, name)
				}
			}
			for _, rest := range strings.Split(text, "unix.Sendmsg")[1:] {
				sends++
				if call, _, _ := strings.Cut(rest, "\n}"); !strings.Contains(call, "MSG_NOSIGNAL") {
					t.Errorf("%s/%s sends without MSG_NOSIGNAL: %s", p.ImportPath, f, call)
				}
			}
		}
	}
	if sends < 4 {
		t.Errorf("only %d sends found", sends)
	}
}
