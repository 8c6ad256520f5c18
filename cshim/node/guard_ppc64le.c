/*
 * guard_ppc64le.c - the guarded functions of POWER, little-endian, from POWER8 on; see guard_piece.h.
 *
 * Stores become visible in any order. So a copy keeps the aligned word at its end, of 8, 4 or 1
 * bytes, for last, behind a barrier; 2, 4 and 8 bytes are one store behind a barrier
 * (guard_aarch64.c).
 */
#if defined(__powerpc64__)
#include "node/guard_piece.h"

/* clang-format off */
#define LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n"
#define FUNCTION(name) ".type " name ", @function\n" LABEL(name)
#define DONE "	li 3, 0\n	blr\n"

/* The first and the last bytes of r5 bytes, which are at most twice as many. */
#define COPY_ENDS(load, store, bytes)            \
	"	" load " 10, 0(4)\n"              \
	"	add 11, 4, 5\n"                   \
	"	" load " 11, -" bytes "(11)\n"    \
	"	" store " 10, 0(3)\n"             \
	"	add 12, 3, 5\n"                   \
	"	" store " 11, -" bytes "(12)\n"   \
	"	b 20f\n"

/*
 * int guard_add4(void *at, uint64_t operand, uint64_t compare, uint64_t *old), and so on: w is the
 * suffix of the reserving load and store, change makes r8 of the old value r7 and the operand r4.
 * Full barriers, as gcc's __ATOMIC_SEQ_CST.
 */
#define COMBINE(name, w, change)                 \
	FUNCTION(name)                           \
	"	sync\n"                           \
	"1:	l" w "arx 7, 0, 3\n" change       \
	"	st" w "cx. 8, 0, 3\n"             \
	"	bne- 1b\n"                        \
	"	isync\n"                          \
	"	std 7, 0(6)\n" DONE

#define ON_WORDS(bytes, w, compare)                                             \
	COMBINE("guard_add" bytes, w, "	add 8, 7, 4\n")                         \
	COMBINE("guard_or" bytes, w, "	or 8, 7, 4\n")                          \
	COMBINE("guard_and" bytes, w, "	and 8, 7, 4\n")                         \
	COMBINE("guard_xor" bytes, w, "	xor 8, 7, 4\n")                         \
	COMBINE("guard_min" bytes, w,                                           \
	        "	mr 8, 7\n	" compare " 7, 4\n	ble 2f\n	mr 8, 4\n2:\n") \
	COMBINE("guard_max" bytes, w,                                           \
	        "	mr 8, 7\n	" compare " 7, 4\n	bge 2f\n	mr 8, 4\n2:\n") \
	COMBINE("guard_swap" bytes, w, "	mr 8, 4\n")                     \
	FUNCTION("guard_cas" bytes)                                             \
	"	sync\n"                                                          \
	"1:	l" w "arx 7, 0, 3\n"                                             \
	"	" compare " 7, 5\n"                                              \
	"	bne- 2f\n"                                                       \
	"	st" w "cx. 4, 0, 3\n"                                            \
	"	bne- 1b\n"                                                       \
	"2:	isync\n"                                                         \
	"	std 7, 0(6)\n" DONE

