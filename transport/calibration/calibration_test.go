package calibration

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var here = Machine{CPU: "amd64 some processor", Caches: "32K 1M", Kernel: "6.1"}

func TestBuiltInIsInOrder(t *testing.T) {
	table := BuiltIn()
	if err := table.check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ n, chunk uint64 }{{1, 4 << 10}, {16<<10 - 1, 4 << 10},
		{16 << 10, 8 << 10}, {1 << 40, 32 << 10}} {
		if got := table.ChunkOf(c.n); got != c.chunk {
			t.Errorf("%d bytes go in chunks of %d, not %d", c.n, got, c.chunk)
		}
	}
}

func TestFileKeepsEverything(t *testing.T) {
	table := &Table{Chunks: []Chunk{{0, 8 << 10}, {1 << 31, 64 << 10}}, PutDirect: 1,
		AmDirect: Never, BlockDirect: 1024}
	got, machine, err := Parse(Format(table, &here))
	if err != nil || !reflect.DeepEqual(got, table) || *machine != here {
		t.Errorf("got %v, %v, %v", got, machine, err)
	}
}

// Each edit of a good file must be refused, with the line.
func TestBrokenFiles(t *testing.T) {
	good := Format(BuiltIn(), &here)
	for _, edit := range []struct{ old, new string }{
		{magic, "lapi-calibration 2"},
		{magic + "\n", ""},
		{"cpu amd64 some processor", "cpu"},
		{"caches 32K 1M\n", ""},
		{"kernel", "colonel"},
		{"chunk 0 4096", "chunk 1 4096"},
		{"chunk 0 4096", "chunk 0"},
		{"chunk 0 4096", "chunk 0 4097"},
		{"chunk 0 4096", "chunk 0 0"},
		{"chunk 0 4096", "chunk 0 131072"},
		{"chunk 0 4096", "chunk 0 4096 1"},
		{"chunk 0 4096", "chunk 0 -4096"},
		{"chunk 0 4096", "chunk 0 +4096"},
		{"chunk 16384", "chunk 0"},
		{"chunk 16384", "chunk 16385"},
		{"chunk 262144", "chunk 4294967296"},
		{"chunk 16384 8192\n", strings.Repeat("chunk 16384 8192\n", 40)},
		{"put-direct 4096", "put-direct 0"},
		{"put-direct 4096", "put-direct"},
		{"put-direct 4096\n", ""},
		{"put-direct 4096", "put-direct 1099511627777"},
		{"am-direct 16384", "am-direct 99999999999999999999"},
		{"am-direct 16384", "am-direct 0x10"},
		{"block-direct 16384", "block-direct 1023"},
		{"block-direct 16384", "block-direct 16384\nblock-direct 16384"},
		{"end\n", ""},
		{"end\n", "end\nend\n"},
		{"end\n", "end 1\n"},
	} {
		text := strings.Replace(good, edit.old, edit.new, 1)
		if text == good {
			t.Fatalf("%q is not in the file", edit.old)
		}
		if _, _, err := Parse(text); err == nil {
			t.Errorf("%q instead of %q was taken", edit.new, edit.old)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "calibration")
	machine := func() Machine { return here }
	if _, err := Load(path, machine); !NotThere(err) {
		t.Errorf("no file: %v", err)
	}
	table := BuiltIn()
	table.PutDirect = 8192
	for range 2 { // a new one replaces the old one
		if err := Save(path, table, &here); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Load(path, machine); err != nil || !reflect.DeepEqual(got, table) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, other := range []Machine{{"x", here.Caches, here.Kernel}, {here.CPU, "x", here.Kernel},
		{here.CPU, here.Caches, "x"}} {
		if _, err := Load(path, func() Machine {
			return other
		}); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "x here") {
			t.Errorf("%v: %v", other, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", fileMost+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, machine); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long file: %v", err)
	}
	pipe := path + ".pipe"
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, filepath.Dir(path)} {
		if _, err := Load(name, machine); err == nil || !strings.Contains(err.Error(), "regular") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Save(filepath.Join(pipe, "calibration"), table, &here); err == nil {
		t.Error("saved below a pipe")
	}
	table.PutDirect = 0
	if err := Save(path, table, &here); err == nil {
		t.Error("saved a table that cannot be read")
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"HOME": "/h"}, "/h/.cache/lapi/calibration"},
		{map[string]string{"HOME": "h"}, ""},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "c"}, "/h/.cache/lapi/calibration"},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/lapi/calibration"},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/c", Variable: ""},
			"/c/lapi/calibration"},
		{map[string]string{"HOME": "/h", Variable: "mine"}, "mine"},
		{map[string]string{"HOME": "/h", Variable: Off}, ""},
	} {
		if got := Path(func(name string) (string, bool) {
			v, ok := c.set[name]
			return v, ok
		}); got != c.want {
			t.Errorf("%v: %q, not %q", c.set, got, c.want)
		}
	}
}

