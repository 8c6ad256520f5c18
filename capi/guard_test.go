package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// each calls f with each Go file below dir that is no test.
func each(t *testing.T, dir string, f func(name string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err == nil {
			f(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unguarded are the exported functions that do too little to panic.
var unguarded = map[string]bool{"golapi_thread": true, "golapi_started": true,
	"godat_ends": true}

func TestExportedFunctionsAreGuarded(t *testing.T) {
	n := 0
	each(t, ".", func(name string, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil || unguarded[f.Name.Name] ||
				!strings.Contains("\n"+commentText(f.Doc), "\n//export ") {
				continue
			}
			n++
			if !guarded(f.Body.List) {
				t.Errorf("%s: %s has no deferred guard (guard.go)", name, f.Name.Name)
			}
		}
	})
	if n < 40 {
		t.Errorf("only %d exported functions were found", n)
	}
}

// TestGuardsGiveCodesToCodes: the guard of a function sets its result to a code only if that is a
// return code, which is named rc; C takes any other that is not 0 for something that was found.
func TestGuardsGiveCodesToCodes(t *testing.T) {
	codes := 0
	each(t, ".", func(name string, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil || !strings.Contains("\n"+commentText(f.Doc), "\n//export golapi_") {
				continue
			}
			result := ""
			if r := f.Type.Results; r != nil && len(r.List[0].Names) == 1 {
				result = r.List[0].Names[0].Name
			}
			given := codeOfGuard(f.Body.List)
			if given == "rc" {
				codes++
			}
			if (given == "rc") != (result == "rc") || given != "" && given != "rc" {
				t.Errorf("%s: %s has the result %q, and its guard sets the code %q", name,
					f.Name.Name, result, given)
			}
		}
	})
	if codes < 10 {
		t.Errorf("only %d functions with a return code were found", codes)
	}
}

// codeOfGuard is the variable that a deferred broke or brokeInit sets to a return code.
func codeOfGuard(body []ast.Stmt) string {
	for _, s := range body[:min(2, len(body))] {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			continue
		}
		name, ok := d.Call.Fun.(*ast.Ident)
		if !ok || name.Name != "broke" && name.Name != "brokeInit" {
			continue
		}
		if p, ok := d.Call.Args[len(d.Call.Args)-1].(*ast.UnaryExpr); ok {
			return p.X.(*ast.Ident).Name
		}
	}
	return ""
}

func commentText(g *ast.CommentGroup) string {
	var lines []string
	for _, c := range g.List {
		lines = append(lines, c.Text)
	}
	return strings.Join(lines, "\n")
}

// guarded says whether one of the first statements, before which nothing calls core, defers a guard.
func guarded(body []ast.Stmt) bool {
	for _, s := range body[:min(2, len(body))] {
		if d, ok := s.(*ast.DeferStmt); ok {
			name, ok := d.Call.Fun.(*ast.Ident)
			return ok && (strings.HasPrefix(name.Name, "broke") || name.Name == "datBroke")
		}
	}
	return false
}

func TestGoroutinesAreGuarded(t *testing.T) {
	for _, dir := range []string{"../core", "../transport", "../cshim", "."} {
		each(t, dir, func(name string, file *ast.File) {
			if strings.Contains(name, "simnet") || strings.Contains(name, "/conform/") ||
				strings.Contains(name, "/fake/") {
				return
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine; invariant.Go does", name)
				}
				return true
			})
		})
	}
}
