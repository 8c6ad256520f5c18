/*
 * without.c - runs a command for which the kernel lacks system calls, as an older kernel does, or
 * refuses them, as a sandbox does.
 *
 * usage: without ENOSYS|EPERM CALL[,CALL...] COMMAND...   CALL: a name of the table, or from=NUMBER,
 *        which is every call from that number on
 *        without list                                     prints the names
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEPS = 64, NOT_RUN = 125 };

/* Numbers from 424 on are the same on all architectures. */
static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{"clone3", 435},
	{"close_range", 436},
	{"copy_file_range", SYS_copy_file_range},
	{"epoll_pwait2", 441},
	{"faccessat2", 439},
	{"futex_waitv", 449},
	{"getrandom", SYS_getrandom},
	{"io_uring_setup", 425},
	{"kcmp", SYS_kcmp},
	{"membarrier", SYS_membarrier},
	{"memfd_create", SYS_memfd_create},
	{"mlock2", SYS_mlock2},
	{"name_to_handle_at", SYS_name_to_handle_at},
	{"openat2", 437},
	{"pidfd_getfd", 438},
	{"pidfd_open", 434},
	{"pidfd_send_signal", 424},
	{"preadv2", SYS_preadv2},
	{"process_madvise", 440},
	{"process_vm_readv", SYS_process_vm_readv},
	{"process_vm_writev", SYS_process_vm_writev},
	{"recvmmsg", SYS_recvmmsg},
	{"rseq", SYS_rseq},
	{"sched_getattr", SYS_sched_getattr},
	{"sched_setattr", SYS_sched_setattr},
	{"seccomp", SYS_seccomp},
	{"sendmmsg", SYS_sendmmsg},
	{"statx", SYS_statx},
	{"userfaultfd", SYS_userfaultfd},
};

static struct sock_filter steps[STEPS];
static unsigned short used;

static void step(unsigned short code, unsigned k, unsigned char yes, unsigned char no)
{
	if (used == STEPS)
		exit(NOT_RUN);
	steps[used++] = (struct sock_filter){code, yes, no, k};
}

/* A comparison with the number, and the kernel's answer if it is true. */
static void refuse(unsigned short compare, unsigned number, unsigned answer)
{
	step(BPF_JMP | compare | BPF_K, number, 0, 1);
	step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer, 0, 0);
}

/* 0: there is no such call. */
static int add(const char *name, unsigned answer)
{
	size_t i;

	if (strncmp(name, "from=", 5) == 0) {
		refuse(BPF_JGE, (unsigned)atoi(name + 5), answer);
		return 1;
	}
	for (i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		if (strcmp(calls[i].name, name) == 0) {
			refuse(BPF_JEQ, calls[i].number, answer);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_fprog filter = {0, steps};
	unsigned answer;
	char *name;
	size_t i;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (i = 0; i < sizeof calls / sizeof calls[0]; i++)
			puts(calls[i].name);
		return 0;
	}
	if (argc < 4)
		return NOT_RUN;
	answer = strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS;
	step(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	for (name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
		if (!add(name, answer)) {
			fprintf(stderr, "without: no call %s\n", name);
			return NOT_RUN;
		}
	}
	step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	filter.len = used;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("without: no filter");
		return NOT_RUN;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return NOT_RUN;
}
