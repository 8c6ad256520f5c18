package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Command lines, as a launcher gets them. DIR stands for the working directory.
func TestDelegation(t *testing.T) {
	commands := write(t, filepath.Join(t.TempDir(), "c"), "./a 1\n./a 1\nsh -c 'it''s'\n")
	own := []string{"MP_INFOLEVEL=1", "FOO=bar", "MP_CHILD=7", "LAPI_LAUNCHER_FD=60:1", "MP_NODES=9"}
	for _, k := range []struct {
		how  func(*delegation) error
		line string
		want string
		env  string // of the launcher
	}{
		{hydra, "-H n1:2,n2:2 -l -x FOO -x BAR=7 p a",
			"-hosts n1:2,n2:2 -genvall -bind-to none -prepend-rank -wdir DIR -n 4 p a", "BAR=7"},
		{hydra, "-H n1,n2 -k --bind core -stdinmode all -output o.%t -euidevice eth0 p",
			"-hosts n1:1,n2:1 -genvall -bind-to core -outfile-pattern=o.%r -errfile-pattern=o.%r " +
				"-s all -disable-auto-cleanup -wdir DIR -n 2 p", "MP_EUIDEVICE=eth0"},
		{hydra, "-H n1:3 -wdir / -error e.%t -cmdfile " + commands,
			"-hosts n1:3 -genvall -bind-to none -errfile-pattern=e.%r -wdir / " +
				"-n 2 ./a 1 : -n 1 sh -c its", ""},
		{openMPI, "-H n1:2,n2:2 -l -k -x FOO -x BAR=7 -stdinmode none p a",
			"-H n1:2,n2:2 --map-by slot --bind-to none --tag-output --stdin none " +
				"--mca orte_abort_on_non_zero_status 0 -n 4 -wdir DIR " +
				"-x BAR -x FOO -x LAPI_USE_SHM -x MP_EUILIB -x MP_INFOLEVEL -x MP_MSG_API -x MP_STDINMODE p a", "BAR=7"},
		{openMPI, "-H n1:3 -cmdfile " + commands, "-H n1:3 --map-by slot --bind-to none -n 2 -wdir DIR " +
			"-x LAPI_USE_SHM -x MP_EUILIB -x MP_INFOLEVEL -x MP_MSG_API ./a 1 : -n 1 -wdir DIR " +
			"-x LAPI_USE_SHM -x MP_EUILIB -x MP_INFOLEVEL -x MP_MSG_API sh -c its", ""},
		{hydra, "-H n1 -labelio host --report-bindings p",
			"-hosts n1:1 -genvall -bind-to none -prepend-pattern %h:%r: -wdir DIR -n 1 p",
			"HYDRA_TOPO_DEBUG=1"},
		{openMPI, "-H n1 --report-bindings p", "-H n1:1 --map-by slot --bind-to none " +
			"--report-bindings -n 1 -wdir DIR -x LAPI_USE_SHM -x MP_EUILIB -x MP_INFOLEVEL " +
			"-x MP_MSG_API p", ""},
		{slurm, "-N 2 -ppn 1 --report-bindings p", "--mpi=pmi2 --export=ALL --unbuffered " +
			"--kill-on-bad-exit=1 --cpu-bind=verbose,none --input=0 --chdir=DIR -n 2 -N 2 " +
			"--distribution=block --ntasks-per-node=1 p", ""},
		{slurm, "-nodes 2 -tasks_per_node 3 -l p a",
			"--mpi=pmi2 --export=ALL --unbuffered --kill-on-bad-exit=1 --cpu-bind=none --label --input=0 " +
				"--chdir=DIR -n 6 -N 2 --distribution=block --ntasks-per-node=3 p a", "MP_INFOLEVEL=1"},
		{slurm, "-n 6 -nodes 4 -k --bind core -output o.%t -error e.%t -stdinmode all p",
			"--mpi=pmi2 --export=ALL --unbuffered --kill-on-bad-exit=0 --cpu-bind=cores --output=o.%t " +
				"--error=e.%t --chdir=DIR -n 6 -N 4 --distribution=block p", ""},
		{slurm, "-H n1:2,n2:2 p", "--mpi=pmi2 --export=ALL --unbuffered --kill-on-bad-exit=1 --cpu-bind=none " +
			"--input=0 --chdir=DIR -n 4 -N 2 --distribution=block --ntasks-per-node=2 --nodelist=n1,n2 p", ""},
		{slurm, "-H n1:2,n2 p", "--mpi=pmi2 --export=ALL --unbuffered --kill-on-bad-exit=1 --cpu-bind=none " +
			"--input=0 --chdir=DIR -n 3 --distribution=arbitrary --nodelist=n1,n1,n2 p", ""},
		{slurm, "-H n1:3 -cmdfile " + commands, "--mpi=pmi2 --export=ALL --unbuffered --kill-on-bad-exit=1 " +
			"--cpu-bind=none --input=0 --chdir=DIR -n 3 -N 1 --distribution=block --ntasks-per-node=3 --nodelist=n1 " +
			"sh -c case $SLURM_PROCID in 0) exec './a' '1';; 1) exec './a' '1';; 2) exec 'sh' '-c' 'its';; esac", ""},
	} {
		o, err := parse(strings.Fields(k.line), nil)
		if err != nil || !o.place.away {
			t.Errorf("%s: %v", k.line, err)
			continue
		}
		d, err := newDelegation(o, own)
		if err == nil {
			err = k.how(d)
		}
		dir, _ := os.Getwd()
		if want := strings.ReplaceAll(k.want, "DIR", dir); err != nil ||
			strings.Join(d.args, " ") != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", k.line, err, strings.Join(d.args, " "), want)
		}
		env := d.environment(own)
		for _, e := range strings.Fields(k.env + " MP_MSG_API=lapi FOO=bar") {
			if name, value, _ := strings.Cut(e, "="); lookup(env, name) != value {
				t.Errorf("%s: %s=%s, not %s", k.line, name, lookup(env, name), value)
			}
		}
		for _, name := range []string{"MP_CHILD", "LAPI_LAUNCHER_FD", "MP_NODES", "MP_PROCS"} {
			if lookup(env, name) != "" {
				t.Errorf("%s: %s is passed on", k.line, name)
			}
		}
	}
	if got := byRank([][]string{{"a", "it's $x"}}); got !=
		`case $SLURM_PROCID in 0) exec 'a' 'it'\''s $x';; esac` {
		t.Errorf("%s", got)
	}
}

