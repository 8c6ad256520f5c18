/*
 * plugin_host.c - a C program without LAPI that loads a Fortran library with it: argv[1]. With a
 * further argument LAPI itself is loaded first, for everybody. Each task loads something else
 * before, so that nothing lies at the same address in two tasks by accident.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const char *task = getenv("MP_CHILD");
	void *plugin;
	int (*run)(void);
	int wrong;

	if (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL))
		fprintf(stderr, "%s\n", dlerror());
	if (task && atoi(task) % 2 == 1 && !dlopen("libm.so.6", RTLD_NOW))
		fprintf(stderr, "%s\n", dlerror());
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	run = plugin ? (int (*)(void))dlsym(plugin, "plugin_run") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	wrong = run();
	if (wrong)
		fprintf(stderr, "plugin: %d\n", wrong);
	else if (!task || atoi(task) == 0)
		printf("plugin: 1 passed, 0 failed, 0 skipped\n");
	return wrong != 0;
}
