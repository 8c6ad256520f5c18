/* btl_lapi_library.c - liblapi_r: loaded when the component is asked for, and compared. */
#define _GNU_SOURCE /* dlinfo */
#include "btl_lapi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

btl_lapi_library liblapi;

/*
 * The component is not linked with the library. All programs share Open MPI's folder: a program
 * that does not ask for lapi must not get the library's threads. And if LD_LIBRARY_PATH finds an
 * older library, the component does not take part; linked, a missing symbol would end the process.
 */
int btl_lapi_load(char *why, size_t room)
{
	static const char *const names[] = {
#define NAME(call) #call,
		BTL_LAPI_CALLS(NAME)
#undef NAME
	};
	void *library = dlopen("liblapi_r.so.1", RTLD_NOW | RTLD_LOCAL), *call;
	struct link_map *place = NULL;

	if (!library) {
		snprintf(why, room, "%s", dlerror());
		return OPAL_ERR_NOT_FOUND;
	}
	dlinfo(library, RTLD_DI_LINKMAP, &place);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		call = dlsym(library, names[i]);
		if (!call) {
			snprintf(why, room, "%s is of another version: it has no %s",
			         place ? place->l_name : "liblapi_r.so.1", names[i]);
			return OPAL_ERR_NOT_FOUND;
		}
		memcpy((char *)&liblapi + i * sizeof call, &call, sizeof call);
	}
	liblapi.path = place ? place->l_name : "liblapi_r.so.1";
	return OPAL_SUCCESS;
}
