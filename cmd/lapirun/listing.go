package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
	"lapi/core/job/adapters"
)

// A node's interfaces are listed by a process that is started like its tasks: under the node's
// command, with a socket to lapirun at the same descriptor. So it also shows, before any task is
// started, that the command works and lets that socket through.

// listName is argument 1 of that process, which is lapirun itself.
const listName = "--lapi-list-interfaces"

// listLimit is how long a command may take to start something.
const listLimit = 30 * time.Second

// list is that process: it writes what it sees to the launcher's socket.
func list() int {
	if err := sendNode(os.Getenv(job.LauncherVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	return 0
}

func sendNode(launcher string) error {
	if launcher == "" {
		return errors.New("the command does not pass the environment on")
	}
	if again, err := job.LauncherValue(launcherFD, launcherFD); err != nil || again != launcher {
		return fmt.Errorf("the command closes descriptor %d, by which tasks reach lapirun",
			launcherFD)
	}
	n, err := adapters.List()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.NewFile(launcherFD, "lapirun")).Encode(n)
}

// networkOf asks for a node's interfaces. lapirun is first started from /proc, where it is found
// whatever the command makes of the file system as long as that is mounted, then from its own
// place.
func (j *launch) networkOf(n *node) (adapters.Node, error) {
	if len(n.prefix) == 0 {
		return adapters.List()
	}
	all, err := j.listUnder(n, fmt.Sprintf("/proc/%d/exe", os.Getpid()))
	if err == nil {
		return all, nil
	}
	own, ownErr := os.Executable()
	if ownErr != nil {
		return all, err
	}
	return j.listUnder(n, own)
}

func (j *launch) listUnder(n *node, lapirun string) (all adapters.Node, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return all, os.NewSyscallError("socketpair", err)
	}
	answer, control := os.NewFile(uintptr(pair[0]), "answer"),
		os.NewFile(uintptr(pair[1]), "control")
	defer answer.Close()
	launcher, err := job.LauncherValue(launcherFD, pair[1])
	if err != nil {
		control.Close()
		return all, err
	}
	var said bytes.Buffer
	cmd := exec.Command(n.prefix[0], append(n.prefix[1:], lapirun, listName)...)
	// the last of one name counts
	cmd.Env = append(slices.Clip(j.environ), job.LauncherVariable+"="+launcher)
	cmd.ExtraFiles = make([]*os.File, launcherFD-2)
	cmd.ExtraFiles[launcherFD-3] = control
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second // what it has left behind may hold its output open
	err = cmd.Start()
	control.Close()
	if err != nil {
		return all, err
	}
	limit := time.AfterFunc(listLimit, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	readErr := json.NewDecoder(answer).Decode(&all)
	err = cmd.Wait()
	switch {
	case !limit.Stop():
		return all, fmt.Errorf("it has started nothing within %v", listLimit)
	case readErr == nil:
		return all, nil
	case err != nil:
		return all, withOutput(err.Error(), said.String())
	}
	return all, withOutput("it ends without running what follows it", said.String())
}

// withOutput is an error with a command's output on its standard error.
func withOutput(text, said string) error {
	if said = strings.Join(strings.Fields(said), " "); said == "" {
		return errors.New(text)
	}
	return fmt.Errorf("%s (%s)", said, text)
}
