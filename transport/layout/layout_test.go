package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc: the C layout cannot be asked for")
	}
}

// TestGeneratedFresh generates both files again and compares: a member added to a header must arrive
// here.
func TestGeneratedFresh(t *testing.T) {
	needCompiler(t)
	scratch := t.TempDir() // the names have no .go: go run would take them for sources
	names := []string{"layout_gen.go", "check_gen.go"}
	cmd := exec.Command("go", "run", "generate.go",
		filepath.Join(scratch, names[0]+".new"), filepath.Join(scratch, names[1]+".new"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generating: %v\n%s", err, out)
	}
	for _, name := range names {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(scratch, name+".new"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./transport/layout", name)
		}
	}
}

// TestTypesCompared: check_gen.go compares the size of every struct of layout_gen.go, and the place
// of every member, so that the library does not build when a header alone changes.
func TestTypesCompared(t *testing.T) {
	layout, err := os.ReadFile("layout_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	check, err := os.ReadFile("check_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "layout_gen.go", layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	members := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		want := []string{fmt.Sprintf("unsafe.Sizeof(%s{})", spec.Name)}
		for _, f := range fields.Fields.List {
			if strings.HasPrefix(f.Names[0].Name, "PadCgo") {
				continue
			}
			members++
			want = append(want, fmt.Sprintf("unsafe.Offsetof(%s{}.%s)", spec.Name, f.Names[0]))
		}
		for _, w := range want {
			if !bytes.Contains(check, []byte(w)) {
				t.Errorf("check_gen.go lacks %s", w)
			}
		}
		return false
	})
	if members < 400 {
		t.Errorf("%d members compared", members)
	}
}
