/*
 * guard.c - see guard.h.
 *
 * On x86-64 the functions that touch the addresses are assembly without a stack frame, all in one
 * piece of code: a fault with the program counter inside it makes the function return 1, by
 * changing the interrupted context. Nothing has to be set up before an access. Other code, and all
 * of it elsewhere, is bracketed by sigsetjmp.
 *
 * The handler comes first. A fault in one of the functions is its own. One elsewhere in the library
 * is that of core, which has the Go run-time's handler turn it into an error: so that one is
 * called, also where the program has a handler of its own in its place. All others are for whoever
 * was there before. Handlers work on the context they are given, as if the kernel had called them.
 */
#define _GNU_SOURCE
#include "node/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/*
 * Of SIGSEGV and SIGBUS: who was there when the library came, and who is behind it now, as programs
 * install handlers later.
 */
typedef struct others {
	struct sigaction first, behind;
} others;
static others segv, bus;

/* The run-time's handler, one for all its signals; its flags are 0 if there is no run-time. */
static struct sigaction runtime;

/* Written by on_fault, in the thread that it interrupted. */
static __thread volatile uint64_t fault_address __attribute__((tls_model("initial-exec")));

uint64_t node_bad_address(uint64_t from, uint64_t n)
{
	return fault_address - from < n ? fault_address : from;
}

/* The bounds of the library's code, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static int in_library(const char *at)
{
	return at >= __ehdr_start && at < etext;
}

/*
 * The fault that this thread gave to another handler last. That one may call the handler which it
 * has replaced, which is this file's: then it is deeper in the stack, with the same context.
 */
static __thread struct {
	const void *context;
	const char *frame;
} passed __attribute__((tls_model("initial-exec")));

static void pass_on(int number, siginfo_t *info, void *context)
{
	const others *who = number == SIGBUS ? &bus : &segv;
	const char *frame = __builtin_frame_address(0);
	int again = passed.context == context && frame < passed.frame;
	const struct sigaction *to = again ? &who->first : &who->behind;

	passed.context = context;
	passed.frame = frame;
	if (to->sa_flags & SA_SIGINFO) {
		to->sa_sigaction(number, info, context);
	} else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
		to->sa_handler(number);
	} else {
		/* After the return the process ends as it would have without us. */
		signal(number, SIG_DFL);
		raise(number);
	}
}

/* Where a fault of this thread goes, while it is inside of a bracket. */
static __thread sigjmp_buf *volatile armed __attribute__((tls_model("initial-exec")));

/* Goes there, with the signals blocked that were so before. */
static void go_back(const siginfo_t *info, const ucontext_t *interrupted)
{
	sigjmp_buf *to = armed;

	if (!to || info->si_code <= 0) /* that was no fault */
		return;
	fault_address = (uintptr_t)info->si_addr;
	armed = NULL;
	pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
	siglongjmp(*to, 1);
}

#define GUARDED(access)                                  \
	do {                                             \
		sigjmp_buf back;                         \
		if (sigsetjmp(back, 0))                  \
			return 1;                        \
		armed = &back;                           \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
		access;                                  \
		__atomic_signal_fence(__ATOMIC_SEQ_CST); \
		armed = NULL;                            \
		return 0;                                \
	} while (0)

int node_guarded_call(void (*call)(void *), void *argument)
{
	GUARDED(call(argument));
}

/* A fault at an instruction that is none of the functions'. */
static void leave_to_others(int number, siginfo_t *info, void *context, const char *at)
{
	if (runtime.sa_flags && in_library(at))
		runtime.sa_sigaction(number, info, context);
	else
		pass_on(number, info, context);
}

#if defined(__x86_64__)

/* The pieces between these two labels keep the stack as it was at their call, and no register that
 * their caller wants back. */
extern const char node_guard_begin[], node_guard_end[], node_guard_fault[];

/* clang-format off */
#define FUNCTION(name) ".type " name ", @function\n" name ":\n"
#define SHARED(name) ".globl " name "\n.hidden " name "\n" FUNCTION(name)
#define DONE "	xorl %eax, %eax\n	ret\n"

