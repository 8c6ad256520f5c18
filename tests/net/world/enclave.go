// Package world makes networks for tests and measurements: nodes that are network namespaces, links
// that are veth pairs, switches that are bridges (docs/network.md). All of it lives in an enclave,
// a set of namespaces of its own for mounts, networks and processes, which the kernel takes down,
// with everything in it, when its first process ends in whatever way.
package world

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVariable is set in the first process of an enclave.
const insideVariable = "LAPI_NET_INSIDE"

// Enter makes the program run in an enclave. In the first process it starts the program once more,
// with the same arguments, in a new enclave, and returns inside false with that one's exit status;
// there it returns inside true. An error: this machine does not allow it.
//
// To be called first in main. A user who is not root becomes root inside, where the kernel permits
// that.
func Enter() (inside bool, status int, err error) {
	if os.Getenv(insideVariable) != "" {
		os.Unsetenv(insideVariable)
		return true, 0, prepare()
	}
	runtime.LockOSThread() // the death signal is sent when the thread ends that started the process
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if unix.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: unix.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: unix.Getegid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return false, 0, fmt.Errorf("namespaces: %w", err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() < 0 {
			return false, 128 + int(exit.Sys().(syscall.WaitStatus).Signal()), nil
		}
		return false, exit.ExitCode(), nil
	}
	return false, 0, err
}

// prepare gives the enclave a /proc of its own processes and an empty /run, where ip keeps its
// names of namespaces and iptables its lock.
func prepare() error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"none", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	return os.Mkdir("/run/netns", 0o755)
}