__asm__(".pushsection .text\n"
	".p2align 6\n"
	".machine push\n"
	".machine power8\n"
	LABEL("node_guard_begin")
	FUNCTION("node_guarded_copy")
	LABEL("node_guarded_copy_short")
	LABEL("node_guarded_stream")
	LABEL("node_guarded_string")
	"	cmpldi 5, 8\n"
	"	bgt 4f\n"
	"	bne 1f\n"
	"	ld 7, 0(4)\n"
	"	lwsync\n"
	"	std 7, 0(3)\n" DONE
	"1:	cmpldi 5, 4\n"
	"	bne 2f\n"
	"	lwz 7, 0(4)\n"
	"	lwsync\n"
	"	stw 7, 0(3)\n" DONE
	"2:	cmpldi 5, 2\n"
	"	bne 3f\n"
	"	lhz 7, 0(4)\n"
	"	lwsync\n"
	"	sth 7, 0(3)\n" DONE
	"3:	cmpldi 5, 0\n" /* 1, 3, 5, 6, 7 */
	"	beq 30f\n"
	"	add 6, 3, 5\n"
	"	add 7, 4, 5\n"
	"	lbz 8, -1(7)\n"
	"	li 9, 1\n"
	"	addi 5, 5, -1\n"
	"31:	cmpldi 5, 0\n"
	"	beq 20f\n"
	"	lbz 10, 0(4)\n"
	"	stb 10, 0(3)\n"
	"	addi 4, 4, 1\n"
	"	addi 3, 3, 1\n"
	"	addi 5, 5, -1\n"
	"	b 31b\n"
	"30:\n" DONE
	/* More than 8: r6, r7: the ends; r8: the last word; r9: its bytes. */
	"4:	add 6, 3, 5\n"
	"	add 7, 4, 5\n"
	"	andi. 0, 6, 7\n"
	"	bne 5f\n"
	"	ld 8, -8(7)\n"
	"	li 9, 8\n"
	"	b 7f\n"
	"5:	andi. 0, 6, 3\n"
	"	bne 6f\n"
	"	lwz 8, -4(7)\n"
	"	li 9, 4\n"
	"	b 7f\n"
	"6:	lbz 8, -1(7)\n"
	"	li 9, 1\n"
	"7:	subf 5, 9, 5\n"
	/* The rest, r5 of at least 1. */
	"	cmpldi 5, 16\n"
	"	bge 10f\n"
	"	cmpldi 5, 8\n"
	"	blt 8f\n"
	COPY_ENDS("ld", "std", "8")
	"8:	cmpldi 5, 4\n"
	"	blt 9f\n"
	COPY_ENDS("lwz", "stw", "4")
	"9:	srdi 11, 5, 1\n" /* 1 to 3: the first, the middle, the last */
	"	addi 12, 5, -1\n"
	"	lbz 10, 0(4)\n"
	"	lbzx 0, 4, 11\n"
	"	lbzx 7, 4, 12\n"
	"	stb 10, 0(3)\n"
	"	stbx 0, 3, 11\n"
	"	stbx 7, 3, 12\n"
	"	b 20f\n"
	"10:	add 11, 4, 5\n" /* the last 16, whatever comes before */
	"	addi 11, 11, -16\n"
	"	lxvd2x 33, 0, 11\n"
	"	add 12, 3, 5\n"
	"	addi 12, 12, -16\n"
	"11:	lxvd2x 32, 0, 4\n"
	"	stxvd2x 32, 0, 3\n"
	"	addi 4, 4, 16\n"
	"	addi 3, 3, 16\n"
	"	cmpld 3, 12\n"
	"	blt 11b\n"
	"	stxvd2x 33, 0, 12\n"
	"20:	lwsync\n"
	"	cmpldi 9, 4\n"
	"	bgt 21f\n"
	"	beq 22f\n"
	"	stb 8, -1(6)\n" DONE
	"21:	std 8, -8(6)\n" DONE
	"22:	stw 8, -4(6)\n" DONE
	FUNCTION("node_guarded_load")
	"	lwz 4, 0(3)\n" DONE
	FUNCTION("node_guarded_keep")
	"	lwz 4, 0(3)\n"
	"	stw 4, 0(3)\n" DONE
	FUNCTION("node_guarded_count")
	"	cmpwi 4, 0\n"
	"	bne 1f\n"
	"	lwz 5, 0(3)\n"
	"	addi 5, 5, 1\n"
	"	lwsync\n"
	"	stw 5, 0(3)\n" DONE
	"1:	lwsync\n"
	"2:	lwarx 5, 0, 3\n"
	"	addi 5, 5, 1\n"
	"	stwcx. 5, 0, 3\n"
	"	bne- 2b\n" DONE
	ON_WORDS("4", "w", "cmpw")
	ON_WORDS("8", "d", "cmpd")
	LABEL("node_guard_end")
	LABEL("node_guard_fault")
	"	li 3, 1\n"
	"	blr\n"
	".machine pop\n"
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
