/*
 * reduce.h - reductions of uDAPL's collectives: op and type are the numbers of
 * DAT_IB_COLLECTIVE_REDUCE_DATA_OP and DAT_IB_COLLECTIVE_DATA_TYPE. Any thread, no state.
 *
 * Valid combinations:
 *
 *	MAX MIN SUM PROD               INT8 to LONG_DOUBLE
 *	LAND BAND LOR BOR LXOR BXOR    INT8 to UINT64
 *	MAXLOC MINLOC                  INT8 to DOUBLE, elements {type, uint32_t};
 *	                               SHORT_INT to DOUBLE_INT, elements {value, int}
 *
 * An element of two parts is laid out as C's struct of them, with its padding. The second part is
 * the rank that the value comes from, or whatever the program put there.
 *
 * Results. Integers wrap around. LAND, LOR and LXOR give 0 or 1. Of equal values MAX and MIN keep
 * the left one, MAXLOC and MINLOC the one with the lower second part; +0 and -0 are equal. A NaN is
 * greater than any other value to MAX and MAXLOC and less to MIN and MINLOC: one NaN makes the
 * result a NaN, and in MAXLOC and MINLOC its rank is that of the NaN with the lowest rank. Which
 * NaN a SUM or PROD of two NaNs is, is not specified. The result of an element depends on that
 * element's operands alone, not on count, alignment or the processor, and on its bytes: the padding
 * of a LONG_DOUBLE becomes zero, that of a pair is the chosen element's. MAX, MIN, MAXLOC and
 * MINLOC are associative, and so are all on integers; SUM and PROD of floating point are not.
 *
 * Buffers may have any alignment.
 */
#ifndef COLL_REDUCE_H
#define COLL_REDUCE_H

#include <stddef.h>

enum {
	COLL_MAX,
	COLL_MIN,
	COLL_SUM,
	COLL_PROD,
	COLL_LAND,
	COLL_BAND,
	COLL_LOR,
	COLL_BOR,
	COLL_LXOR,
	COLL_BXOR,
	COLL_MAXLOC,
	COLL_MINLOC,
	COLL_OPS
};

enum {
	COLL_INT8,
	COLL_UINT8,
	COLL_INT16,
	COLL_UINT16,
	COLL_INT32,
	COLL_UINT32,
	COLL_INT64,
	COLL_UINT64,
	COLL_FLOAT,
	COLL_DOUBLE,
	COLL_LONG_DOUBLE,
	COLL_SHORT_INT,
	COLL_2INT,
	COLL_FLOAT_INT,
	COLL_LONG_INT,
	COLL_DOUBLE_INT,
	COLL_TYPES
};

/* 1 if there is that operation of that type; 0 also for numbers that are none. */
int coll_reduce_valid(int op, int type);

/* Bytes of an element of type in op; 0 if there is no such operation. */
size_t coll_type_size(int op, int type);

/*
 * inout[i] = inout[i] op in[i], for count elements; inout is the operand of the lower ranks.
 * The buffers must not overlap, unless they are the same. 0, or -1 and nothing done if there is no
 * such operation.
 */
int coll_reduce(int op, int type, void *inout, const void *in, size_t count);

/* out[i] = a[i] op b[i]; a is the operand of the lower ranks. out may be a or b, and must not
 * overlap them otherwise. Returns as above. */
int coll_reduce_to(int op, int type, void *out, const void *a, const void *b, size_t count);

#endif
