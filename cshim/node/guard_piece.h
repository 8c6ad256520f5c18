/*
 * guard_piece.h - what guard.c and the file of an architecture share. Private to both.
 *
 * The functions that touch addresses which may be bad are assembly without a stack frame, all in one
 * piece of code: a fault with the program counter inside it makes the function return 1, by changing
 * the interrupted context. Nothing has to be set up before an access. Other code, and all of it
 * where there is no such piece, is bracketed by sigsetjmp.
 */
#ifndef NODE_GUARD_PIECE_H
#define NODE_GUARD_PIECE_H

#include "node/guard.h"

#include <setjmp.h>

/* Where the program counter is in an interrupted context, and whether there is a piece. */
#if defined(__x86_64__)
#define GUARD_COUNTER(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define GUARD_HAS_PIECE 1
#elif defined(__aarch64__)
#define GUARD_COUNTER(context) ((context)->uc_mcontext.pc)
#define GUARD_HAS_PIECE 1
#elif defined(__powerpc64__)
#define GUARD_COUNTER(context) ((context)->uc_mcontext.gp_regs[32]) /* NIP */
#define GUARD_HAS_PIECE 1
#elif defined(__i386__)
#define GUARD_COUNTER(context) ((context)->uc_mcontext.gregs[REG_EIP])
#define GUARD_HAS_PIECE 0
#else
#error "liblapi_r is for x86-64, i386, aarch64 and ppc64le"
#endif

/*
 * The functions between the first two labels keep the stack as it was at their call, and no register
 * that their caller wants back. At the third one they return 1.
 */
extern const char node_guard_begin[] __attribute__((visibility("hidden")));
extern const char node_guard_end[] __attribute__((visibility("hidden")));
extern const char node_guard_fault[] __attribute__((visibility("hidden")));

/* Finds out, once, which copies this processor is fast at. */
void node_guard_choose(void);

/* Where a fault of this thread goes, while it is inside of a bracket. */
extern __thread sigjmp_buf *volatile node_guard_armed __attribute__((tls_model("initial-exec")));

#define GUARDED(access)                                  \
	do {                                             \
		sigjmp_buf back;                         \
		if (sigsetjmp(back, 0))                  \
			return 1;                        \
		node_guard_armed = &back;                           \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
		access;                                  \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
		node_guard_armed = NULL;                            \
		return 0;                                \
	} while (0)

#endif