/* The first and the last bytes of what is at most twice as long. */
#define COPY_ENDS(move, bytes, a, b)                       \
	"	" move " (%rsi), %" a "\n"                  \
	"	" move " -" bytes "(%rsi,%rdx), %" b "\n"   \
	"	" move " %" a ", (%rdi)\n"                  \
	"	" move " %" b ", -" bytes "(%rdi,%rdx)\n" DONE

#define LOAD_128(at)                        \
	"	vmovdqu (" at "), %ymm0\n"   \
	"	vmovdqu 32(" at "), %ymm1\n" \
	"	vmovdqu 64(" at "), %ymm2\n" \
	"	vmovdqu 96(" at "), %ymm3\n"
#define STORE_128(store, at)                  \
	"	" store " %ymm0, (" at ")\n"   \
	"	" store " %ymm1, 32(" at ")\n" \
	"	" store " %ymm2, 64(" at ")\n" \
	"	" store " %ymm3, 96(" at ")\n"

/*
 * int name(void *to, const void *from, size_t n), n >= 256: the first 32 bytes, from a boundary of
 * 32 on pieces of 128, then the last 128. Stores that pass the cache by are ordered by nothing but
 * the fence.
 */
#define COPY_WIDE(name, store, fence)                                   \
	FUNCTION(name)                                                  \
	"	vmovdqu (%rsi), %ymm0\n"                                 \
	"	vmovdqu %ymm0, (%rdi)\n"                                 \
	"	leaq -128(%rdi,%rdx), %rdx\n" /* where the last goes */  \
	"	leaq 32(%rdi), %rcx\n"                                   \
	"	andq $-32, %rcx\n"                                       \
	"	subq %rdi, %rcx\n"                                       \
	"	addq %rcx, %rdi\n"                                       \
	"	addq %rcx, %rsi\n"                                       \
	"	movq %rsi, %rcx\n"                                       \
	"	subq %rdi, %rcx\n" /* from - to, all along */            \
	"8:\n" LOAD_128("%rdi,%rcx") STORE_128(store, "%rdi")           \
	"	addq $128, %rdi\n"                                       \
	"	cmpq %rdx, %rdi\n"                                       \
	"	jb 8b\n"                                                 \
	LOAD_128("%rdx,%rcx") fence STORE_128("vmovdqu", "%rdx")        \
	"	vzeroupper\n" DONE

/* An operation without an instruction of its own: combine changes the copy of the word in r8. */
#define COMBINE(name, w, a, r8, combine)              \
	FUNCTION(name)                                \
	"	mov" w " (%rdi), %" a "\n"             \
	"1:	mov" w " %" a ", %" r8 "\n" combine  \
	"	lock cmpxchg" w " %" r8 ", (%rdi)\n"   \
	"	jne 1b\n"                              \
	"	movq %rax, (%rcx)\n" DONE

/*
 * int guard_add4(void *at, uint64_t operand, uint64_t compare, uint64_t *old), and so on, for one
 * width: w is the suffix of its instructions, the others are its registers. An instruction on half
 * a register clears the other half.
 */
#define ON_WORDS(bytes, w, a, d, si, r8)              \
	FUNCTION("guard_add" bytes)                   \
	"	lock xadd" w " %" si ", (%rdi)\n"      \
	"	movq %rsi, (%rcx)\n" DONE              \
	COMBINE("guard_or" bytes, w, a, r8, "	or" w " %" si ", %" r8 "\n")          \
	COMBINE("guard_and" bytes, w, a, r8, "	and" w " %" si ", %" r8 "\n")        \
	COMBINE("guard_xor" bytes, w, a, r8, "	xor" w " %" si ", %" r8 "\n")        \
	COMBINE("guard_min" bytes, w, a, r8,                                           \
	        "	cmp" w " %" si ", %" r8 "\n	cmovg %" si ", %" r8 "\n")     \
	COMBINE("guard_max" bytes, w, a, r8,                                           \
	        "	cmp" w " %" si ", %" r8 "\n	cmovl %" si ", %" r8 "\n")     \
	FUNCTION("guard_swap" bytes)                  \
	"	xchg" w " %" si ", (%rdi)\n"           \
	"	movq %rsi, (%rcx)\n" DONE              \
	FUNCTION("guard_cas" bytes)                   \
	"	mov" w " %" d ", %" a "\n"             \
	"	lock cmpxchg" w " %" si ", (%rdi)\n"   \
	"	movq %rax, (%rcx)\n" DONE

