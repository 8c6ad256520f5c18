/* forks.h - a child of a program that uses an adapter, which ends at once, executes a program, or
 * makes calls. For steady.c and ../../verbs/resume.c. */
#ifndef FORKS_H
#define FORKS_H

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* what: nothing, exec, or call: then `calls` says 1 if one has succeeded, which none may. Returns
 * whether the child has ended as it should. */
static inline int forks_well(const char *what, int (*calls)(void))
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		if (!strcmp(what, "exec"))
			execl("/bin/true", "true", (char *)NULL);
		if (!strcmp(what, "call"))
			_exit(calls());
		_exit(strcmp(what, "nothing") != 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

#endif
