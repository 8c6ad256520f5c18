package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const verbs = "lapi/transport/verbs"

// verbsParts says which parts of the link over RDMA each of its parts may import. The package verbs
// puts them together.
var verbsParts = map[string][]string{
	"bulk":  {"registration", "wire"},
	"pair":  {"wire"},
	"paths": {"fallback", "pool", "wire"},
}

// linkMethods is how many methods the Link of transport/verbs may have.
const linkMethods = 61

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
