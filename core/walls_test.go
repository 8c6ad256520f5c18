package core

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const verbs = "lapi/transport/verbs"

// verbsParts says which parts of the link over RDMA each of its parts may import. The package verbs
// puts them together.
var verbsParts = map[string][]string{
	"bulk":   {"registration", "wire"},
	"pair":   {"wire"},
	"paths":  {"fallback", "pool", "wire"},
	"window": {"wire"},
}

// linkMethods is how many methods the Link of transport/verbs may have.
const linkMethods = 40

// TestVerbsParts: each part of transport/verbs has its state to itself. It knows only the parts
// that verbsParts says, and no struct of it that keeps state has a field that others can write; the
// Link has few methods.
func TestVerbsParts(t *testing.T) {
	methods := 0
	for _, p := range packages(t) {
		part, is := strings.CutPrefix(p.ImportPath, verbs+"/internal/")
		if !is && p.ImportPath != verbs {
			continue
		}
		for _, imported := range p.Imports {
			if to, ok := strings.CutPrefix(imported, verbs+"/internal/"); ok && is &&
				!slices.Contains(verbsParts[part], to) || is && imported == verbs {
				t.Errorf("%s imports %s: it is to do without", p.ImportPath, imported)
			}
		}
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), path.Join(p.Dir, f), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if !is && n.Recv != nil && receiver(n) == "Link" {
						methods++
					}
				case *ast.TypeSpec:
					if s, ok := n.Type.(*ast.StructType); ok && verbsParts[part] != nil {
						for _, name := range exported(n.Name.Name, s) {
							t.Errorf("%s: others can write %s.%s", part, n.Name.Name, name)
						}
					}
				}
				return true
			})
		}
	}
	if methods == 0 || methods > linkMethods {
		t.Errorf("the Link of transport/verbs has %d methods, the most are %d", methods, linkMethods)
	}
}

// exported lists the fields of a struct that other packages can write, but those of a configuration
// or of a notice, and what is embedded.
func exported(name string, s *ast.StructType) (all []string) {
	if name == "Config" || name == "Change" {
		return nil
	}
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				all = append(all, n.Name)
			}
		}
	}
	return all
}

// receiver is the name of the type that f is a method of.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestOneWriter: each field of the structs that the link over RDMA shares with C is written by one
// of its packages, C aside. Fields of the packages' own structs are private.
func TestOneWriter(t *testing.T) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export",
		verbs+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	writers := map[*types.Var]map[string]bool{}
	for _, p := range packages(t) {
		if p.ImportPath == verbs || strings.HasPrefix(p.ImportPath, verbs+"/") {
			for _, field := range written(t, fset, from, p) {
				if writers[field] == nil {
					writers[field] = map[string]bool{}
				}
				writers[field][p.ImportPath] = true
			}
		}
	}
	if len(writers) < 40 {
		t.Errorf("only %d fields are written", len(writers))
	}
	for field, by := range writers {
		if len(by) > 1 {
			t.Errorf("%s is written by %s", field.Name(), fmt.Sprint(by))
		}
	}
}

// written lists the fields of package layout that p writes.
func written(t *testing.T, fset *token.FileSet, from types.Importer, p goPackage) (all []*types.Var) {
	t.Helper()
	var files []*ast.File
	for _, f := range p.GoFiles {
		file, err := parser.ParseFile(fset, path.Join(p.Dir, f), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	c := types.Config{Importer: from}
	if _, err := c.Check(p.ImportPath, fset, files, &info); err != nil {
		t.Fatal(err)
	}
	var note func(e ast.Expr)
	note = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.IndexExpr:
			note(e.X)
		case *ast.SelectorExpr:
			if s := info.Selections[e]; s != nil {
				if v, ok := s.Obj().(*types.Var); ok && v.Pkg().Path() == "lapi/transport/layout" {
					all = append(all, v)
				}
			}
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					note(e)
				}
			case *ast.IncDecStmt:
				note(n.X)
			}
			return true
		})
	}
	return all
}
