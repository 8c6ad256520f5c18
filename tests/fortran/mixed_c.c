/*
 * mixed_c.c - the C half of a program of both languages: C sends to a header handler in Fortran,
 * Fortran to one in C, and both go through the same context. The names of the Fortran half depend
 * on its compiler: they are in gfortran's spelling here.
 */
#include <lapi.h>
#include <string.h>

extern void *fortran_handler_(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                              compl_hndlr_t **comp_h, void **user_info);

static int landed[10], last_from = -1;
static volatile int completions;

static void done(lapi_handle_t *hndl, void *data)
{
	(void)hndl;
	if (data == landed)
		completions++;
}

/* A header handler in C, and its address for the Fortran half. */
void *c_handler_(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                 compl_hndlr_t **comp_h, void **user_info)
{
	(void)hndl, (void)msg_len;
	if (*uhdr_len == sizeof last_from)
		memcpy(&last_from, uhdr, sizeof last_from);
	*comp_h = done;
	*user_info = landed;
	return landed;
}

/* 1 if c_handler has received the numbers from first on, sent by from, and the completion handler
 * has run. */
int c_has_(const int *first, const int *from)
{
	for (int i = 0; i < 10; i++)
		if (landed[i] != *first + i)
			return 0;
	return last_from == *from && completions > 0;
}

/* C sends data to the Fortran handler of task tgt, named by an address of there. */
int c_send_(const lapi_handle_t *hndl, const uint *tgt, void **handler, int *header, int *data,
            void **tgt_cntr)
{
	return LAPI_Amsend(*hndl, *tgt, *handler, header, sizeof *header, data, 10 * sizeof *data,
	                   *tgt_cntr, NULL, NULL);
}
