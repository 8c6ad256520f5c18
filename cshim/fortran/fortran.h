/*
 * fortran.h - what the Fortran entry points need beyond the calls of C: LAPI_ADDR_NULL, and
 * procedures as arguments. Private to the library.
 *
 * Handlers need nothing of the kind: all their parameters are pointers in C, and so by reference in
 * Fortran. Only a DDM function has numbers among its parameters (CSHIM_FORTRAN_DDM).
 */
#ifndef CSHIM_FORTRAN_H
#define CSHIM_FORTRAN_H

#include <stdint.h>

#define LAPI_NO_FORTRAN_NAMES /* fortran_gen.h defines them, with types of its own */
#include "context/contexts.h"
#include "handlers/procedure.h"

/* fortran_null.c */

/* The variables that are LAPI_ADDR_NULL; entries are only added. */
enum { CSHIM_FORTRAN_NULLS = 64 };
extern const void *cshim_fortran_nulls[CSHIM_FORTRAN_NULLS];
extern uint32_t cshim_fortran_null_count; /* atomic */
/* Adds those of files that were loaded since. */
void cshim_fortran_find_nulls(void);

/* 1 if an argument is LAPI_ADDR_NULL, or absent. */
static inline int cshim_fortran_null(const void *argument)
{
	/*
	 * acquire: pairs with the store in fortran_null.c; the entries below the count were written
	 * before it
	 */
	uint32_t i, count = __atomic_load_n(&cshim_fortran_null_count, __ATOMIC_ACQUIRE);

	if (!argument)
		return 1;
	for (i = 0; i < count; i++)
		if (argument == cshim_fortran_nulls[i])
			return 1;
	return 0;
}

#endif
