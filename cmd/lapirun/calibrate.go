package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport/calibration"
)

// This file is `lapirun --calibrate`: it runs calibrate/transfers.c as jobs of two tasks, each with
// a table of sizes to try, and writes the table that was best where LAPI_Init finds it. choose.go
// decides.

const (
	calibrateRounds = 5
	pointTime       = 4 * time.Millisecond // for each way of each size in a round
	jobLimit        = 2 * time.Minute
)

// calibrator runs the jobs.
type calibrator struct {
	transfers string // the program
	launcher  string // this one
	environ   []string
	table     *os.File // what to try, in memory: nothing is left on disk however this process ends
	machine   calibration.Machine
	seen      samples
}

// calibrate returns lapirun's status.
func calibrate(name string, environ []string) int {
	path, err := calibrationPath(environ)
	if err == nil {
		err = calibrateTo(path, environ)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: --calibrate: %v\n", name, err)
		return exitFailure
	}
	return 0
}

// calibrationPath is where the result goes.
func calibrationPath(environ []string) (string, error) {
	if lookup(environ, calibration.Variable) == calibration.Off {
		return "", fmt.Errorf("%s=%s: there is no file to write; unset it, or name one",
			calibration.Variable, calibration.Off)
	}
	path := calibration.Path(func(name string) (string, bool) {
		v := lookup(environ,
			name)
		return v, v != ""
	})
	if path == "" {
		return "",
			fmt.Errorf("neither %s nor XDG_CACHE_HOME nor HOME says where the result is to be",
				calibration.Variable)
	}
	return path, nil
}

func calibrateTo(path string, environ []string) error {
	var processors unix.CPUSet
	if err := unix.SchedGetaffinity(0, &processors); err == nil && processors.Count() < 2 {
		return errors.New("two tasks need a processor each, and only one may be used")
	}
	launcher, err := os.Executable()
	if err != nil {
		return err
	}
	c := &calibrator{launcher: launcher, environ: trialEnviron(environ),
		machine: calibration.ThisMachine(), seen: samples{}}
	if c.transfers, err = transfersOf(launcher); err != nil {
		return err
	}
	if c.table, err = tableInMemory(); err != nil {
		return err
	}
	defer c.table.Close()
	if err := c.measure(); err != nil {
		return err
	}
	table := c.seen.choose()
	fmt.Print(c.seen.report(table))
	if err := calibration.Save(path, table, &c.machine); err != nil {
		return err
	}
	fmt.Printf("Written to %s. LAPI_Init reads it; remove it to have the built-in sizes again.\n",
		path)
	return nil
}

// transfersOf finds the program beside the launcher, wherever both were installed.
func transfersOf(launcher string) (string, error) {
	path := filepath.Join(filepath.Dir(launcher), "..", "libexec", "lapi", "transfers")
	if err := unix.Access(path, unix.X_OK); err != nil {
		return "", fmt.Errorf("%s, which is installed with lapirun: %w", path, err)
	}
	return path, nil
}

// trialEnviron is the user's environment without what would change a trial.
func trialEnviron(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		return strings.HasPrefix(e, "MP_") || strings.HasPrefix(e, "LAPI_")
	})
	return append(kept, "LAPI_USE_SHM=only", "MP_INFOLEVEL=1")
}

// tableInMemory is a file that only this process and those that find it by /proc know of.
func tableInMemory() (*os.File, error) {
	fd, err := unix.MemfdCreate("lapi-calibrate", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)), nil
}

// put makes t the table of the next trial.
func (c *calibrator) put(t *calibration.Table) error {
	if err := c.table.Truncate(0); err != nil {
		return err
	}
	_, err := c.table.WriteAt([]byte(calibration.Format(t, &c.machine)), 0)
	return err
}

// measure runs every trial in each round, so that what else the machine does meets all of them.
func (c *calibrator) measure() error {
	for round := 1; round <= calibrateRounds; round++ {
		fmt.Printf("round %d of %d: puts in chunks of", round, calibrateRounds)
		for _, bytes := range chunkCandidates {
			fmt.Printf(" %d", bytes>>10)
			if err := c.trial("chunks", bytes); err != nil {
				return err
			}
		}
		fmt.Println(" KiB; directly, or in packets")
		if err := c.trial("direct", chunkCandidates[len(chunkCandidates)-1]); err != nil {
			return err
		}
	}
	return nil
}

// trial is one job, in which all data goes in chunks of so many bytes.
func (c *calibrator) trial(what string, chunk uint64) error {
	table := calibration.BuiltIn()
	table.Chunks = []calibration.Chunk{{From: 0, Bytes: chunk}}
	if err := c.put(table); err != nil {
		return err
	}
	job := exec.Command(c.launcher, "-n", "2", "--", c.transfers, what,
		fmt.Sprint(pointTime.Milliseconds()))
	job.Env = append(slices.Clone(c.environ), calibration.Variable+"="+c.table.Name())
	var said bytes.Buffer
	job.Stderr = &said
	job.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGTERM}
	limit := time.AfterFunc(jobLimit, func() { _ = job.Process.Signal(unix.SIGTERM) })
	out, err := job.Output()
	limit.Stop()
	// A word about the table means that it was not in force.
	if err == nil && said.Len() > 0 {
		err = errors.New("it had something to say")
	}
	if err == nil {
		err = c.seen.read(string(out), chunk)
	}
	if err != nil {
		return fmt.Errorf("the trial %q of %s: %w\n%s", what, c.transfers, err, said.String())
	}
	return nil
}
