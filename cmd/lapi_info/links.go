package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"unsafe"

	"lapi/core/job/adapters"
	verbs "lapi/cshim/ibv"

	"golang.org/x/sys/unix"
)

// links reports the links by which tasks can reach each other from here.
func links() section {
	s := section{"Links", []item{sharedMemory(), crossMemory(), udp()}}
	s.Items = append(s.Items, rdma()...)
	return s
}

func sharedMemory() item {
	const size = 1 << 16
	i := item{"shared memory", works, "tasks of a host share memory", ""}
	fd, err := unix.MemfdCreate("lapi_info", unix.MFD_CLOEXEC)
	if err == nil {
		defer unix.Close(fd)
		err = unix.Ftruncate(fd, size)
	}
	if err == nil {
		var at []byte
		at, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			at[0] = 1
			err = unix.Munmap(at)
		}
	}
	if err != nil {
		i.State, i.Text = absent, "memfd_create: "+err.Error()
		i.Remedy = "tasks of this host use UDP/IP; a container's seccomp profile may forbid it"
	}
	return i
}

// targetName is the argument of the child whose memory crossMemory reads.
const targetName = "--memory-of-a-child"

// Memory that a child shows; its address is the same in the parent's binary only by luck, so the child
// prints it.
var shown = [8]byte{'l', 'a', 'p', 'i', '_', 'i', 'n', 'f'}

// beTarget prints where shown is, and waits until its standard input ends.
func beTarget() {
	fmt.Printf("%d\n", uintptr(unsafe.Pointer(&shown)))
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
}

// crossMemory reads a child's memory, as tasks of a host read each other's.
func crossMemory() item {
	i := item{"cross-memory", works, "long messages are copied once (process_vm_readv)", ""}
	if err := readChild(); err != nil {
		i.State, i.Text = absent, err.Error()+"; long messages are copied twice"
		scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
		switch n := strings.TrimSpace(string(scope)); {
		case n == "2" || n == "3":
			i.Remedy = "kernel.yama.ptrace_scope is " + n + ": sysctl -w kernel.yama.ptrace_scope=1"
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			i.Remedy = "a seccomp profile forbids it; containers: --cap-add=SYS_PTRACE, or a " +
				"profile that allows process_vm_readv and process_vm_writev"
		}
	}
	return i
}

func readChild() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, targetName)
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() { _ = child.Wait() }()
	defer in.Close()
	var at uintptr
	if _, err := fmt.Fscan(out, &at); err != nil {
		return err
	}
	var got [len(shown)]byte
	local := []unix.Iovec{{Base: &got[0]}}
	local[0].SetLen(len(got))
	n, err := unix.ProcessVMReadv(child.Process.Pid, local,
		[]unix.RemoteIovec{{Base: at, Len: len(got)}}, 0)
	if err != nil {
		return os.NewSyscallError("process_vm_readv", err)
	}
	if n != len(got) || got != shown {
		return errors.New("process_vm_readv reads something else")
	}
	return nil
}

func udp() item {
	node, err := adapters.List()
	if err != nil {
		return item{"UDP/IP", absent, err.Error(), ""}
	}
	var up []string
	for _, n := range node.Interfaces {
		if !n.Up || len(n.Addrs) == 0 {
			continue
		}
		var addrs []string
		for _, a := range n.Addrs {
			addrs = append(addrs, a.Addr().String())
		}
		up = append(up, fmt.Sprintf("%s %s (MTU %d)", n.Name, strings.Join(addrs, " "), n.MTU))
	}
	if up == nil {
		return item{"UDP/IP", absent, "no network interface is up, not even loopback",
			"ip link set lo up"}
	}
	return item{"UDP/IP", works, strings.Join(up, ", "), ""}
}

// rdma returns an item for each port. Where no port can be used, its one item has the reason.
func rdma() []item {
	none := func(text, remedy string) []item { return []item{{"RDMA adapter", absent, text, remedy}} }
	if _, err := findLibrary("libibverbs.so.1"); err != nil {
		return none("libibverbs.so.1 is not installed", "Debian: packages libibverbs1, ibverbs-providers, librdmacm1")
	}
	ports, err := verbs.List()
	if err != nil {
		return none(err.Error(), "")
	}
	var all []item
	for _, p := range ports {
		all = append(all, port(p))
	}
	if all != nil {
		return all
	}
	if names := verbs.Names(); len(names) > 0 {
		return none(strings.Join(names, ", ")+": no port is active, or its driver for libibverbs is missing",
			"Debian: package ibverbs-providers; ibv_devinfo shows the state of ports")
	}
	return none("the kernel has none (/sys/class/infiniband is empty)", "")
}

func port(p verbs.Port) item {
	i := item{fmt.Sprintf("RDMA adapter %s/%d", p.Name, p.Number), works, "", ""}
	d, err := verbs.Open(verbs.Choice{Name: p.Name, Port: p.Number, GIDIndex: -1})
	if err != nil {
		i.State, i.Text = absent, err.Error()
		return i
	}
	defer d.Close()
	info := d.Info()
	i.Text = fmt.Sprintf("GID %d %s, MTU %d", info.GIDIndex, netip.AddrFrom16(info.GID), info.MTU)
	if info.LID != 0 {
		i.Text += fmt.Sprintf(", LID %d", info.LID)
	}
	if !info.Active {
		i.State, i.Remedy = limited, "the port is down"
	}
	return i
}
