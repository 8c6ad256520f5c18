/*
 * process.h - core's questions to the entry points (capi) about the process: its end, MPI in it,
 * and LAPI_BYTE.
 */
#ifndef CSHIM_PROCESS_H
#define CSHIM_PROCESS_H

#include "context/golapi.h"

/*
 * The notice that the process sends to the session's sockets if it ends with status 0 but without
 * LAPI_Term; record and fds are copied. Set when a context begins, and again when a task that
 * rejoins has a new socket; cleared before the sockets close.
 */
enum { CSHIM_EXIT_NOTICE_BYTES = 16 };
void cshim_exit_notice_set(int context, const void *record, size_t bytes, const int *fds, size_t n);
void cshim_exit_notice_clear(int context);
/*
 * After each LAPI_Init: the socket of a launcher with PMI, -1: none; whether the process has asked
 * it, and must take leave (exit_launcher.c); and whether that LAPI_Init has failed.
 */
void cshim_exit_launcher_set(int fd, bool asked, bool failed);
/*
 * At its end this process waits until its hub answers a notice, for other tasks learn about this
 * node from that hub.
 */
void cshim_exit_notice_wait(void);
void cshim_exit_notice_answered(void); /* that answer: one for each notice */
/* Whether MPI is in the process and initialised. */
int cshim_mpi_is_used(void);
cshim_addr cshim_byte(void); /* the descriptor of LAPI_BYTE */

#endif