__asm__(".pushsection .text\n"
	".p2align 6\n"
	"node_guard_begin:\n"
	SHARED("node_guarded_copy_short")
	"	cmpq $16, %rdx\n"
	"	jae 2f\n"
	"	cmpq $8, %rdx\n"
	"	jb 1f\n"
	COPY_ENDS("movq", "8", "rax", "rcx")
	"1:	cmpq $4, %rdx\n"
	"	jb 3f\n"
	COPY_ENDS("movl", "4", "eax", "ecx")
	"3:	testq %rdx, %rdx\n"
	"	jz 4f\n"
	"	movzbl -1(%rsi,%rdx), %ecx\n"
	"	cmpq $3, %rdx\n"
	"	jne 7f\n"
	"	movzwl (%rsi), %eax\n"
	"	movw %ax, (%rdi)\n"
	"	jmp 8f\n"
	"7:	movzbl (%rsi), %eax\n"
	"	movb %al, (%rdi)\n"
	"8:	movb %cl, -1(%rdi,%rdx)\n"
	"4:\n" DONE
	"2:	cmpq $32, %rdx\n"
	"	ja 5f\n"
	COPY_ENDS("movdqu", "16", "xmm0", "xmm1")
	"5:	movdqu -32(%rsi,%rdx), %xmm2\n" /* the last 32 bytes, whatever comes before */
	"	movdqu -16(%rsi,%rdx), %xmm3\n"
	"	leaq -32(%rdi,%rdx), %rcx\n"
	"6:	movdqu (%rsi), %xmm0\n"
	"	movdqu 16(%rsi), %xmm1\n"
	"	movdqu %xmm0, (%rdi)\n"
	"	movdqu %xmm1, 16(%rdi)\n"
	"	addq $32, %rsi\n"
	"	addq $32, %rdi\n"
	"	cmpq %rcx, %rdi\n"
	"	jb 6b\n"
	"	movdqu %xmm2, (%rcx)\n"
	"	movdqu %xmm3, 16(%rcx)\n" DONE
	FUNCTION("guard_copy_string")
	"	movq %rdx, %rcx\n"
	"	rep movsb\n" DONE
	COPY_WIDE("guard_copy_wide", "vmovdqa", "")
	COPY_WIDE("guard_copy_stream", "vmovntdq", "	sfence\n")
	SHARED("node_guarded_load")
	"	movl (%rdi), %eax\n" DONE
	SHARED("node_guarded_keep")
	"	movl (%rdi), %eax\n"
	"	movl %eax, (%rdi)\n" DONE
	SHARED("node_guarded_count")
	"	testl %esi, %esi\n"
	"	jnz 1f\n"
	"	addl $1, (%rdi)\n" DONE
	"1:	lock addl $1, (%rdi)\n" DONE
	ON_WORDS("4", "l", "eax", "edx", "esi", "r8d")
	ON_WORDS("8", "q", "rax", "rdx", "rsi", "r8")
	"node_guard_end:\n"
	"node_guard_fault:\n"
	"	movl $1, %eax\n"
	"	ret\n"
	".popsection\n");
/* clang-format on */

typedef int guard_word(void *at, uint64_t operand, uint64_t compare, uint64_t *old);
extern int guard_copy_wide(void *to, const void *from, size_t n) __asm__("guard_copy_wide");
extern int guard_copy_string(void *to, const void *from, size_t n) __asm__("guard_copy_string");
extern int guard_copy_stream(void *to, const void *from, size_t n) __asm__("guard_copy_stream");

