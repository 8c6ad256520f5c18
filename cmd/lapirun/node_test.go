package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shown starts tasks that print what their node is, and returns the lines sorted.
func shown(t *testing.T, r *lr) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.want(0).out()), "\n")
	slices.Sort(lines)
	return lines
}

const show = `echo "$MP_CHILD of $MP_PROCS: $X, $MP_COMMON_TASKS, $MP_LAPI_INET_ADDR, $*"`

func TestOn(t *testing.T) {
	got := shown(t, start(t, "--on", "env X='a b'", "-n", "2", "--on", "", "-n", "1", "--on",
		`sh -c 'X=c; export X; "$0" "$@"'`, "--", "sh", "-c", show, "sh", "1 2", "3"))
	want := []string{
		"0 of 4: a b, 1:1, @1:127.0.0.1,lo, 1 2 3",
		"1 of 4: a b, 1:0, @1:127.0.0.1,lo, 1 2 3",
		"2 of 4: , 0, @1:127.0.0.1,lo, 1 2 3",
		"3 of 4: c, 0, @1:127.0.0.1,lo, 1 2 3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Addresses that the user has named stay, and then the command need not be able to run lapirun.
func TestOnWithAddresses(t *testing.T) {
	cmd := prepare("--on", "env X=1", "--on",
		`sh -c 'case "$1" in --lapi*) exit 9; esac; exec "$0" "$@"'`, "-infolevel", "1",
		"-euidevice", "sn_all", "sh", "-c", show)
	cmd.Env = append(cmd.Env, "MP_LAPI_INET_ADDR=@1:10.1.2.3,eth7")
	r := startCmd(t, cmd)
	if got := shown(t, r); len(got) != 2 || !strings.Contains(got[0], "@1:10.1.2.3,eth7") ||
		!strings.Contains(got[1], "@1:10.1.2.3,eth7") {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(r.err(), "MP_LAPI_INET_ADDR is set, so MP_EUIDEVICE") {
		t.Errorf("%q", r.err())
	}
}

// A job of several nodes wires up, and its tasks are notified of the death of a task on another
// node.
func TestOnMeets(t *testing.T) {
	cmd := prepare("--on", "env A=1", "-n", "2", "--on", `sh -c '"$0" "$@"; exit $?'`, "-n", "2",
		"--", os.Args[0])
	cmd.Env = append(cmd.Env, "A=0")
	cmd.Args = slices.Insert(cmd.Args, len(cmd.Args)-1, "env", asVariable+"=task")
	startCmd(t, cmd).want(0)
}

func TestOnFails(t *testing.T) {
	dir := t.TempDir()
	const other = "cannot be started: "
	for command, want := range map[string]struct {
		status int
		says   []string
	}{
		"no-such-command-anywhere x": {127,
			[]string{"task 1 under 'no-such-command-anywhere x' " + other, "not found"}},
		"false": {1, []string{"task 1 under 'false' " + other,
			"exit status 1"}},
		"true": {1, []string{"task 1 under 'true' " + other,
			"without running what follows"}},
		"sh -c 'echo no such net >&2; exit 255'": {1, []string{"no such net", "255",
			"MP_LAPI_INET_ADDR"}},
		"env -i":                                 {1, []string{"does not pass the environment on"}},
		`bash -c 'exec 60>&-; "$0" "$@"'`:        {1, []string{"closes descriptor 60"}},
		`bash -c 'exec 60</dev/null; "$0" "$@"'`: {1, []string{"closes descriptor 60"}},
		filepath.Join(dir):                       {126, []string{"permission denied"}},
	} {
		if name := strings.Fields(command)[0]; name == "bash" {
			if _, err := exec.LookPath(name); err != nil {
				continue
			}
		}
		r := start(t, "--on", "", "--on", command, "echo", "started").want(want.status)
		for _, says := range want.says {
			if !strings.Contains(r.err(), says) {
				t.Errorf("%s: %q lacks %q", command, r.err(), says)
			}
		}
		if strings.Contains(r.out(), "started") {
			t.Errorf("%s: some tasks were started", command)
		}
	}
}

// The message of a task's end names its command.
func TestDeathNamesCommand(t *testing.T) {
	r := start(t, "--on", "env X=1", "--on", "env X=2", "sh", "-c", "[ $X = 1 ] || exit 3").want(3)
	if !strings.Contains(r.err(), "task 1 (sh under 'env X=2', process") {
		t.Errorf("%q", r.err())
	}
}

// Where /proc is missing, as in a bare chroot, lapirun is started from its own place.
func TestListsFromOwnPlace(t *testing.T) {
	r := start(t, "--on", "", "--on", `sh -c 'case "$0" in /proc/*) exit 1; esac; exec "$0" "$@"'`,
		"echo", "started")
	if r.want(0); strings.Count(r.out(), "started") != 2 {
		t.Errorf("%q%q", r.out(), r.err())
	}
}

func TestOnAllOneAdapter(t *testing.T) {
	for level, want := range map[string]int{"0": 0, "1": 2} {
		r := start(t, "--on", "", "--on", "env X=2", "-instances", "2", "-euidevice", "lo",
			"-infolevel", level, "true").want(0)
		if n := strings.Count(r.err(), "all 2 instances are on lo; failover"); n != want {
			t.Errorf("level %s: %d times in %q", level, n, r.err())
		}
	}
}

// Processes that a command has started besides the tasks end with the job. A command that ends at
// once, as setsid does without -w, leaves a process that lapirun cannot wait for: the job fails,
// and says why.
func TestOnGoesAway(t *testing.T) {
	r := start(t, "--on", `sh -c '"$0" "$@" & echo pid $!; exit 0'`, "sleep", "1000")
	left := processes(pids(t, r.lines(1, "pid ")))
	if r.want(1); !strings.Contains(r.err(), "has ended, but what it has started goes on") {
		t.Errorf("%q", r.err())
	}
	gone(t, left)
}

// A task that has been in the job may leave something behind, and so may what lapirun itself
// has started.
func TestOnLeavesHelper(t *testing.T) {
	cmd := prepare("--on", `sh -c '"$0" "$@"; sleep 1000 >/dev/null 2>&1 & exit 0'`, "-n", "2",
		"env", asVariable+"=task", os.Args[0])
	startCmd(t, cmd).want(0)
	start(t, "-n", "2", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0").want(0)
}

func TestOnLeavesNothing(t *testing.T) {
	r := start(t, "--on", `sh -c 'sleep 1000 & echo pid $!; "$0" "$@"'`, "-n", "2", "sh", "-c",
		`echo pid $$; kill -9 $$`)
	left := processes(pids(t, r.lines(2, "pid ")))
	r.want(137)
	gone(t, left)
}

// Network namespaces: nodes with networks of their own need a common one.
func TestOnNamespaces(t *testing.T) {
	const command = "unshare -n"
	if err := exec.Command("unshare", "-n", "true").Run(); err != nil {
		t.Skipf("skipped: no network namespaces here (%v)", err)
	}
	r := start(t, "--on", command, "--on", command, "true").want(1)
	if !strings.Contains(r.err(), "no IP subnet that all nodes") {
		t.Errorf("%q", r.err())
	}
	// One node needs no network.
	start(t, "--on", command, "-n", "2", "true").want(0)
	r = start(t, "--on", command, "-euidevice", "enp0", "true").want(1)
	if !strings.Contains(r.err(), "the node of task 0 under 'unshare -n' has no device enp0") {
		t.Errorf("%q", r.err())
	}
}

// A chroot without anything but a program: with addresses named, its tasks start.
func TestOnChroot(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Skip("skipped: chroot needs root")
	}
	dir := t.TempDir()
	program := `package main; import ("fmt"; "os"); func main() { fmt.Println("root", os.Getenv("MP_CHILD"), os.Getenv("LAPI_LAUNCHER_FD") != "") }`
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("skipped: cannot build a static program: %v %s", err, out)
	}
	args := []string{"--on", "chroot " + dir, "--on", "chroot '" + dir + "'", "/program"}
	r := start(t, args...).want(1)
	if !strings.Contains(r.err(), "set MP_LAPI_INET_ADDR") {
		t.Errorf("%q", r.err())
	}
	cmd := prepare(args...)
	cmd.Env = append(cmd.Env, "MP_LAPI_INET_ADDR=@1:127.0.0.1,lo")
	if got := shown(t, startCmd(t, cmd)); !slices.Equal(got,
		[]string{"root 0 true", "root 1 true"}) {
		t.Errorf("%q", got)
	}
}
