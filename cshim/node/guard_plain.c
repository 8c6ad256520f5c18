/*
 * guard_plain.c - the guarded functions where there are none in assembly (32-bit x86): each access is
 * bracketed by sigsetjmp; see guard_piece.h.
 */
#include "node/guard_piece.h"

#if !GUARD_HAS_PIECE
#include <string.h>

/* No piece: an empty one. */
__asm__(".pushsection .text\n"
        ".globl node_guard_begin\n.hidden node_guard_begin\n"
        ".globl node_guard_end\n.hidden node_guard_end\n"
        ".globl node_guard_fault\n.hidden node_guard_fault\n"
        "node_guard_begin:\nnode_guard_end:\nnode_guard_fault:\n"
        ".popsection\n");

void node_guard_choose(void)
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

static void load(const char *at)
{
	char word[sizeof(int32_t)];

	memcpy(word, at, sizeof word);
	__asm__ volatile("" ::"m"(word)); /* else nothing would be loaded */
}

int node_guarded_load(const void *at)
{
	GUARDED(load(at));
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
