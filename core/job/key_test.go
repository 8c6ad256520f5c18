package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

func keyOf(t *testing.T, name string) ([]byte, bool, error) {
	t.Helper()
	c, err := FromEnv(good("LAPI_JOB_KEY_FILE="+name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Key()
}

func TestKeyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	write := func(size int, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(name, bytes.Repeat([]byte{'k'}, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(32, 0o600)
	key, authenticated, err := keyOf(t, name)
	if err != nil || !authenticated || len(key) != KeySize {
		t.Fatalf("key of %d bytes, %v, %v", len(key), authenticated, err)
	}
	if again, _, _ := keyOf(t, name); !bytes.Equal(again, key) {
		t.Error("two tasks get different keys from one file")
	}
	write(33, 0o400)
	if other, _, err := keyOf(t, name); err != nil || bytes.Equal(other, key) {
		t.Errorf("another file gives the same key, or %v", err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o601} {
		write(32, mode)
		if key, ok, err := keyOf(t, name); err == nil || ok || key != nil ||
			!strings.Contains(err.Error(), "chmod") {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	for _, size := range []int{0, minKeyFile - 1, maxKeyFile + 1} {
		write(size, 0o600)
		if _, ok, err := keyOf(t, name); err == nil || ok {
			t.Errorf("%d bytes are accepted", size)
		}
	}
}

func TestKeyFileOfOtherKinds(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, fifo, "/dev/zero", filepath.Join(dir, "missing")} {
		if _, ok, err := keyOf(t, name); err == nil || ok || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeyFileOfOthers(t *testing.T) {
	st := unix.Stat_t{Mode: unix.S_IFREG | 0o600, Uid: uint32(os.Geteuid()) + 1}
	if err := checkKeyFile(&st); err == nil || !strings.Contains(err.Error(), "belongs") {
		t.Errorf("error %v", err)
	}
}

func TestNoKey(t *testing.T) {
	c, err := FromEnv(good(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if key, ok, err := c.Key(); key != nil || ok || err != nil {
		t.Errorf("%x %v %v", key, ok, err)
	}
}

// A task that shares memory with no other has a session with itself.
func TestAlone(t *testing.T) {
	c, err := FromEnv(good("MP_COMMON_TASKS=1:0"), nil) // LAPI_USE_SHM is no
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := s.Exchange(Part{Data: []byte("me"), Files: []int{0}})
	if err != nil || len(parts) != 4 || string(parts[1].Data) != "me" || len(parts[1].Files) != 1 ||
		parts[1].Files[0] == 0 || parts[0].Data != nil {
		t.Fatalf("%+v, %v", parts, err)
	}
	closeParts(parts)
	if len(s.Tasks()) != 1 || s.Tasks()[0] != 1 || s.Descriptor() != -1 {
		t.Errorf("tasks %v, descriptor %d", s.Tasks(), s.Descriptor())
	}
	if _, err := s.Exchange(Part{Files: []int{-1}}); err == nil {
		t.Error("a bad descriptor is accepted")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRange(t *testing.T) {
	c, err := FromEnv(good(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range []int{-1, maxInstances} {
		if _, err := Open(c, instance); err == nil {
			t.Errorf("instance %d is accepted", instance)
		}
	}
}

func TestNameTasks(t *testing.T) {
	for want, tasks := range map[string][]int{
		"task 3": {3}, "tasks 1 and 2": {1, 2}, "tasks 1, 2 and 5": {1, 2, 5},
		"tasks 0, 1, 2, 3, 4, 5, 6, 7 and 2 others": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
	} {
		if got := nameTasks(tasks); got != want {
			t.Errorf("%v: %q, not %q", tasks, got, want)
		}
	}
}

// Names of abstract sockets keep users, jobs and tasks apart and fit into an address,
// whatever MP_PARTITION is.
func TestSlotNames(t *testing.T) {
	seen := map[string]bool{}
	for _, partition := range []string{"1", "2", "a/b", strings.Repeat("x", 33),
		strings.Repeat("x", 34), "\x00", "1/2"} {
		for _, what := range []string{"0", "1", "hub0", "hub1"} {
			for slot := range nameSlots {
				name := slotName(&Config{Partition: partition}, what, slot)
				if seen[name] || len(name) > 100 || strings.ContainsRune(name, 0) {
					t.Errorf("%q", name)
				}
				seen[name] = true
			}
		}
	}
}

// No process takes a name in one slot while a living process has it in another.
func TestTwoTakeOneName(t *testing.T) {
	c := &Config{Partition: fmt.Sprint("names", os.Getpid())}
	other, err := wire.Listen(slotName(c, "name", 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, patient := range []bool{false, true} {
		if fd, err := take(c, "name", patient); err != unix.EADDRINUSE {
			t.Errorf("%d, %v", fd, err)
		}
	}
	unix.Close(other)
	fd, err := take(c, "name", false)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}
