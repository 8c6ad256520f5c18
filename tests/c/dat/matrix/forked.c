/*
 * forked.c NAME - a server of uDAPL that forks before its first call: its children open the adapter
 * at the same time, then the parent does. Prints "forked: PASS".
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

enum { CHILDREN = 3, SECONDS = 30 };

static int opens(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	alarm(SECONDS);
	return dat_ia_open((char *)name, 8, &async, &ia) == DAT_SUCCESS &&
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
}

int main(int argc, char **argv)
{
	int i, status, good = 0;

	if (argc != 2)
		return 2;
	for (i = 0; i < CHILDREN; i++)
		if (fork() == 0)
			_exit(!opens(argv[1]));
	for (i = 0; i < CHILDREN; i++)
		good += wait(&status) > 0 && status == 0;
	if (good != CHILDREN || !opens(argv[1])) {
		printf("forked: FAIL: %d of %d children, or the parent\n", good, CHILDREN);
		return 1;
	}
	printf("forked: PASS\n");
	return 0;
}
