/*
 * guard_aarch64.c - the guarded functions of 64-bit Arm; see guard_piece.h.
 *
 * Stores become visible in any order. So a copy keeps the aligned word at its end, of 8, 4 or 1
 * bytes, for last, behind a barrier for stores; 2, 4 and 8 bytes are one store, also behind a
 * barrier, as they may be the end of data that came in pieces, or a word by which a program learns
 * of an earlier write.
 */
#if defined(__aarch64__)
#include "node/guard_piece.h"

/* clang-format off */
#define LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n"
#define FUNCTION(name) ".type " name ", %function\n" LABEL(name)
#define DONE "	mov w0, #0\n	ret\n"

/* The first and the last bytes of x2 bytes, which are at most twice as many. */
#define COPY_ENDS(bytes, a, b)                   \
	"	ldr " a ", [x1]\n"                \
	"	add x9, x1, x2\n"                 \
	"	ldr " b ", [x9, #-" bytes "]\n"   \
	"	str " a ", [x0]\n"                \
	"	add x10, x0, x2\n"                \
	"	str " b ", [x10, #-" bytes "]\n"  \
	"	b 20f\n"

/* int guard_add4(void *at, uint64_t operand, uint64_t compare, uint64_t *old), and so on: r is w or
 * x, change makes r5 of the old value r4 and the operand r1. */
#define COMBINE(name, r, change)                 \
	FUNCTION(name)                           \
	"1:	ldaxr " r "4, [x0]\n" change      \
	"	stlxr w6, " r "5, [x0]\n"         \
	"	cbnz w6, 1b\n"                    \
	"	str x4, [x3]\n" DONE

#define ON_WORDS(bytes, r)                                                                \
	COMBINE("guard_add" bytes, r, "	add " r "5, " r "4, " r "1\n")                    \
	COMBINE("guard_or" bytes, r, "	orr " r "5, " r "4, " r "1\n")                    \
	COMBINE("guard_and" bytes, r, "	and " r "5, " r "4, " r "1\n")                    \
	COMBINE("guard_xor" bytes, r, "	eor " r "5, " r "4, " r "1\n")                    \
	COMBINE("guard_min" bytes, r, "	cmp " r "4, " r "1\n	csel " r "5, " r "4, " r "1, le\n") \
	COMBINE("guard_max" bytes, r, "	cmp " r "4, " r "1\n	csel " r "5, " r "4, " r "1, ge\n") \
	COMBINE("guard_swap" bytes, r, "	mov " r "5, " r "1\n")                    \
	FUNCTION("guard_cas" bytes)                                                       \
	"1:	ldaxr " r "4, [x0]\n"                                                      \
	"	cmp " r "4, " r "2\n"                                                      \
	"	b.ne 2f\n"                                                                 \
	"	stlxr w6, " r "1, [x0]\n"                                                  \
	"	cbnz w6, 1b\n"                                                             \
	"	str x4, [x3]\n" DONE                                                       \
	"2:	clrex\n"                                                                   \
	"	str x4, [x3]\n" DONE