/* Bytes from which guard_copy_wide and _stream are used, which need AVX; by install(). */
#define WIDE_MIN 512
static size_t wide_min = SIZE_MAX;

/*
 * Some processors do a string instruction at a twentieth of its speed unless to and from agree in
 * the bits of skew_slow. That is found out; there is no bit that tells.
 */
#define SKEW 31
static uintptr_t skew_slow = SKEW;

static uint64_t ticks_of_copy(unsigned skew)
{
	enum { BYTES = 1024, TRIES = 8 };
	static unsigned char from[BYTES], to[BYTES + SKEW] __attribute__((aligned(64)));
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < TRIES; i++) {
		uint64_t begun = __builtin_ia32_rdtsc(), took;

		guard_copy_string(to + skew, from, BYTES);
		took = __builtin_ia32_rdtsc() - begun;
		if (took < least)
			least = took;
	}
	return least;
}

static void choose(void)
{
	if (__builtin_cpu_supports("avx2"))
		wide_min = WIDE_MIN;
	if (ticks_of_copy(8) < 4 * ticks_of_copy(0))
		skew_slow = 0;
}

#define WORDS(name) extern guard_word name##4 __asm__(#name "4"), name##8 __asm__(#name "8")
WORDS(guard_add);
WORDS(guard_or);
WORDS(guard_and);
WORDS(guard_xor);
WORDS(guard_min);
WORDS(guard_max);
WORDS(guard_swap);
WORDS(guard_cas);

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	const char *at = (const char *)interrupted->uc_mcontext.gregs[REG_RIP];

	if (at >= node_guard_begin && at < node_guard_end) {
		fault_address = (uintptr_t)info->si_addr;
		interrupted->uc_mcontext.gregs[REG_RIP] = (greg_t)node_guard_fault;
	} else {
		go_back(info, context);
		leave_to_others(number, info, context, at);
	}
}

int node_guarded_copy(void *to, const void *from, size_t n)
{
	return n < wide_min ? node_guarded_copy_short(to, from, n) : guard_copy_wide(to, from, n);
}

int node_guarded_stream(void *to, const void *from, size_t n)
{
	return n < wide_min ? node_guarded_copy_short(to, from, n) : guard_copy_stream(to, from, n);
}

int node_guarded_string(void *to, const void *from, size_t n)
{
	if (((uintptr_t)to ^ (uintptr_t)from) & skew_slow)
		return node_guarded_copy(to, from, n);
	return guard_copy_string(to, from, n);
}

int node_has_string(void)
{
	return 1;
}

int node_guarded_rmw(int op, int width, void *at, uint64_t operand, uint64_t compare, uint64_t *old)
{
	static guard_word *const functions[][2] = {
		[NODE_ADD] = {guard_add4, guard_add8},
		[NODE_OR] = {guard_or4, guard_or8},
		[NODE_SWAP] = {guard_swap4, guard_swap8},
		[NODE_CAS] = {guard_cas4, guard_cas8},
		[NODE_AND] = {guard_and4, guard_and8},
		[NODE_XOR] = {guard_xor4, guard_xor8},
		[NODE_MIN] = {guard_min4, guard_min8},
		[NODE_MAX] = {guard_max4, guard_max8},
	};

	return functions[op][width == 8](at, operand, compare, old);
}

#else

#if defined(__i386__)
#define PROGRAM_COUNTER(context) \
	((const char *)((ucontext_t *)(context))->uc_mcontext.gregs[REG_EIP])
#else
#define PROGRAM_COUNTER(context) NULL /* as if all were the program's */
#endif

static void on_fault(int number, siginfo_t *info, void *context)
{
	go_back(info, context);
	leave_to_others(number, info, context, PROGRAM_COUNTER(context));
}

static void choose(void)
{
}

int node_guarded_copy(void *to, const void *from, size_t n)
{
	if (n == 0) /* the addresses may be anything */
		return 0;
	GUARDED(memcpy(to, from, n));
}

int node_guarded_copy_short(void *to, const void *from, size_t n)
{
	return node_guarded_copy(to, from, n);
}