func TestMachine(t *testing.T) {
	root := t.TempDir()
	if got := machineOf(root, ""); got != (Machine{"unknown", "unknown", "unknown"}) {
		t.Errorf("nothing to see: %v", got)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/cpuinfo",
		"processor\t: 0\nmodel\t\t: 17\nmodel name\t: A\tB # C\ncpu MHz\t: 2700.1\n\nprocessor\t: 1\nmodel\t\t: 18\n")
	cache := "sys/devices/system/cpu/cpu0/cache/index"
	for i, c := range []string{"Data 32K", "Instruction 64K", "Unified 1024K"} {
		kind, size, _ := strings.Cut(c, " ")
		write(cache+string(rune('0'+i))+"/type", kind+"\n")
		write(cache+string(rune('0'+i))+"/size", size+"\n")
	}
	got := machineOf(root, "6.1\nx")
	if !strings.HasSuffix(got.CPU, " 17 A B C") || got.Caches != "32K 1024K" ||
		got.Kernel != "6.1 x" {
		t.Errorf("got %+v", got)
	}
	// What this machine says must survive the file.
	for _, m := range []Machine{got, ThisMachine()} {
		if _, back, err := Parse(Format(BuiltIn(), &m)); err != nil || *back != m {
			t.Errorf("%+v came back as %+v, %v", m, back, err)
		}
	}
}

func TestArea(t *testing.T) {
	const least, most = 256 << 10, 1 << 20
	for _, c := range []struct {
		caches  string // nearest first
		tasks   int
		crowded bool
		want    uint64
	}{
		{"32K 512K 32768K", 2, false, most},
		{"32K 512K 32768K", 4, false, most},
		{"32K 512K 32768K", 2, true, least},
		{"32K 512K 2048K", 2, false, most},
		{"32K 512K 2047K", 2, false, least}, // the other direction's does not fit
		{"32K 512K 8192K", 4, false, least},
		{"48K 1024K 32768K", 2, false, least}, // the own cache holds it
		{"32K 513K 32768K", 2, false, least},
		{"32K 512K", 2, false, least},
		{"32K 0K 32768K", 2, false, least},
		{"32K large 32768K", 2, false, least},
		{"32K 512K 32M", 2, false, least},
		{"", 2, false, least},
	} {
		root := t.TempDir()
		for i, size := range strings.Fields(c.caches) {
			folder := filepath.Join(root, "sys/devices/system/cpu/cpu0/cache/index"+
				string(rune('0'+i)))
			if err := errors.Join(os.MkdirAll(folder, 0o700),
				os.WriteFile(filepath.Join(folder, "type"), []byte("Unified\n"), 0o600),
				os.WriteFile(filepath.Join(folder, "size"), []byte(size+"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got := areaOf(root, c.tasks, c.crowded); got != c.want {
			t.Errorf("caches of %s, %d tasks, crowded %v: %d", c.caches, c.tasks, c.crowded, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Format(BuiltIn(), &here))
	f.Add("lapi-calibration 1\ncpu x\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, machine, err := Parse(text)
		if err != nil {
			return
		}
		again, same, err := Parse(Format(table, machine))
		if err != nil || !reflect.DeepEqual(again, table) || *same != *machine {
			t.Errorf("%q was read, but not what was written from it: %v", text, err)
		}
		for n := uint64(1); n < 1<<40; n *= 3 {
			if c := table.ChunkOf(n); c < chunkUnit || c > chunkMost {
				t.Errorf("%d bytes in chunks of %d", n, c)
			}
		}
	})
}
