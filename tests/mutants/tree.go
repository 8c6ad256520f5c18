package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
)

// A tree is a copy of the sources, where defects are made.
type tree struct{ root string }

// newTree copies the files in from that git tracks or would add to a new folder below tmp.
func newTree(from, tmp string) (*tree, error) {
	root, err := os.MkdirTemp(tmp, "tree")
	if err != nil {
		return nil, err
	}
	t := &tree{root}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return nil, err
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		err := copyFile(filepath.Join(from, string(name)), filepath.Join(root, string(name)))
		if err != nil && !os.IsNotExist(err) { // removed, and git does not know yet
			return nil, err
		}
	}
	return t, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// with makes the defect, runs f, and removes the defect.
func (t *tree) with(m *mutation, f func()) error {
	name := filepath.Join(t.root, m.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	mutant, err := m.apply(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(mutant), 0o644); err != nil {
		return err
	}
	f()
	return os.WriteFile(name, text, 0o644)
}
