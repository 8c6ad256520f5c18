package net

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lapi/tests/net/world"
)

// abandonVariable makes this program build a world, start a job there, say so and wait to be
// killed.
const abandonVariable = "LAPI_NET_ABANDON"

// TestAbandoned is that program, not a test.
func TestAbandoned(t *testing.T) {
	if os.Getenv(abandonVariable) == "" {
		return
	}
	w := newWorld(t, world.Shape{Nodes: 2, Links: 2})
	j := spread(t, w, []int{1, 1}, nil, "net/steady", "600")
	j.waitFor("steady: started")
	fmt.Println("abandoned: ready")
	time.Sleep(10 * time.Minute)
}

// Whoever runs the tests may be killed at any time: nothing is left, no process and so no
// namespace, link or file in /run either.
func TestNothingIsLeft(t *testing.T) {
	counted(t)
	const tag = abandonVariable + "=left"
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestAbandoned$", "-build", *build)
	cmd.Env = append(os.Environ(), tag)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "abandoned: ready"; {
	}
	// this program outside and inside the enclave, lapirun, two tasks
	if n := len(withTag(tag)); n < 5 {
		t.Errorf("only %d processes run", n)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for limit := time.Now().Add(hang); ; time.Sleep(10 * time.Millisecond) {
		left := withTag(tag)
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("left behind: %q", left)
		}
	}
}

// withTag returns the commands of the processes that have a tag in their environment.
func withTag(tag string) (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err == nil && strings.Contains("\x00"+string(environ), "\x00"+tag+"\x00") {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			all = append(all, string(command))
		}
	}
	return all
}
