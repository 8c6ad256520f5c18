/*
 * spellings.c - every call by each of its Fortran names (guide, Table 10), as the loader finds
 * them: the plain name and the PLAPI names of a call are one entry, the other LAPI names, which
 * call the plain one, another; both differ from those of other calls. argv[1] is the golden list of
 * symbols, argv[2] the library.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;
static int names, wrong;

static void *entry(const char *prefix, const char *call, int upper, const char *suffix)
{
	char name[128];
	char *at = name;

	snprintf(name, sizeof name, "%s%s%s", prefix, call, suffix);
	for (; *at; at++)
		*at = (char)(upper ? toupper((unsigned char)*at) : tolower((unsigned char)*at));
	names++;
	return dlsym(library, name);
}

static void check(const char *call)
{
	static const char *const prefixes[] = {"lapi_", "plapi_"}, *const suffixes[] = {"", "_"};
	void *spelled = entry("lapi_", call, 0, "__"), *plain = entry("lapi_", call, 0, "");
	int i;

	for (i = 0; i < 8; i++) {
		void *other = entry(prefixes[i & 1], call, i >> 1 & 1, suffixes[i >> 2]);

		if (!other || other != ((i & 1) || i == 0 ? plain : spelled)) {
			printf("%s: not all names are the same\n", call);
			wrong++;
		}
	}
	if (plain == spelled ||
	    spelled == dlsym(library, strcmp(call, "Put") == 0 ? "lapi_get_" : "lapi_put_"))
		wrong++;
}

/* The calls are those that the golden has by their C names: "W LAPI_Put". */
int main(int argc, char **argv)
{
	FILE *golden = argc > 2 ? fopen(argv[1], "r") : NULL;
	char line[160], call[128];

	library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	if (!library && golden)
		fclose(golden);
	if (!golden || !library)
		return 2;
	while (fgets(line, sizeof line, golden))
		if (sscanf(line, "W LAPI_%127s", call) == 1 &&
		    strpbrk(call, "abcdefghijklmnopqrstuvwxyz"))
			check(call);
	fclose(golden);
	printf("spellings: %d passed, %d failed, 0 skipped\n", names, wrong);
	return wrong != 0 || names < 33 * 9;
}
