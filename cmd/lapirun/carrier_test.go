package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A veth pair has a carrier when both ends are up. lapirun finds one without, and it comes.
func TestLateCarrier(t *testing.T) {
	const network = `ip link add late type veth peer name other && ip addr add 10.9.9.1/24 dev late && ip link set late up`
	if out, err := exec.Command("unshare", "-n", "sh", "-c", network).CombinedOutput(); err != nil {
		t.Skipf("skipped: no networks to be made here: %v %s", err, out)
	}
	run := func(script string) *lr {
		cmd := prepare()
		lapirun := strings.Join(append(cmd.Args, "-euidevice", "late", "sh", "-c", "'echo $MP_LAPI_INET_ADDR'"), " ")
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Args = unshare, []string{"unshare", "-n", "sh", "-c",
			network + "; " + strings.ReplaceAll(script, "LAPIRUN", lapirun)}
		return startCmd(t, cmd)
	}
	r := run(`(sleep 1; ip link set other up) & LAPIRUN`).want(0)
	if r.out() != "@1:10.9.9.1,late\n" ||
		!strings.Contains(r.err(), "waiting for a carrier on late, 5s at most") {
		t.Errorf("%q %q", r.out(), r.err())
	}
	r = run(`LAPIRUN`).want(1)
	if !strings.Contains(r.err(), "no carrier on late after 5s") ||
		!strings.Contains(r.err(), "has device late (MP_EUIDEVICE) without a carrier") {
		t.Errorf("%q", r.err())
	}
	// the kernel notices in its own time
	const up = `ip link set other up; until ip -o link show late | grep -q "state UP"; do sleep 0.02; done; `
	if r := run(up + `LAPIRUN`).want(0); r.err() != "" {
		t.Errorf("with a carrier: %q", r.err())
	}
}
