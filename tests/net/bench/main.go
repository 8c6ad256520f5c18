// Command bench measures the gain of several links over networks of its own (docs/network.md): the
// bandwidth of large puts over two links against one, each shaped to the same rate, and beside a
// TCP connection over one, and the longest pause of a put ping-pong when links fail.
//
//	bench [-build FOLDER] [-trials N] [-rate MBIT] [-cut DURATION] [-priority N] [-hogs N] [-fault NAME]
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"lapi/tests/net/world"
)

var (
	build  = flag.String("build", "build", "the folder with lapirun and the programs")
	trials = flag.Int("trials", 5, "runs of each kind, interleaved")
	rate   = flag.Int("rate", 400, "rate of each link, Mbit/s")
	chrt   = flag.Int("priority", 0,
		"real-time priority of the tasks, 1 to 99, on a machine that others use; 0: none. The kernel's threads that watch links wait then, too: for bandwidth only")
	only = flag.String("fault", "",
		"measure only the pause by this fault, none, bandwidth, or beside (TCP); empty: all")
	hogs = flag.Int("hogs", 0, "processes beside that compute all the time")
	cut  = flag.Duration("cut", 1500*time.Millisecond, "how long a link fails")
)

func main() {
	flag.Parse()
	if is, err := end(flag.Args()); is {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
	inside, status, err := world.Enter()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: this machine makes no networks: %v\n", err)
		os.Exit(1)
	case !inside:
		os.Exit(status)
	}
	stop, err := compute(*hogs)
	if err == nil {
		err = errors.Join(bandwidth(), beside(), failover())
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// compute starts n processes that do nothing else, and stop ends them. They end with this process,
// too, which is the first of its namespace.
func compute(n int) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range n {
		c := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err = c.Start(); err != nil {
			break
		}
		started = append(started, c)
	}
	return stop, err
}

// limit ends a run that hangs.
const limit = time.Minute

// job runs one task on each of two nodes. started, if not nil, is called when the job has written a
// line; it is for steady.
func job(w *world.World, device string, started func() error, program ...string) (output string,
	err error) {
	args := []string{"-euidevice", device}
	for n := range 2 {
		args = append(args, "--on", prefix(n)+w.Command(n))
	}
	args = append(args, "--", filepath.Join(*build, "net", program[0]))
	cmd := exec.Command(filepath.Join(*build, "bin/lapirun"), append(args, program[1:]...)...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(pipe)
	if started != nil {
		if _, err = lines.ReadString('\n'); err == nil {
			err = started()
		}
	}
	rest, readErr := io.ReadAll(lines)
	return string(rest), errors.Join(err, readErr, cmd.Wait())
}

// prefix is what is put before a node's command: a processor for each, and a priority, if that is
// asked for.
func prefix(node int) string {
	if *chrt == 0 {
		return ""
	}
	return fmt.Sprintf("chrt -f %d taskset -c %d ", *chrt, node%runtime.NumCPU())
}

var streamLine = regexp.MustCompile(`(?m)^stream: task 0: (\d+) bytes in (\d+) us$`)

// stream is the bandwidth of large puts in Mbit/s, for two seconds at the rate of one link.
func stream(w *world.World, device string) (float64, error) {
	return streamOf(w, device, max(*rate/4, 4))
}

// streamOf is the same for that many megabytes, and with more arguments of the program stream.
func streamOf(w *world.World, device string, megabytes int, more ...string) (float64, error) {
	out, err := job(w, device, nil, append([]string{"stream", strconv.Itoa(megabytes)}, more...)...)
	if err != nil {
		return 0, err
	}
	m := streamLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("stream says %q", out)
	}
	bytes, _ := strconv.ParseFloat(m[1], 64)
	micros, _ := strconv.ParseFloat(m[2], 64)
	return bytes * 8 / micros, nil
}

// bandwidth prints the bandwidth of two links against one.
func bandwidth() error {
	if *only != "" && *only != "bandwidth" {
		return nil
	}
	w, err := world.Build(world.Shape{Nodes: 2, Links: 2})
	if err != nil {
		return err
	}
	defer w.Close()
	for n := range 2 {
		for l := range 2 {
			if err := w.Limit(n, l, *rate); err != nil {
				return err
			}
		}
	}
	kinds := []struct{ name, device string }{{"one link", "eth0"}, {"two links", "sn_all"}}
	found := make([][]float64, len(kinds))
	for range *trials {
		for i, k := range kinds {
			mbit, err := stream(w, k.device)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			found[i] = append(found[i], mbit)
		}
	}
	fmt.Printf("1 MiB puts over links of %d Mbit/s each, %d runs\n", *rate, *trials)
	fmt.Printf("  %-12s %12s %12s %12s %10s\n", "", "median", "least", "most", "of one")
	for i, k := range kinds {
		fmt.Printf("  %-12s %7.0f Mb/s %7.0f Mb/s %7.0f Mb/s %10.2f\n", k.name, median(found[i]),
			slices.Min(found[i]), slices.Max(found[i]), median(found[i])/median(found[0]))
	}
	return nil
}

var steadyLine = regexp.MustCompile(`(?m)^steady: task 0: (\d+) rounds, longest pause (\d+) us$`)

// failover prints the longest pause of a ping-pong of small puts while one link after the other
// fails and comes back.
func failover() error {
	if *only == "bandwidth" || *only == "beside" {
		return nil
	}
	fmt.Printf(
		"Longest pause of a put ping-pong over two links, each of which fails for %v, %d runs\n",
		*cut, *trials)
	fmt.Printf("  %-12s %12s %12s %12s\n", "", "median", "least", "most")
	for _, fault := range append([]world.Fault{{Name: "none"}}, world.Faults...) {
		if *only != "" && *only != fault.Name {
			continue
		}
		var found []float64
		for range *trials {
			ms, err := pause(fault)
			if err != nil {
				return fmt.Errorf("%s: %w", fault.Name, err)
			}
			found = append(found, ms)
		}
		fmt.Printf("  %-12s %9.1f ms %9.1f ms %9.1f ms\n", fault.Name, median(found),
			slices.Min(found), slices.Max(found))
	}
	return nil
}

// pause is the longest pause in ms. A world is used once: a fault's remains in the kernel, such as
// neighbours that were not found, must not affect the next measurement.
func pause(fault world.Fault) (float64, error) {
	w, err := world.Build(world.Shape{Nodes: 2, Links: 2})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	lead := *cut / 3
	faults := func() error {
		for link := range 2 {
			time.Sleep(lead)
			if fault.Begin == nil {
				time.Sleep(*cut)
				continue
			}
			if err := fault.Begin(w, 1, link); err != nil {
				return err
			}
			time.Sleep(*cut)
			if err := fault.End(w, 1, link); err != nil {
				return err
			}
		}
		return nil
	}
	seconds := (2*(*cut+lead) + 2*lead).Seconds()
	out, err := job(w, "sn_all", faults, "steady", fmt.Sprintf("%.2f", seconds), "64")
	if err != nil {
		return 0, err
	}
	m := steadyLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("steady says %q", out)
	}
	us, _ := strconv.ParseFloat(m[2], 64)
	return us / 1000, nil
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
