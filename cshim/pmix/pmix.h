/*
 * pmix.h - a task's talk with a PMIx server (mpirun, prun, srun --mpi=pmix): its rank, one card of
 * each task to all others, and the end of the whole job. libpmix is opened when it is needed, so
 * that nobody else has to have it. Knows nothing of the rest of the library.
 *
 * All functions return 0 or -1, with a sentence in why, which holds CSHIM_PMIX_WHY bytes. They are
 * for one thread at a time.
 */
#ifndef CSHIM_PMIX_H
#define CSHIM_PMIX_H

#include <stddef.h>
#include <stdint.h>

#define CSHIM_PMIX_WHY 256

/*
 * Connects to the server; library is the file to open. Only for a process that has a server:
 * without one it fails late. The process's exit handlers end the connection, because mpirun treats
 * a process that exits without that as crashed. A child that was forked leaves it alone, and can
 * have none. The server counts connections, so an MPI in this process keeps its own. After
 * MPI_Finalize it is too late for a first connection: it is refused.
 */
int cshim_pmix_open(const char *library, uint32_t *rank, uint32_t *size, char *why);

/* Publishes this task's value of key, and returns when all tasks have done so. */
int cshim_pmix_give(const char *key, const void *card, size_t length, char *why);

/* A task's value of key, which the caller frees. NULL: it has no bytes. After cshim_pmix_give with
 * that key. */
int cshim_pmix_take(const char *key, uint32_t rank, void **card, size_t *length, char *why);

/*
 * After the last cshim_pmix_take: ends the connection if an MPI of this process is to begin that can
 * do so only where there is none. cshim_pmix_abort then makes another.
 */
void cshim_pmix_leave_to_mpi(void);

/*
 * For a process in which another thread is in cshim_pmix_give, and has to stay there: nothing
 * more is asked, nor ended. The server takes the process's end for a crash.
 */
void cshim_pmix_give_up(void);

/* Has the server end all tasks of the job, this one included, with that exit code. */
int cshim_pmix_abort(int code, char *why);

/* Does the exit handler's work, for a process that ends without running it. No call follows. */
void cshim_pmix_end(void);

#endif