func TestDelegationRefused(t *testing.T) {
	for _, k := range []struct {
		how        func(*delegation) error
		line, says string
	}{
		{hydra, "-nodes 2 p", "need -hostfile or -H, or a Slurm allocation"},
		{openMPI, "-nodes 2 p", "need -hostfile or -H, or a Slurm allocation"},
		{openMPI, "-H a -output o.%t p", "no file for each task"},
	} {
		o, err := parse(strings.Fields(k.line), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDelegation(o, nil)
		if err == nil {
			err = k.how(d)
		}
		if err == nil || !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s: %v", k.line, err)
		}
	}
	o, err := parse(strings.Fields("-H a:2 --grace 1 -stdoutmode ordered p"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := newDelegation(o, nil); len(d.notes) != 2 {
		t.Errorf("%q", d.notes)
	}
}

func TestFindLauncher(t *testing.T) {
	for _, k := range []struct {
		there, environ, version, want string
	}{
		{"srun mpiexec.hydra mpirun", "SLURM_JOB_ID=5", "", "srun"},
		{"srun mpiexec.hydra mpirun", "", "", "mpiexec.hydra"},
		{"mpiexec.hydra", "SLURM_JOB_ID=5", "", "mpiexec.hydra"},
		{"srun mpirun", "", "mpirun (Open MPI) 4.1.4", "mpirun"},
		{"mpirun", "", "HYDRA build details:", "mpirun"},
		{"mpirun", "", "something else", "neither Open MPI nor MPICH"},
		{"srun", "", "", "install MPICH"},
		{"", "", "", "install MPICH"},
	} {
		l, err := findLauncher([]string{k.environ}, func(name string) (string, error) {
			if strings.Contains(" "+k.there+" ", " "+name+" ") {
				return name, nil
			}
			return "", errors.New("none")
		}, func(string) string { return k.version })
		if got := l.path; got != k.want && (err == nil || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%+v: %s, %v", k, got, err)
		}
	}
}

// lapirun becomes the launcher that it finds in PATH.
func TestBecomesLauncher(t *testing.T) {
	dir := t.TempDir()
	fake := func(name, version string) {
		script := "#!/bin/sh\n[ \"$1\" != --version ] || { echo '" + version + "'; exit; }\n" +
			"echo \"$0 $*\"; echo \"env $MP_MSG_API $BAR ${MP_CHILD-none}\"; /bin/cat; exit 17\n"
		if err := os.Chmod(write(t, filepath.Join(dir, name), script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(environ string, args ...string) *lr {
		cmd := prepare(args...)
		cmd.Env = append(cmd.Env, "PATH="+dir, "MP_CHILD=3", "SLURM_JOB_ID=", environ)
		cmd.Stdin = strings.NewReader("input\n")
		return startCmd(t, cmd)
	}
	args := []string{"-H", "n1:2,n2:2", "-x", "BAR=x y", "./p", "a b"}
	if r := run("", args...).want(127); !strings.Contains(r.err(), "install MPICH") {
		t.Errorf("%q", r.err())
	}
	fake("mpirun", "mpirun (Open MPI) 4.1.4")
	for _, k := range []struct{ environ, begins, ends string }{
		{"", "/mpirun -H n1:2,n2:2 ", " ./p a b"},
		{"", "/mpiexec.hydra -hosts n1:2,n2:2 ", " -n 4 ./p a b"},
		{"SLURM_JOB_ID=1", "/srun --mpi=pmi2 ", " --nodelist=n1,n2 ./p a b"},
	} {
		fake(strings.Fields(k.begins[1:])[0], "mpirun (Open MPI) 4.1.4")
		r := run(k.environ, args...).want(17)
		line, rest, _ := strings.Cut(r.out(), "\n")
		if !strings.HasPrefix(line, dir+k.begins) || !strings.HasSuffix(line, k.ends) ||
			rest != "env lapi x y none\ninput\n" {
			t.Errorf("%q", r.out())
		}
	}
	if r := run("", append([]string{"-stdinmode", "none"}, args...)...).want(17); strings.Contains(
		r.out(), "input") {
		t.Errorf("%q", r.out())
	}
}