int node_guarded_stream(void *to, const void *from, size_t n)
{
	return node_guarded_copy(to, from, n);
}

int node_guarded_string(void *to, const void *from, size_t n)
{
	return node_guarded_copy(to, from, n);
}

int node_has_string(void)
{
	return 0;
}

int node_guarded_load(const void *at)
{
	int32_t word;

	GUARDED(memcpy(&word, at, sizeof word));
}

static void keep(char *at)
{
	char word[sizeof(int32_t)];

	memcpy(word, at, sizeof word);
	__asm__ volatile("" : "+m"(word)); /* else nothing would be stored */
	memcpy(at, word, sizeof word);
}

int node_guarded_keep(void *at)
{
	GUARDED(keep(at));
}

int node_guarded_count(int32_t *at, int shared)
{
	(void)shared;
	GUARDED(__atomic_add_fetch(at, 1, __ATOMIC_SEQ_CST));
}

/* The result of op on a word that has old, as signed numbers. */
#define RMW_OF(type)                                                                    \
	static type combined_##type(int op, type old, type operand)                     \
	{                                                                               \
		const type sign = (type)1 << (8 * sizeof(type) - 1);                    \
                                                                                        \
		return op == NODE_MIN ? ((old ^ sign) < (operand ^ sign) ? old : operand) \
		                      : ((old ^ sign) > (operand ^ sign) ? old : operand); \
	}                                                                               \
	static uint64_t rmw_##type(int op, type *at, type operand, type compare)        \
	{                                                                               \
		switch (op) {                                                           \
		case NODE_ADD:                                                          \
			return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);       \
		case NODE_OR:                                                           \
			return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);        \
		case NODE_SWAP:                                                         \
			return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);      \
		case NODE_AND:                                                          \
			return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);       \
		case NODE_XOR:                                                          \
			return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);       \
		case NODE_MIN:                                                          \
		case NODE_MAX:                                                          \
			compare = __atomic_load_n(at, __ATOMIC_SEQ_CST);                \
			while (!__atomic_compare_exchange_n(                            \
				at, &compare, combined_##type(op, compare, operand), 0, \
				__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))                    \
				;                                                       \
			return compare;                                                 \
		}                                                                       \
		__atomic_compare_exchange_n(at, &compare, operand, 0, __ATOMIC_SEQ_CST, \
		                            __ATOMIC_SEQ_CST);                          \
		return compare;                                                         \
	}
RMW_OF(uint32_t)
RMW_OF(uint64_t)

int node_guarded_rmw(int op, int width, void *at, uint64_t operand, uint64_t compare, uint64_t *old)
{
	GUARDED(*old = width == 8 ? rmw_uint64_t(op, at, operand, compare)
	                          : rmw_uint32_t(op, at, (uint32_t)operand, (uint32_t)compare));
}

#endif

/* One of the signals that the run-time handles: mostly it does still. */
void node_guard_runtime(void)
{
	static const int its[] = {SIGBUS, SIGSEGV};
	struct sigaction action;
	size_t i;

	for (i = 0; i < sizeof its / sizeof *its && !runtime.sa_flags; i++)
		if (sigaction(its[i], NULL, &action) == 0 && action.sa_flags & SA_SIGINFO &&
		    in_library((const char *)(uintptr_t)action.sa_sigaction))
			runtime = action;
}

static int is_own(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

static void put_in_front(int number, others *who)
{
	struct sigaction now, action;

	if (sigaction(number, NULL, &now) != 0 || is_own(&now))
		return;
	who->behind = now;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	/* On the alternate stack, as the run-time demands of handlers in front of its own. */
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void install(void)
{
	choose();
	node_guard_runtime();
	sigaction(SIGSEGV, NULL, &segv.first);
	sigaction(SIGBUS, NULL, &bus.first);
}

void node_guard_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static int busy; /* atomic: one thread at a time; another does the same */

	pthread_once(&once, install);
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	put_in_front(SIGSEGV, &segv);
	put_in_front(SIGBUS, &bus);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
