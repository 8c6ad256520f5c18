/*
 * fortran_null.c - the COMMON block of lapif.h: LAPI_ADDR_NULL, which arguments are compared with
 * by address, and LAPI_BYTE.
 *
 * The block is the program's own: it has one for each spelling that its compilers give to the name,
 * and so may a shared library that is loaded for itself alone. The library's blocks of these names
 * are there so that other shared libraries have one to share. So each loaded file is asked for the
 * block it sees, when the library is loaded and, for files loaded later, when Fortran calls
 * LAPI_INIT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "fortran/fortran.h"
#include "lapi/process.h"

/* 4- or 8-byte integers, as KIND=LAPI_ADDR_TYPE. */
typedef struct addresses {
	uintptr_t null, byte;
} addresses;

#define SHOWN __attribute__((visibility("default")))
#define SPELLED(name) extern SHOWN addresses name __attribute__((alias("lapi_addresses")));

SHOWN addresses lapi_addresses;
SPELLED(lapi_addresses_)
SPELLED(LAPI_ADDRESSES)
SPELLED(LAPI_ADDRESSES_)
SPELLED(lapi_addresses__)

static const char *const spellings[] = {"lapi_addresses", "lapi_addresses_", "LAPI_ADDRESSES",
                                        "LAPI_ADDRESSES_", "lapi_addresses__"};

enum { SPELLINGS = sizeof spellings / sizeof *spellings, FILES = 512 };

const void *cshim_fortran_nulls[CSHIM_FORTRAN_NULLS];
uint32_t cshim_fortran_null_count;

/*
 * The names of the loaded files. Their blocks are looked up after the walk: the loader is locked in
 * it.
 */
typedef struct names {
	const char *name[FILES];
	int count;
} names;

static int collect(struct dl_phdr_info *info, size_t size, void *argument)
{
	names *all = argument;

	(void)size;
	if (all->count < FILES)
		all->name[all->count++] = info->dlpi_name;
	return all->count == FILES;
}

static void add(addresses *found)
{
	uint32_t count = cshim_fortran_null_count;

	if (!found || count == CSHIM_FORTRAN_NULLS || cshim_fortran_null(&found->null))
		return;
	found->byte = (uintptr_t)cshim_byte();
	cshim_fortran_nulls[count] = &found->null;
	/*
	 * release: pairs with the acquire in cshim_fortran_null, which reads the entries below the
	 * count
	 */
	__atomic_store_n(&cshim_fortran_null_count, count + 1, __ATOMIC_RELEASE);
}

/* The blocks that one file and those it needs have. */
static void add_of(const char *file)
{
	void *handle = dlopen(*file ? file : NULL, RTLD_LAZY | RTLD_NOLOAD);
	int i;

	if (!handle)
		return;
	for (i = 0; i < SPELLINGS; i++)
		add(dlsym(handle, spellings[i]));
	dlclose(handle);
}

__attribute__((constructor)) void cshim_fortran_find_nulls(void)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	names all = {.count = 0};
	int i;

	pthread_mutex_lock(&one);
	add(&lapi_addresses);
	dl_iterate_phdr(collect, &all);
	for (i = 0; i < all.count; i++)
		add_of(all.name[i]);
	pthread_mutex_unlock(&one);
}