__asm__(".pushsection .text\n"
	".p2align 6\n"
	LABEL("node_guard_begin")
	FUNCTION("node_guarded_copy")
	LABEL("node_guarded_copy_short")
	LABEL("node_guarded_stream")
	LABEL("node_guarded_string")
	"	cmp x2, #8\n"
	"	b.hi 4f\n"
	"	b.ne 1f\n"
	"	ldr x4, [x1]\n"
	"	dmb ishst\n"
	"	str x4, [x0]\n" DONE
	"1:	cmp x2, #4\n"
	"	b.ne 2f\n"
	"	ldr w4, [x1]\n"
	"	dmb ishst\n"
	"	str w4, [x0]\n" DONE
	"2:	cmp x2, #2\n"
	"	b.ne 3f\n"
	"	ldrh w4, [x1]\n"
	"	dmb ishst\n"
	"	strh w4, [x0]\n" DONE
	"3:	cbz x2, 30f\n" /* 1, 3, 5, 6, 7 */
	"	add x4, x0, x2\n"
	"	add x5, x1, x2\n"
	"	ldrb w6, [x5, #-1]\n"
	"	mov x7, #1\n"
	"	sub x2, x2, #1\n"
	"31:	cbz x2, 20f\n"
	"	ldrb w8, [x1], #1\n"
	"	strb w8, [x0], #1\n"
	"	sub x2, x2, #1\n"
	"	b 31b\n"
	"30:\n" DONE
	/* More than 8: x4, x5: the ends; x6: the last word; x7: its bytes. */
	"4:	add x4, x0, x2\n"
	"	add x5, x1, x2\n"
	"	tst x4, #7\n"
	"	b.ne 5f\n"
	"	ldr x6, [x5, #-8]\n"
	"	mov x7, #8\n"
	"	b 7f\n"
	"5:	tst x4, #3\n"
	"	b.ne 6f\n"
	"	ldr w6, [x5, #-4]\n"
	"	mov x7, #4\n"
	"	b 7f\n"
	"6:	ldrb w6, [x5, #-1]\n"
	"	mov x7, #1\n"
	"7:	sub x2, x2, x7\n"
	/* The rest, x2 of at least 1. */
	"	cmp x2, #16\n"
	"	b.hs 10f\n"
	"	tbz x2, #3, 8f\n"
	COPY_ENDS("8", "x8", "x11")
	"8:	tbz x2, #2, 9f\n"
	COPY_ENDS("4", "w8", "w11")
	"9:	lsr x9, x2, #1\n" /* 1 to 3: the first, the middle, the last */
	"	sub x10, x2, #1\n"
	"	ldrb w8, [x1]\n"
	"	ldrb w11, [x1, x9]\n"
	"	ldrb w12, [x1, x10]\n"
	"	strb w8, [x0]\n"
	"	strb w11, [x0, x9]\n"
	"	strb w12, [x0, x10]\n"
	"	b 20f\n"
	"10:	cmp x2, #32\n"
	"	b.hi 11f\n"
	COPY_ENDS("16", "q0", "q1")
	"11:	add x9, x1, x2\n" /* the last 32, whatever comes before */
	"	ldp q2, q3, [x9, #-32]\n"
	"	add x10, x0, x2\n"
	"	sub x10, x10, #32\n"
	"12:	ldp q0, q1, [x1], #32\n"
	"	stp q0, q1, [x0], #32\n"
	"	cmp x0, x10\n"
	"	b.lo 12b\n"
	"	stp q2, q3, [x10]\n"
	"20:	dmb ishst\n"
	"	tbnz x7, #3, 21f\n"
	"	tbnz x7, #2, 22f\n"
	"	strb w6, [x4, #-1]\n" DONE
	"21:	str x6, [x4, #-8]\n" DONE
	"22:	str w6, [x4, #-4]\n" DONE
	FUNCTION("node_guarded_load")
	"	ldr w1, [x0]\n" DONE
	FUNCTION("node_guarded_keep")
	"	ldr w1, [x0]\n"
	"	str w1, [x0]\n" DONE
	FUNCTION("node_guarded_count")
	"	cbnz w1, 1f\n"
	"	ldr w2, [x0]\n"
	"	add w2, w2, #1\n"
	"	stlr w2, [x0]\n" DONE
	"1:	ldaxr w2, [x0]\n"
	"	add w2, w2, #1\n"
	"	stlxr w3, w2, [x0]\n"
	"	cbnz w3, 1b\n" DONE
	ON_WORDS("4", "w")
	ON_WORDS("8", "x")
	LABEL("node_guard_end")
	LABEL("node_guard_fault")
	"	mov w0, #1\n"
	"	ret\n"
	".popsection\n");
/* clang-format on */

void node_guard_choose(void)
{
}

int node_has_string(void)
{
	return 0;
}

#endif
