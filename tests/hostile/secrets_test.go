package hostile

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "lapi/core/job"
)

// mapping is a part of a process's memory.
type mapping struct {
	start, end uint64
	readable   bool
	dumped     bool // a core dump would contain it
	resident   int  // KiB
	name       string
}

// mappings reads /proc/PID/smaps.
func mappings(t *testing.T, pid int) (all []mapping) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m mapping
		var mode string
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &m.start, &m.end, &mode); n == 3 {
			m.readable, m.dumped = strings.HasPrefix(mode, "r"), true
			if fields := strings.Fields(line); len(fields) > 5 {
				m.name = fields[5]
			}
			all = append(all, m)
		} else if len(all) == 0 {
			continue
		} else if n, _ := fmt.Sscanf(line, "Rss: %d", &m.resident); n == 1 {
			all[len(all)-1].resident = m.resident
		} else if strings.HasPrefix(line, "VmFlags:") {
			all[len(all)-1].dumped = !strings.Contains(line+" ", " dd ")
		}
	}
	return all
}

// read is the contents of a mapping, without pages that can no longer be read.
func (m mapping) read(t *testing.T, pid int) []byte {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("reading a process's memory is not allowed here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, m.end-m.start)
	n, _ := f.ReadAt(b, int64(m.start))
	return b[:n]
}

// keyIn is the job key of a process: in a page of its own that is not dumped.
func keyIn(t *testing.T, pid int) (key []byte) {
	t.Helper()
	for _, m := range mappings(t, pid) {
		if m.dumped || m.name != "" || !m.readable || m.end-m.start != uint64(os.Getpagesize()) {
			continue
		}
		b := m.read(t, pid)
		if k := b[:core.KeySize]; !bytes.Equal(k, make([]byte, core.KeySize)) &&
			bytes.Equal(b[core.KeySize:], make([]byte, len(b)-core.KeySize)) {
			if key != nil {
				t.Errorf("process %d has two keys", pid)
			}
			key = append([]byte(nil), k...)
		}
	}
	if key == nil {
		t.Fatalf("process %d has no key in memory that is not dumped", pid)
	}
	return key
}

// parts are the byte strings that a search looks for: any quarter of the key, as it is or as text.
func parts(key []byte) (all [][]byte) {
	for i := 0; i < len(key); i += 16 {
		q := key[i : i+16]
		all = append(all, q, []byte(hex.EncodeToString(q)),
			[]byte(strings.ToUpper(hex.EncodeToString(q))))
	}
	for shift := range 3 { // of base64, whatever stands before
		s := base64.StdEncoding.EncodeToString(key[shift : shift+24])
		all = append(all, []byte(s[:28]))
	}
	return all
}

// contains says whether any of them is in b. Pages of zeros, of which a process has many, are
// passed over.
func contains(b []byte, parts [][]byte) bool {
	zeros := make([]byte, os.Getpagesize())
	for len(b) > 0 {
		run := 0
		for run < len(b) && !bytes.Equal(b[run:min(run+len(zeros), len(b))], zeros) {
			run = min(run+len(zeros), len(b))
		}
		for _, p := range parts {
			if bytes.Contains(b[:run], p) {
				return true
			}
		}
		b = b[min(run+len(zeros), len(b)):]
	}
	return false
}

// searchMemory looks for the key in all memory of a process that would be dumped.
func searchMemory(t *testing.T, who string, pid int, key []byte) {
	t.Helper()
	searched := 0
	for _, m := range mappings(t, pid) {
		if !m.readable || !m.dumped || m.resident == 0 {
			continue
		}
		b := m.read(t, pid)
		searched += len(b)
		if contains(b, parts(key)) {
			t.Errorf("%s: the key, or a part of it, is in %x-%x %s", who, m.start, m.end, m.name)
		}
	}
	if searched < 1<<20 {
		t.Errorf("%s: only %d bytes were searched", who, searched)
	}
	t.Logf("%s: %d MiB searched", who, searched>>20)
}

// searchProc looks for the key where every user, or every process of the user, may read.
func searchProc(t *testing.T, who string, pid int, key []byte) {
	t.Helper()
	for _, name := range []string{"environ", "cmdline", "comm", "maps"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil || len(b) == 0 {
			t.Errorf("%s: %s: %d bytes, %v", who, name, len(b), err)
		}
		if contains(b, parts(key)) {
			t.Errorf("%s: the key is in its %s", who, name)
		}
	}
}

// TestSecretsOfLaunchedJob: the key of a running job is in one page each of lapirun and the tasks,
// which no core dump contains, and nowhere else: not in other memory, environments, argument lists,
// traces or output.
func TestSecretsOfLaunchedJob(t *testing.T) {
	for _, level := range levels {
		dir := t.TempDir()
		j := start(t, "check", 2*time.Second, level, "MP_LAPI_TRACE_LEVEL=5", "LAPI_TRACE_DIR="+dir,
			"LAPI_TRACE_SIZE=4", "MP_INFOLEVEL=6")
		time.Sleep(500 * time.Millisecond) // sessions are there, messages go
		thaw := j.freeze()
		key := keyIn(t, j.launch)
		for who, pid := range map[string]int{"lapirun": j.launch, "task 0": j.tasks[0],
			"task 1": j.tasks[1]} {
			if !bytes.Equal(keyIn(t, pid), key) {
				t.Errorf("%s has another key", who)
			}
			searchMemory(t, who, pid, key)
			searchProc(t, who, pid, key)
		}
		thaw()
		for _, err := range j.wait() {
			if err != nil {
				t.Error(err)
			}
		}
		files, _ := filepath.Glob(dir + "/*")
		for _, name := range files {
			b, err := os.ReadFile(name)
			st, _ := os.Stat(name)
			if err != nil || contains(b, parts(key)) || st.Mode().Perm() != 0o600 {
				t.Errorf("trace %s: %v, %v, or the key is in it", name, st.Mode(), err)
			}
		}
		if len(files) != 2 || contains([]byte(j.output()), parts(key)) {
			t.Errorf("%d traces; or the key is in the output", len(files))
		}
	}
}

// TestForgottenKey: when all tasks share memory the key is not needed, and no task keeps it.
func TestForgottenKey(t *testing.T) {
	k := start(t, "check", time.Second, "LAPI_USE_SHM=only")
	thaw := k.freeze()
	key := keyIn(t, k.launch)
	for task, pid := range k.tasks {
		for _, m := range mappings(t, pid) {
			if m.readable && m.resident > 0 && contains(m.read(t, pid), parts(key)) {
				t.Errorf("task %d: the key is in %x-%x %s", task, m.start, m.end, m.name)
			}
		}
	}
	thaw()
	k.finish()
}

// TestKeyFileSecrets: of a job started by hand neither the key nor the contents of its file are in
// memory that is dumped.
func TestKeyFileSecrets(t *testing.T) {
	contents := make([]byte, 300)
	rand.Read(contents)
	name := keyFile(t, contents)
	env := []string{core.KeyFileVariable + "=" + name}
	j := startByHand(t, time.Second, env, env)
	j.await("task 0 ready")
	j.await("task 1 ready")
	time.Sleep(500 * time.Millisecond)
	thaw := j.freeze()
	key := keyIn(t, j.tasks[0])
	for task, pid := range j.tasks {
		who := fmt.Sprint("task ", task)
		if !bytes.Equal(keyIn(t, pid), key) {
			t.Errorf("%s has another key", who)
		}
		searchMemory(t, who, pid, key)
		searchProc(t, who, pid, key)
		for from := 0; from+core.KeySize <= len(contents); from += core.KeySize {
			searchMemory(t, who+", contents of the file", pid, contents[from:from+core.KeySize])
		}
	}
	thaw()
	j.finish()
}

func keyFile(t *testing.T, contents []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, contents, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
