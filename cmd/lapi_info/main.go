// Command lapi_info says what this library can use on this machine, what it cannot use and why, and
// which settings are in force. See usage for the user's view.
//
// It asks the same packages that the library is made of, so that its answers are the library's. It
// changes nothing, and needs neither a job nor a launcher.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"lapi/core/version"
	_ "lapi/invariant/thrown"
)

const usage = `Usage: lapi_info [--json] [--settings] [NAME ...]

Prints the version, the links and adapters that LAPI and uDAPL can use on this
machine and why others cannot be used, the launchers that are there, limits with
what to change, and all settings (environment variables) with their values and
where they were set.

  --json          the same as JSON
  --settings      the settings only
  NAME ...        these settings only
  -h, --help      this text
  -V, --version   the version

Run it where tasks run, and in their environment, as in 'srun -N 1 lapi_info'.
Exit status: 0; 1: a NAME is no setting, or output failed; 2: bad usage.
`

// Exit statuses.
const (
	exitUnknown = 1
	exitUsage   = 2
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == targetName {
		beTarget()
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("lapi_info", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	settingsOnly := flags.Bool("settings", false, "")
	versionOnly := flags.Bool("version", false, "")
	flags.BoolVar(versionOnly, "V", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return 0
	case err != nil:
		fmt.Fprintf(errs, "lapi_info: %v\nTry 'lapi_info -h' for the options.\n", err)
		return exitUsage
	case *versionOnly:
		fmt.Fprint(out, version.Line("lapi_info"))
		return 0
	}
	r := &report{}
	if !*settingsOnly && flags.NArg() == 0 {
		r.Sections = []section{library(), machine(), links(), launchers(), limits()}
	}
	status := 0
	if err := r.addSettings(flags.Args(), os.LookupEnv, os.Environ()); err != nil {
		fmt.Fprintf(errs, "lapi_info: %v\n", err)
		status = exitUnknown
	}
	write := r.text
	if *asJSON {
		write = r.json
	}
	if err := write(out); err != nil {
		fmt.Fprintf(errs, "lapi_info: %v\n", err)
		return exitUnknown
	}
	return status
}
