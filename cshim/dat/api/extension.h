/* extension.h - the parts of dat_extension_op. */
#ifndef DAT_EXTENSION_H
#define DAT_EXTENSION_H

#include <stdarg.h>

#include "dat/api/block.h"

/* A collective operation by number. */
DAT_RETURN dat_collective_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list);

/* A collective call that is the same in both sets, behind its first name. */
#define DAT_SAME(name)                                              \
	__typeof__(dat_ib_collective_##name)(dat_collective_##name) \
		__attribute__((alias("dat_ib_collective_" #name)));

#endif
