// Command soak runs a job of two nodes for long over a network that loses packets and fails again
// and again, and watches the tasks' resident memory: after the first ten minutes it is flat.
//
//	soak [-build FOLDER] [-seconds N] [-loss PROBABILITY] [-every DURATION] [-down DURATION]
//
// It prints a line each minute and ends with status 1 if memory has grown, or the job has failed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"lapi/tests/net/world"
)

var (
	build   = flag.String("build", "build", "the folder with lapirun and the programs")
	seconds = flag.Int("seconds", 3600, "how long the job runs")
	loss    = flag.Float64("loss", 0.02, "probability that a packet is lost on arrival")
	every   = flag.Duration("every", 15*time.Second, "time from one failure of the link to the next")
	down    = flag.Duration("down", time.Second, "how long a failure lasts; 0: the link never fails")
	sample  = flag.Duration("sample", time.Minute, "time between two looks at the tasks' memory")
	pause   = flag.Int("pause", 20, "milliseconds between two rounds of a task")
)

// warm is how long a job may grow: buffers, windows and heaps reach their sizes.
const warm = 10 * time.Minute

// Memory that is flat rises by no more than slackPart of what there was after warming up, and
// slackKB.
const (
	slackPart = 0.10
	slackKB   = 1024
)

func main() {
	flag.Parse()
	inside, status, err := world.Enter()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "soak: skipped: this machine makes no networks: %v\n", err)
		os.Exit(0)
	case !inside:
		os.Exit(status)
	}
	if err := soak(); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		os.Exit(1)
	}
}

func soak() error {
	w, err := world.Build(world.Shape{Nodes: 2, Links: 1})
	if err != nil {
		return err
	}
	defer w.Close()
	for node := range w.Nodes {
		if *loss == 0 {
			break
		}
		if err := w.Lose(node, *loss); err != nil {
			return err
		}
	}
	j, err := start(w)
	if err != nil {
		return err
	}
	defer j.kill()
	return j.watch(w)
}

// job is a running job and the memory of its tasks, a row for each look.
type job struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	pids [2]int
	rows []row
	done chan error
}

// row is what a look has found.
type row struct {
	at       time.Duration
	resident [2]int // kB, by task
}

var pidLine = regexp.MustCompile(`^soak: task ([01]): pid (\d+)\n$`)

// start starts the job and waits until both tasks run.
func start(w *world.World) (*job, error) {
	args := []string{"--on", w.Command(0), "--on", w.Command(1), "--",
		filepath.Join(*build, "net/soak"), strconv.Itoa(*seconds), strconv.Itoa(*pause)}
	j := &job{cmd: exec.Command(filepath.Join(*build, "bin/lapirun"), args...),
		done: make(chan error, 1)}
	j.cmd.Stderr = os.Stderr
	pipe, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.out = bufio.NewReader(pipe)
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	for found := 0; found < len(j.pids); {
		line, err := j.out.ReadString('\n')
		if err != nil {
			j.kill()
			return nil, fmt.Errorf("the job has ended at once: %w", err)
		}
		if m := pidLine.FindStringSubmatch(line); m != nil {
			task, _ := strconv.Atoi(m[1])
			j.pids[task], _ = strconv.Atoi(m[2])
			found++
		}
	}
	go j.collect()
	return j, nil
}

// collect passes on what the job says until it ends.
func (j *job) collect() {
	for {
		line, err := j.out.ReadString('\n')
		fmt.Print(line)
		if err != nil {
			break
		}
	}
	j.done <- j.cmd.Wait()
}

func (j *job) kill() { _ = j.cmd.Process.Kill() }

// watch looks at memory and lets the link fail, until the job ends.
func (j *job) watch(w *world.World) error {
	begin := time.Now()
	look, fail := time.NewTicker(*sample), time.NewTicker(*every)
	defer look.Stop()
	defer fail.Stop()
	fmt.Println("   time    task 0    task 1  resident, kB")
	for {
		select {
		case err := <-j.done:
			if err != nil {
				return fmt.Errorf("the job has failed: %w", err)
			}
			return j.verdict()
		case <-look.C:
			j.look(time.Since(begin))
		case <-fail.C:
			if *down == 0 {
				continue
			}
			if err := flap(w); err != nil {
				return err
			}
		}
	}
}

// flap takes the link of node 1 down for a while, each time in another way.
func flap(w *world.World) error {
	fault := world.Faults[flaps%len(world.Faults)]
	flaps++
	if err := fault.Begin(w, 1, 0); err != nil {
		return fmt.Errorf("%s: %w", fault.Name, err)
	}
	time.Sleep(*down)
	if err := fault.End(w, 1, 0); err != nil {
		return fmt.Errorf("end of %s: %w", fault.Name, err)
	}
	return nil
}

var flaps int

func (j *job) look(at time.Duration) {
	r := row{at: at}
	for task, pid := range j.pids {
		kb, err := resident(pid)
		if err != nil {
			return // it is ending
		}
		r.resident[task] = kb
	}
	j.rows = append(j.rows, r)
	fmt.Printf("%7.0f %9d %9d\n", at.Seconds(), r.resident[0], r.resident[1])
}

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`)

func resident(pid int) (kb int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	m := residentLine.FindSubmatch(b)
	if m == nil {
		return 0, fmt.Errorf("no VmRSS of process %d", pid)
	}
	return strconv.Atoi(string(m[1]))
}

// verdict compares the largest of the second half after warming up with the largest of the first:
// single looks go up and down with what is under way.
func (j *job) verdict() error {
	steady := slices.DeleteFunc(slices.Clone(j.rows), func(r row) bool { return r.at < warm })
	if len(steady) < 4 {
		fmt.Println("soak: too short for a verdict")
		return nil
	}
	half := len(steady) / 2
	for task := range j.pids {
		before, after := most(steady[:half], task), most(steady[half:], task)
		fmt.Printf("soak: task %d: at most %d kB, later %d kB\n", task, before, after)
		if float64(after) > float64(before)*(1+slackPart)+slackKB {
			return fmt.Errorf("task %d has grown from %d to %d kB", task, before, after)
		}
	}
	return nil
}

func most(rows []row, task int) (kb int) {
	for _, r := range rows {
		kb = max(kb, r.resident[task])
	}
	return kb
}
