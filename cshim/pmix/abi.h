/*
 * abi.h - of the binary interface of libpmix.so.2 what pmix.c uses, so that no header is needed to
 * build. Tried with PMIx 4.2 and 5.0.
 */
#ifndef CSHIM_PMIX_ABI_H
#define CSHIM_PMIX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { PMIX_OK = 0 };
enum { PMIX_GLOBAL = 3 };
enum { PMIX_INT32 = 9, PMIX_INT = 6, PMIX_UINT16 = 13, PMIX_UINT32 = 14, PMIX_UINT64 = 15 };
enum { PMIX_BOOL = 1, PMIX_BYTES = 27 };
#define PMIX_WILDCARD 4294967294u

struct pmix_proc {
	char nspace[256];
	uint32_t rank;
};

struct pmix_value {
	uint16_t type;
	union {
		_Bool flag;
		int32_t int32;
		uint16_t uint16;
		uint32_t uint32;
		uint64_t uint64;
		struct {
			char *bytes;
			size_t size;
		} object;
		struct { /* nothing is larger */
			char *text[2];
			char separator;
		} variable;
	} of;
};

struct pmix_info {
	char key[512];
	uint32_t flags;
	struct pmix_value value;
};

#if UINTPTR_MAX > 0xffffffff
_Static_assert(sizeof(struct pmix_proc) == 260, "proc");
_Static_assert(sizeof(struct pmix_value) == 32 && offsetof(struct pmix_value, of) == 8, "value");
_Static_assert(sizeof(struct pmix_info) == 552 && offsetof(struct pmix_info, value) == 520, "info");
#endif

struct pmix_calls {
	int (*init)(struct pmix_proc *me, struct pmix_info *infos, size_t count);
	int (*put)(uint8_t scope, const char *key, struct pmix_value *value);
	int (*commit)(void);
	int (*fence)(const struct pmix_proc *procs, size_t nprocs, const struct pmix_info *infos,
	             size_t ninfos);
	int (*get)(const struct pmix_proc *proc, const char *key, const struct pmix_info *infos,
	           size_t ninfos, struct pmix_value **value);
	int (*abort)(int status, const char *text, struct pmix_proc *procs, size_t nprocs);
	int (*finalize)(const struct pmix_info *infos, size_t ninfos);
	const char *(*error_string)(int status);
};

#endif
