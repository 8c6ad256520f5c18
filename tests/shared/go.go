package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const layout = "lapi/transport/layout"

type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Imports                 []string
}

// lookAtGo judges the uses in packages of this module that know C's structs.
func lookAtGo(words wordSet) ([]finding, int, error) {
	cmd := exec.Command("go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, err
	}
	fields, err := goNames(words)
	if err != nil {
		return nil, 0, err
	}
	var users []goPackage
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, 0, err
		}
		exports[p.ImportPath] = p.Export
		for _, i := range p.Imports {
			if i == layout {
				users = append(users, p)
			}
		}
	}
	l := goLook{fields: fields, files: token.NewFileSet()}
	l.imports = importer.ForCompiler(l.files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, p := range users {
		if err := l.look(p); err != nil {
			return nil, 0, err
		}
	}
	if l.uses == 0 {
		return nil, 0, errors.New("no Go package uses a marked word: are the names still right?")
	}
	return l.found, l.uses, nil
}

var typeName = regexp.MustCompile(`(?m)^\t(\w+)\s+C\.(?:struct_)?(\w+)$`)

// copied are types of which Go passes copies of its own around.
var copied = map[string]bool{"TraceRecord": true, "TraceHead": true}

// goNames are the marked fields by their type's name in package layout.
func goNames(words wordSet) (map[string]map[string]bool, error) {
	text, err := os.ReadFile("transport/layout/types.go")
	fields := map[string]map[string]bool{}
	for _, m := range typeName.FindAllStringSubmatch(string(text), -1) {
		if copied[m[1]] {
			continue
		}
		for member := range words[m[2]] {
			if fields[m[1]] == nil {
				fields[m[1]] = map[string]bool{}
			}
			name := ""
			for _, part := range strings.Split(member, "_") {
				name += strings.ToUpper(part[:1]) + part[1:]
			}
			fields[m[1]][name] = true
		}
	}
	return fields, err
}

type goLook struct {
	fields  map[string]map[string]bool
	files   *token.FileSet
	imports types.Importer
	found   []finding
	uses    int
}

func (l *goLook) look(p goPackage) error {
	var parsed []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		f, err := parser.ParseFile(l.files, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{},
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	// Errors about the names that cgo makes do not matter here.
	config := types.Config{Importer: l.imports, FakeImportC: true, Error: func(error) {}}
	config.Check(p.ImportPath, l.files, parsed, info)
	for _, f := range parsed {
		var path []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if s, ok := n.(*ast.SelectorExpr); ok && l.isMarked(info.Selections[s]) {
				l.uses++
				if !isAtomic(path, info) {
					l.add(s)
				}
			}
			path = append(path, n)
			return true
		})
	}
	return nil
}

func (l *goLook) add(s *ast.SelectorExpr) {
	at := l.files.Position(s.Pos())
	file := at.Filename
	if here, err := os.Getwd(); err == nil {
		file = strings.TrimPrefix(file, here+"/")
	}
	l.found = append(l.found, finding{file, at.Line, s.Sel.Name + " is used plainly"})
}

// isMarked says whether a selection is of a marked field of a type of package layout.
func (l *goLook) isMarked(s *types.Selection) bool {
	if s == nil || s.Kind() != types.FieldVal {
		return false
	}
	field := s.Obj()
	if field.Pkg() == nil || field.Pkg().Path() != layout {
		return false
	}
	for name, fields := range l.fields {
		if !fields[field.Name()] {
			continue
		}
		t, ok := field.Pkg().Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		known, ok := t.Type().Underlying().(*types.Struct)
		for i := 0; ok && i < known.NumFields(); i++ {
			if known.Field(i) == field {
				return true
			}
		}
	}
	return false
}

// isAtomic says whether the use below a path is the address that a function of sync/atomic gets.
func isAtomic(path []ast.Node, info *types.Info) bool {
	i := len(path) - 1
	for ; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.IndexExpr, *ast.ParenExpr:
		case *ast.UnaryExpr:
			if n.Op != token.AND || i == 0 {
				return false
			}
			c, ok := path[i-1].(*ast.CallExpr)
			return ok && takesAddress(c.Fun, info)
		default:
			return false
		}
	}
	return false
}

// takesAddress says whether a function uses the word at an address atomically.
func takesAddress(fun ast.Expr, info *types.Info) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := info.Uses[s.Sel]
	return o != nil && o.Pkg() != nil && (o.Pkg().Path() == "sync/atomic" ||
		o.Pkg().Path() == "lapi/core/progress" && o.Name() == "NewBlock")
}
