package shm

import "golang.org/x/sys/unix"

// Where the Yama module restricts ptrace to parents (kernel.yama.ptrace_scope is 1, the default of
// some distributions), cross-memory attach needs the consent of the process whose memory it is.

// setTracer is prctl(PR_SET_PTRACER); a variable for tests.
var setTracer = func(tracer uintptr) error {
	return unix.Prctl(unix.PR_SET_PTRACER, tracer, 0, 0, 0)
}

// anyTracer stands for every process of the user.
const anyTracer = ^uintptr(0)

// admitPeers lets the tasks of the node copy from and to this process's memory. launcher is a
// process whose descendants they all are: then nobody else is let in. Of tasks started by hand no
// such process is known, so every process of the user is let in, as without Yama.
//
// It stays so after Close: the consent is the process's, the program may have given its own
// meanwhile, and the kernel does not say which is in force. An earlier consent is replaced. Without
// Yama the kernel refuses the call, and nothing needs it.
func admitPeers(launcher int) {
	if launcher > 0 && setTracer(uintptr(launcher)) == nil {
		return
	}
	_ = setTracer(anyTracer)
}
