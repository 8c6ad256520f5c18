package main

// #cgo LDFLAGS: -ldl
// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <link.h>
// #include <stdlib.h>
//
// // Where the loader finds a library; NULL: nowhere, or it cannot be loaded (why).
// static char *loaded_from(const char *name, const char **why)
// {
//	void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
//	struct link_map *map;
//
//	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
//		*why = dlerror();
//		return NULL;
//	}
//	return map->l_name;
// }
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"lapi/core/version"
	"lapi/cshim/munge"

	"golang.org/x/sys/unix"
)

// findLibrary is where a program's loader finds a library.
func findLibrary(name string) (path string, err error) {
	file := C.CString(name)
	defer C.free(unsafe.Pointer(file))
	var why *C.char
	from := C.loaded_from(file, &why)
	if from == nil {
		return "", fmt.Errorf("%s", C.GoString(why))
	}
	return C.GoString(from), nil
}

// library is which liblapi_r programs load: the loader's answer, or the one beside this command.
func library() section {
	const name = "liblapi_r.so.1"
	s := section{Title: "Library"}
	s.Items = append(s.Items, item{"lapi_info", fact, version.String(), ""})
	path, err := findLibrary(name)
	if err != nil {
		folder, _ := os.Executable()
		beside := filepath.Join(filepath.Dir(folder), "../lib", name)
		if _, missing := os.Stat(beside); missing == nil {
			s.Items = append(s.Items, libraryItem(beside, limited,
				"the loader finds it only for programs that were linked with its folder as run path; "+
					"for others set LD_LIBRARY_PATH="+filepath.Dir(beside)))
			return s
		}
		s.Items = append(s.Items, item{name, absent, err.Error(),
			"install it, or set LD_LIBRARY_PATH to its folder"})
		return s
	}
	s.Items = append(s.Items, libraryItem(path, works, ""))
	return s
}

var ident = regexp.MustCompile(regexp.QuoteMeta(version.Mark) + `([0-9][0-9A-Za-z.+~-]{0,60}):`)

func libraryItem(path string, how state, remedy string) item {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	of := "of a version before 0.2.0"
	text, err := os.ReadFile(path)
	if found := ident.FindSubmatch(text); found != nil {
		of = "version " + string(found[1])
		if string(found[1]) != version.String() {
			how, remedy = limited, "this lapi_info is of another version: its answers may differ"
		}
	} else if err != nil {
		of = err.Error()
	}
	return item{"liblapi_r", how, path + ", " + of, remedy}
}

func machine() section {
	var u unix.Utsname
	_ = unix.Uname(&u)
	host, _ := os.Hostname()
	return section{"Machine", []item{
		{"host", fact, host, ""},
		{"system", fact, "Linux " + string(bytes.TrimRight(u.Release[:], "\x00")) + ", " +
			runtime.GOARCH, ""},
		{"processors", fact, fmt.Sprintf("%d for this process", runtime.NumCPU()), ""},
		{"page size", fact, fmt.Sprintf("%d bytes", os.Getpagesize()), ""},
	}}
}

// launchers are the commands that can start a job, and what they need.
func launchers() section {
	s := section{Title: "Launchers"}
	for _, l := range []struct{ command, what, install string }{
		{"lapirun", "", "it comes with this library: add its folder to PATH"},
		{"mpiexec.hydra", "MPICH's, for several hosts", "Debian: package mpich"},
		{"mpirun", "Open MPI's or MPICH's, for several hosts", "Debian: package openmpi-bin"},
		{"srun", "Slurm's", ""},
	} {
		path, err := exec.LookPath(l.command)
		if self, _ := os.Executable(); err != nil && l.command == "lapirun" {
			path, err = exec.LookPath(filepath.Join(filepath.Dir(self), l.command))
		}
		if err != nil {
			s.Items = append(s.Items, item{l.command, absent, "not in PATH", l.install})
			continue
		}
		text := path
		if l.what != "" {
			text += " (" + l.what + ")"
		}
		s.Items = append(s.Items, item{l.command, works, text, ""})
	}
	pmix := item{"PMIx", works, "", ""}
	var err error
	if pmix.Text, err = findLibrary("libpmix.so.2"); err != nil {
		pmix = item{"PMIx", absent, "libpmix.so.2 is not installed",
			"needed under mpirun (Open MPI) and srun --mpi=pmix; Debian: package libpmix2"}
	}
	sealed := item{"munge", works, "its daemon answers; it seals the job key", ""}
	if _, err := munge.New().Seal([]byte("lapi_info")); err != nil {
		sealed = item{"munge", absent, err.Error(),
			"without it other users of a host where tasks meet could ask for the job's key"}
	}
	s.Items = append(s.Items, pmix, sealed)
	return s
}

// Values below which a limit is worth a remedy.
const (
	goodMemlock = 1 << 30
	goodFiles   = 4096
	goodBuffer  = 4 << 20
)

func limits() section {
	s := section{Title: "Limits"}
	s.Items = append(s.Items,
		limit("locked memory", unix.RLIMIT_MEMLOCK, goodMemlock, "bytes", "RDMA adapters can "+
			"register no more: ulimit -l unlimited, or a line 'memlock unlimited' in "+
			"/etc/security/limits.d; for Slurm PropagateResourceLimitsExcept=MEMLOCK"),
		limit("open files", unix.RLIMIT_NOFILE, goodFiles, "", "large jobs need about two for each "+
			"task of the host: ulimit -n"))
	for _, name := range []string{"rmem_max", "wmem_max"} {
		i := item{"net.core." + name, fact, "", ""}
		text, err := os.ReadFile("/proc/sys/net/core/" + name)
		if i.Text = strings.TrimSpace(string(text)) + " bytes"; err != nil {
			i.Text = "not known: " + err.Error()
		} else if n, _ := strconv.Atoi(strings.TrimSpace(string(text))); n < goodBuffer {
			i.State, i.Remedy = limited, fmt.Sprintf("bursts over UDP/IP lose packets, which are "+
				"sent again: sysctl -w net.core.%s=%d", name, goodBuffer)
		}
		s.Items = append(s.Items, i)
	}
	return s
}

func limit(name string, which int, good uint64, unit, remedy string) item {
	var l unix.Rlimit
	if err := unix.Getrlimit(which, &l); err != nil {
		return item{name, fact, "not known: " + err.Error(), ""}
	}
	show := func(n uint64) string {
		if n == unix.RLIM_INFINITY {
			return "unlimited"
		}
		return strings.TrimSpace(fmt.Sprintf("%d %s", n, unit))
	}
	i := item{name, fact, show(l.Cur) + ", at most " + show(l.Max), ""}
	if l.Cur < good {
		i.State, i.Remedy = limited, remedy
	}
	return i
}
