/*
 * guard_x86_64.c - the guarded functions of x86-64; see guard_piece.h.
 *
 * Its stores become visible in their order, so that the last byte, stored last, is seen last.
 */
#if defined(__x86_64__)
#include "cpu/cpu.h"
#include "node/guard_piece.h"

/* clang-format off */
#define FUNCTION(name) ".type " name ", @function\n" name ":\n"
#define LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n"
#define SHARED(name) ".globl " name "\n.hidden " name "\n" FUNCTION(name)
#define DONE "	xorl %eax, %eax\n	ret\n"

/* The first and the last bytes of a range that is at most twice as long. */
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
	SHARED(name)                                  \
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
	SHARED("guard_add" bytes)                   \
	"	lock xadd" w " %" si ", (%rdi)\n"      \
	"	movq %rsi, (%rcx)\n" DONE              \
	COMBINE("guard_or" bytes, w, a, r8, "	or" w " %" si ", %" r8 "\n")          \
	COMBINE("guard_and" bytes, w, a, r8, "	and" w " %" si ", %" r8 "\n")        \
	COMBINE("guard_xor" bytes, w, a, r8, "	xor" w " %" si ", %" r8 "\n")        \
	COMBINE("guard_min" bytes, w, a, r8,                                           \
	        "	cmp" w " %" si ", %" r8 "\n	cmovg %" si ", %" r8 "\n")     \
	COMBINE("guard_max" bytes, w, a, r8,                                           \
	        "	cmp" w " %" si ", %" r8 "\n	cmovl %" si ", %" r8 "\n")     \
	SHARED("guard_swap" bytes)                  \
	"	xchg" w " %" si ", (%rdi)\n"           \
	"	movq %rsi, (%rcx)\n" DONE              \
	SHARED("guard_cas" bytes)                   \
	"	mov" w " %" d ", %" a "\n"             \
	"	lock cmpxchg" w " %" si ", (%rdi)\n"   \
	"	movq %rax, (%rcx)\n" DONE

__asm__(".pushsection .text\n"
	".p2align 6\n"
	LABEL("node_guard_begin")
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
	LABEL("node_guard_end")
	LABEL("node_guard_fault")
	"	movl $1, %eax\n"
	"	ret\n"
	".popsection\n");
/* clang-format on */

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
		uint64_t begun = cshim_cycles(), took;

		guard_copy_string(to + skew, from, BYTES);
		took = cshim_cycles() - begun;
		if (took < least)
			least = took;
	}
	return least;
}

void node_guard_choose(void)
{
	if (__builtin_cpu_supports("avx2"))
		wide_min = WIDE_MIN;
	if (ticks_of_copy(8) < 4 * ticks_of_copy(0))
		skew_slow = 0;
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

#endif
