/* refuse.h - has the kernel refuse membarrier, as sandboxes do, or other calls: by a filter. For
 * tests here and in cshim/ctest. */
#ifndef REFUSE_H
#define REFUSE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* From now on the kernel answers two system calls with error, in all threads of the process and in
 * what it executes. 0 if that worked; -1 where there are no such filters. */
static inline int refuse_calls(int error, int one, int other)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)one, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ==
	                       0
	               ? 0
	               : -1;
}

/* Likewise membarrier. */
static inline int refuse_membarrier(void)
{
	if (refuse_calls(EPERM, SYS_membarrier, SYS_membarrier) != 0)
		return -1;
	return syscall(SYS_membarrier, 0, 0, 0) < 0 && errno == EPERM ? 0 : -1;
}

#endif
