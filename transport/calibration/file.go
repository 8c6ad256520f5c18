package calibration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The file is lines of text, in this order; # begins a comment, blank lines count for nothing:
//
//	lapi-calibration 1
//	cpu MODEL
//	caches SIZES
//	kernel RELEASE
//	chunk FROM BYTES      (one or more)
//	put-direct BYTES
//	am-direct BYTES
//	block-direct BYTES
//	end
const (
	magic     = "lapi-calibration 1"
	keyCPU    = "cpu"
	keyCaches = "caches"
	keyKernel = "kernel"
	keyChunk  = "chunk"
	keyPut    = "put-direct"
	keyAm     = "am-direct"
	keyBlock  = "block-direct"
	keyEnd    = "end"
)

// Variable names the file, or is Off.
const (
	Variable = "LAPI_CALIBRATION"
	Off      = "off"
)

// fileMost is more than the longest file that Format writes.
const fileMost = 16 << 10

// ErrOther: the file is in order but holds for another machine. Any text in it is the file's.
var ErrOther = errors.New("made on another machine or kernel")

// Path is where the file is: what LAPI_CALIBRATION says, or in the user's cache folder; "" if there
// is none. getenv is the task's.
func Path(getenv func(string) (string, bool)) string {
	if name, _ := getenv(Variable); name == Off {
		return ""
	} else if name != "" {
		return name
	}
	// As the XDG Base Directory Specification has it: a relative path is none.
	if cache, _ := getenv("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		return filepath.Join(cache, "lapi", "calibration")
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "lapi", "calibration")
	}
	return ""
}

// Load is the table for machine of the file at path. The error wraps fs.ErrNotExist if there is no
// file, or ErrOther; or it says what is wrong with the file.
func Load(path string, machine func() Machine) (*Table, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	t, m, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if here := machine(); *m != here {
		return nil, fmt.Errorf("%w (%s there, %s here)",
			ErrOther, difference(m, &here), difference(&here, m))
	}
	return t, nil
}

// difference is the first of m that other has not.
func difference(m, other *Machine) string {
	switch {
	case m.CPU != other.CPU:
		return m.CPU
	case m.Caches != other.Caches:
		return "caches " + m.Caches
	}
	return "kernel " + m.Kernel
}

func read(path string) (string, error) {
	// Not blocking: the name may be a pipe's.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, fileMost+1))
	if err == nil && len(text) > fileMost {
		err = fmt.Errorf("longer than %d bytes", fileMost)
	}
	return string(text), err
}

// parser reads line after line.
type parser struct {
	rest string
	line int
}

// next is the next line that says something: its first word and what follows. "" at the end.
func (p *parser) next() (key, value string) {
	for p.rest != "" {
		var line string
		line, p.rest, _ = strings.Cut(p.rest, "\n")
		p.line++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			key, value, _ = strings.Cut(line, " ")
			return key, strings.TrimSpace(value)
		}
	}
	return "", ""
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.line, fmt.Sprintf(format, args...))
}

func (p *parser) text(key string, into *string) error {
	got, value := p.next()
	if got != key || value == "" {
		return p.errorf("no %q with a value", key)
	}
	*into = value
	return nil
}

func (p *parser) number(key string, into *uint64) error {
	var value string
	if err := p.text(key, &value); err != nil {
		return err
	}
	return p.decimal(value, into)
}

func (p *parser) decimal(value string, into *uint64) (err error) {
	if *into, err = strconv.ParseUint(value, 10, 63); err != nil || value[0] == '+' {
		return p.errorf("%q is no number", value)
	}
	return nil
}

// Parse reads a file's text. Only what Format could have written is taken, but for comments and
// blanks.
func Parse(text string) (*Table, *Machine, error) {
	p := &parser{rest: text}
	t, m := &Table{}, &Machine{}
	if key, value := p.next(); key+" "+value != magic {
		return nil, nil, p.errorf("no %q", magic)
	}
	for _, step := range []func() error{
		func() error { return p.text(keyCPU, &m.CPU) },
		func() error { return p.text(keyCaches, &m.Caches) },
		func() error { return p.text(keyKernel, &m.Kernel) },
		func() error { return p.chunks(t) },
		func() error { return p.number(keyAm, &t.AmDirect) },
		func() error { return p.number(keyBlock, &t.BlockDirect) },
		p.end,
		t.check,
	} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return t, m, nil
}

// chunks reads these and the line behind them.
func (p *parser) chunks(t *Table) error {
	for {
		key, value := p.next()
		if key != keyChunk {
			if key != keyPut || value == "" {
				return p.errorf("no %q with a value", keyPut)
			}
			return p.decimal(value, &t.PutDirect)
		}
		if len(t.Chunks) == chunkRows {
			return p.errorf("more than %d chunks", chunkRows)
		}
		from, bytes, both := strings.Cut(value, " ")
		if !both {
			return p.errorf("a chunk needs two numbers")
		}
		var c Chunk
		if err := errors.Join(p.decimal(from, &c.From),
			p.decimal(strings.TrimSpace(bytes), &c.Bytes)); err != nil {
			return err
		}
		t.Chunks = append(t.Chunks, c)
	}
}

func (p *parser) end() error {
	if key, value := p.next(); key != keyEnd || value != "" {
		return p.errorf("no %q", keyEnd)
	}
	if key, _ := p.next(); key != "" {
		return p.errorf("%q behind the end", key)
	}
	return nil
}

// Format is the text of a file.
func Format(t *Table, m *Machine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# Written by lapirun --calibrate; read by LAPI_Init. Sizes in bytes.\n%s %s\n%s %s\n%s %s\n",
		magic, keyCPU, m.CPU, keyCaches, m.Caches, keyKernel, m.Kernel)
	for _, c := range t.Chunks {
		fmt.Fprintf(&b, "%s %d %d\n", keyChunk, c.From, c.Bytes)
	}
	fmt.Fprintf(&b, "%s %d\n%s %d\n%s %d\n%s\n", keyPut, t.PutDirect, keyAm, t.AmDirect, keyBlock,
		t.BlockDirect, keyEnd)
	return b.String()
}

// Save writes a file; who reads at that time gets the old one or the new one. It makes the folder.
func Save(path string, t *Table, m *Machine) error {
	if err := t.check(); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".calibration-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(Format(t, m))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// NotThere says whether err of Load means that there simply is no file.
func NotThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}
