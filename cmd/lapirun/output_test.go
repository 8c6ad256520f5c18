package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLabels(t *testing.T) {
	r := start(t, "-n", "11", "-labelio", "yes", "sh", "-c",
		"echo hello from $MP_CHILD; echo error of $MP_CHILD >&2").want(0)
	for name, text := range map[string]string{"hello from": r.out(), "error of": r.err()} {
		got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		slices.Sort(got)
		var want []string
		for i := range 11 {
			want = append(want, fmt.Sprintf("%2d:%s %d", i, name, i))
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

// Lines arrive whole, though tasks write them in pieces at the same time.
func TestLinesAreNotTorn(t *testing.T) {
	script := `i=0; while [ $i -lt 300 ]; do printf "<$MP_CHILD"; printf "$MP_CHILD$MP_CHILD$MP_CHILD"; echo "$MP_CHILD>"; i=$((i+1)); done`
	for _, args := range [][]string{{"-n", "4", "-l"}, {"-n", "4"}} {
		r := start(t, append(args, "sh", "-c", script)...).want(0)
		lines := strings.Split(strings.TrimSuffix(r.out(), "\n"), "\n")
		if len(lines) != 1200 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			want := ""
			for i := range 4 {
				w := strings.ReplaceAll("<xxxxx>", "x", fmt.Sprint(i))
				if len(args) == 3 {
					w = fmt.Sprintf("%d:%s", i, w)
				}
				if line == w {
					want = w
				}
			}
			if want == "" {
				t.Fatalf("line %q", line)
			}
		}
	}
}

// Without labels the bytes of one task pass unchanged.
func TestBytesPassUnchanged(t *testing.T) {
	size := 5 << 20
	r := start(t, "sh", "-c",
		fmt.Sprintf("yes 'a line that is neither long nor short' | head -c %d; printf 'x\\0y'",
			size)).want(0)
	if got := r.out(); len(got) != size+3 || !strings.HasSuffix(got, "x\x00y") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestPromptIsShown(t *testing.T) {
	r := start(t, "-n", "2", "sh", "-c",
		`if [ $MP_CHILD = 0 ]; then printf "name? "; read name; echo "it is $name"; fi`)
	_ = r.want(0)
	if out := r.out(); !strings.HasPrefix(out, "name? it is") {
		t.Errorf("%q", out)
	}
	cmd := prepare("sh", "-c", `printf "name? "; read name; echo "it is $name"`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r = startCmd(t, cmd)
	for limit := time.Now().Add(hang); r.out() != "name? "; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no prompt: %q", r.out())
		}
	}
	fmt.Fprintln(in, "Ada")
	if r.want(0); r.out() != "name? it is Ada\n" {
		t.Errorf("%q", r.out())
	}
}

// A line that another task's output has interrupted is ended, and its rest is labelled again.
func TestUnfinishedLines(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k := newSink(w, unordered)
	o := &options{procs: 2, label: true}
	zero, one := newStream(k, 0, o), newStream(k, 1, o)
	for _, step := range []struct {
		s    *stream
		text string
	}{{zero, "a"}, {zero, "b\nc"}, {one, "d\n"}, {zero, "e"}, {one, "f"}} {
		if err := k.write(step.s, []byte(step.text)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	got := make([]byte, 100)
	n, _ := r.Read(got)
	if want := "0:ab\n0:c\n1:d\n0:e\n1:f"; string(got[:n]) != want {
		t.Errorf("%q, not %q", got[:n], want)
	}
}

func TestOrdered(t *testing.T) {
	script := `sleep 0.$((4-MP_CHILD)); echo first $MP_CHILD; sleep 0.1; echo second $MP_CHILD; [ $MP_CHILD = 1 ] && printf unfinished`
	r := start(t, "-n", "4", "-stdoutmode", "ordered", "-l", "sh", "-c", script+"; true").want(0)
	want := ""
	for i := range 4 {
		want += fmt.Sprintf("%d:first %d\n%d:second %d\n", i, i, i, i)
		if i == 1 {
			want += "1:unfinished\n"
		}
	}
	if r.out() != want {
		t.Errorf("%q", r.out())
	}
}

func TestOutputOfOneTask(t *testing.T) {
	r := start(t, "sh", "-c", "echo $MP_CHILD; echo e$MP_CHILD >&2", "-procs", "3", "-stdoutmode",
		"1").want(0)
	if r.out() != "1\n" || strings.Count(r.err(), "e") != 3 {
		t.Errorf("%q %q", r.out(), r.err())
	}
}

// When no process reads lapirun's output any more the job ends, as it does for a single program.
func TestOutputClosed(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := prepare("-n", "2", "sh", "-c", "while echo y; do :; done; exit 9")
	cmd.Stdout = write
	r := startCmd(t, cmd)
	write.Close()
	b := make([]byte, 1)
	if _, err := read.Read(b); err != nil {
		t.Fatal(err)
	}
	read.Close()
	if status := r.status(); status != 141 && status != 9 { // SIGPIPE, or a shell that ignores it
		t.Errorf("exit status %d\n%s", status, r.err())
	}
}

func TestInput(t *testing.T) {
	script := `while read line; do echo "$MP_CHILD has $line"; done; echo $MP_CHILD ends`
	for mode, want := range map[string][]string{
		"0":    {"0 ends", "0 has a", "0 has b", "1 ends"},
		"1":    {"0 ends", "1 ends", "1 has a", "1 has b"},
		"none": {"0 ends", "1 ends"},
		"all":  {"0 ends", "0 has a", "0 has b", "1 ends", "1 has a", "1 has b"},
	} {
		cmd := prepare("-n", "2", "-stdinmode", mode, "sh", "-c", script)
		cmd.Stdin = strings.NewReader("a\nb\n")
		r := startCmd(t, cmd).want(0)
		got := strings.Split(strings.TrimSpace(r.out()), "\n")
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("stdinmode %s: %q", mode, got)
		}
	}
}

// A task that does not read its input keeps none from the others.
func TestInputOfSlowTask(t *testing.T) {
	cmd := prepare("-n", "2", "-stdinmode", "all", "sh", "-c",
		"if [ $MP_CHILD = 0 ]; then wc -c; else exec sleep 0.3; fi")
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 3<<20))
	if r := startCmd(t, cmd).want(0); strings.TrimSpace(r.out()) != fmt.Sprint(3<<20) {
		t.Errorf("%q", r.out())
	}
}

func TestTerminalInput(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no script(1) to make a terminal with")
	}
	cmd := exec.Command(script, "-qec",
		fmt.Sprintf(
			"%s=lapirun %s -n 2 sh -c 'if [ $MP_CHILD = 0 ]; then read x; echo \"got <$x>\"; fi'",
			asVariable, os.Args[0]), "/dev/null")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r := startCmd(t, cmd)
	fmt.Fprintln(in, "typed")
	r.want(0)
	if !strings.Contains(r.out(), "got <typed>") {
		t.Errorf("%q", r.out())
	}
}
