/*
 * go_signals.c - leaves the program's signals alone: Go's run-time has a table of them
 * (runtime/sigtab_linux_generic.go), and looks there for the signals that it opens in each thread
 * that runs Go code, and for those that it handles or whose handlers it gives SA_ONSTACK. Faults on
 * user addresses are all that the library needs; the C library's own signals, from 32 on, must stay
 * open. The rest of the table is cleared: the run-time installs no handler for these, changes no
 * handler of the program's, and opens them in no thread.
 */
#include <signal.h>
#include <stdint.h>

#include "start/steps.h"

typedef struct go_signal {
	int32_t flags;
	struct {
		const char *at;
		intptr_t length;
	} name;
} go_signal;

enum { SIGNALS = 65, FIRST_OF_C = 32, LAST_OF_C = 34 };

/* scripts/link-core makes it visible. Weak: other builds do not have it, and do not come here. */
extern go_signal table[SIGNALS] __asm__("runtime.sigtable")
	__attribute__((visibility("hidden"), weak));

void cshim_go_signals_clear(void)
{
	int i;

	for (i = 1; i < SIGNALS; i++)
		if (i != SIGSEGV && i != SIGBUS && (i < FIRST_OF_C || i > LAST_OF_C))
			table[i].flags = 0;
}
