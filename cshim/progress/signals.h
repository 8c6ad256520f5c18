/* signals.h - the library's threads and the program's signals. */
#ifndef CSHIM_SIGNALS_H
#define CSHIM_SIGNALS_H

#include <signal.h>

/*
 * Around the start of a thread of the library, which inherits the mask: the program's signals are
 * for its own threads. Faults stay open: they cannot be handled elsewhere, and the library turns
 * those on user addresses into errors.
 */
void cshim_signals_block(sigset_t *before);
/* Takes the faults out of a mask that the thread is to get back: now it runs code of core's. */
void cshim_signals_open_faults(sigset_t *mask);
/* Gives the calling thread its mask back. */
void cshim_signals_restore(const sigset_t *before);

#endif
