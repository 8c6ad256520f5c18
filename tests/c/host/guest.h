/* guest.h - the state of a process that the library must not change, as a record that can be
 * compared. */
#ifndef GUEST_H
#define GUEST_H

#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { GUEST_SIGNALS = 65, GUEST_FD = 1024 };

typedef struct guest_state {
	struct sigaction actions[GUEST_SIGNALS];
	sigset_t mask;
	struct rlimit limits[RLIMIT_NLIMITS];
	stack_t alternate;
	int descriptors, low; /* how many; how many below 3 */
	int open_at_exec;     /* new ones that exec would not close */
	char cwd[4096], name[16], locale[256];
	mode_t umask;
	unsigned long environment; /* a sum of its strings */
	unsigned control, mxcsr;
	int nice, dumpable, subreaper, death_signal;
} guest_state;

/* Sanitizers and profilers have threads and handlers of their own. */
static inline int guest_is_instrumented(void)
{
	return getenv("GUEST_INSTRUMENTED") != NULL;
}

static inline int guest_threads(void)
{
	DIR *all = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;
	while (all && (entry = readdir(all)) != NULL)
		n += entry->d_name[0] != '.';
	if (all)
		closedir(all);
	return n;
}

static inline void guest_look_at_descriptors(guest_state *s)
{
	static char was[GUEST_FD];
	static int looked;
	int fd;
	s->descriptors = s->low = s->open_at_exec = 0;
	for (fd = 0; fd < GUEST_FD; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags < 0)
			continue;
		s->descriptors++;
		s->low += fd < 3;
		if (!looked)
			was[fd] = 1;
		else if (!was[fd])
			s->open_at_exec += !(flags & FD_CLOEXEC);
	}
	looked = 1;
}

static inline void guest_look(guest_state *s)
{
	extern char **environ;
	int i;
	char **e;
	const char *c;
	memset(s, 0, sizeof *s);
	for (i = 1; i < GUEST_SIGNALS; i++) {
		struct sigaction action;
		memset(&action, 0, sizeof action);
		if (sigaction(i, NULL, &action) != 0)
			continue;
		/* member by member: what lies between, and most of the mask, is not written */
		s->actions[i].sa_sigaction = action.sa_sigaction;
		s->actions[i].sa_flags = action.sa_flags;
		memcpy(&s->actions[i].sa_mask, &action.sa_mask, GUEST_SIGNALS / 8);
	}
	sigprocmask(SIG_SETMASK, NULL, &s->mask);
	for (i = 0; i < RLIMIT_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &s->limits[i]);
	sigaltstack(NULL, &s->alternate);
	guest_look_at_descriptors(s);
	if (!getcwd(s->cwd, sizeof s->cwd))
		s->cwd[0] = 0;
	prctl(PR_GET_NAME, s->name);
	snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
	s->umask = umask(0);
	umask(s->umask);
	for (e = environ; *e; e++)
		for (c = *e; *c; c++)
			s->environment = s->environment * 31 + (unsigned char)*c;
#if defined(__x86_64__) || defined(__i386__)
	{
		fenv_t modes;
		fegetenv(&modes);
		fesetenv(&modes);
		s->control = modes.__control_word;
#if defined(__x86_64__)
		s->mxcsr = modes.__mxcsr & ~0x3fu; /* without what has happened */
#endif
	}
#endif
	s->nice = getpriority(PRIO_PROCESS, 0);
	s->dumpable = prctl(PR_GET_DUMPABLE);
	prctl(PR_GET_CHILD_SUBREAPER, &s->subreaper);
	prctl(PR_GET_PDEATHSIG, &s->death_signal);
}

#define GUEST_SAME(member) \
	guest_same(#member, when, memcmp(&a->member, &b->member, sizeof a->member) == 0)

static inline void guest_same(const char *what, const char *when, int same)
{
	if (same)
		return;
	fprintf(stderr, "pid %d: %s: %s has changed\n", (int)getpid(), when, what);
	HOST_CHECK(same);
}

static inline void guest_compare(const guest_state *a, const guest_state *b, const char *when)
{
	int i;
	for (i = 1; i < GUEST_SIGNALS; i++)
		if (i != SIGSEGV && i != SIGBUS &&
		    memcmp(&a->actions[i], &b->actions[i], sizeof a->actions[i]) != 0) {
			fprintf(stderr, "signal %d: ", i);
			GUEST_SAME(actions[i]);
		}
	GUEST_SAME(mask);
	GUEST_SAME(limits);
	GUEST_SAME(alternate);
	GUEST_SAME(low);
	GUEST_SAME(open_at_exec);
	GUEST_SAME(cwd);
	GUEST_SAME(name);
	GUEST_SAME(locale);
	GUEST_SAME(umask);
	GUEST_SAME(environment);
	GUEST_SAME(control);
	GUEST_SAME(mxcsr);
	GUEST_SAME(nice);
	GUEST_SAME(dumpable);
	GUEST_SAME(subreaper);
	GUEST_SAME(death_signal);
}

/* A child that was forked goes its own way, and ends with its own status. */
static inline void guest_forks(void)
{
	int status = 0;
	pid_t child;
	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(7);
	HOST_CHECK(child > 0 && waitpid(child, &status, 0) == child);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

#endif
