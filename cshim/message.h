/*
 * message.h - the messages between tasks that the lane knows, as core/lapi/header.go and lanewire.go write them. Private to the library.
 *
 * Little-endian, fixed widths, the same for every word size. A message's length stands in its head word (segment.h).
 */
#ifndef CSHIM_MESSAGE_H
#define CSHIM_MESSAGE_H

#include <stdint.h>

/* Kinds, as transport.MsgID. */
#define CSHIM_MSG_PUT 1       /* cshim_put_header, data */
#define CSHIM_MSG_COUNTER 8   /* cshim_counter_header: add 1 to a counter of the receiver */
#define CSHIM_MSG_AM_SMALL 24 /* cshim_am_header, user header padded to 8 bytes, data: a whole active message */
#define CSHIM_MSG_LANE_GET 25 /* cshim_get_header: answer with CSHIM_MSG_LANE_REPLY and the data */
#define CSHIM_MSG_LANE_RMW 26 /* cshim_rmw_header: answer with CSHIM_MSG_LANE_REPLY */
#define CSHIM_MSG_LANE_REPLY 27 /* cshim_reply_header, data of a get; only the lane understands it */
/* A put in parts, in order and with no other put's between them. A bad address in one silences the counters of the last. */
#define CSHIM_MSG_PUT_PART 28 /* cshim_part_header, data */
#define CSHIM_MSG_PUT_LAST 29 /* cshim_put_header with the address of this part, data */

typedef struct cshim_put_header {
	uint64_t tgt_addr, tgt_cntr, cmpl_cntr;
} cshim_put_header;

typedef struct cshim_part_header {
	uint64_t addr;  /* where this part goes */
	uint64_t flags; /* below */
} cshim_part_header;

#define CSHIM_PART_FIRST 1u /* a put begins with it */
#define CSHIM_PART_HUGE 2u  /* the put has CSHIM_HUGE_MIN bytes or more */
/* Bytes from which a transfer's destination is taken to be in no cache, nor of use there. */
#define CSHIM_HUGE_MIN (16u << 20)

typedef struct cshim_counter_header {
	uint64_t cntr;
	uint64_t more; /* times, beyond the first */
} cshim_counter_header;

/* No user address of any architecture reaches the upper byte: there stands how many bytes of padding follow the user header. */
#define CSHIM_AM_PADDING_SHIFT 56

typedef struct cshim_am_header {
	uint64_t handler; /* address, or index of LAPI_Addr_set; padding << CSHIM_AM_PADDING_SHIFT */
	uint64_t tgt_cntr, cmpl_cntr;
} cshim_am_header;

typedef struct cshim_get_header {
	uint64_t addr, length; /* at the target */
	uint64_t cntr;         /* target counter */
	uint64_t token;        /* the origin's; the answer repeats it */
} cshim_get_header;

typedef struct cshim_rmw_header {
	uint64_t variable, operand, compare;
	uint32_t token;
	uint8_t op;    /* RMW_ops_t */
	uint8_t width; /* 4 or 8 bytes */
	uint16_t zero;
} cshim_rmw_header;

/* state of an answer */
#define CSHIM_REPLY_OK 0
#define CSHIM_REPLY_FAILED 1 /* the address was bad; CSHIM_MSG's fault message tells more */
#define CSHIM_REPLY_PART 2   /* of a get: more follows, in order */

typedef struct cshim_reply_header {
	uint32_t token, state;
	uint64_t value; /* of a read-modify-write: before it, zero-extended; of a get: where in it the data belongs */
} cshim_reply_header;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_put_header) == 24 && sizeof(cshim_counter_header) == 16 && sizeof(cshim_am_header) == 24 &&
               sizeof(cshim_get_header) == 32 && sizeof(cshim_rmw_header) == 32 && sizeof(cshim_reply_header) == 16 && sizeof(cshim_part_header) == 16,
               "headers have no holes and are whole units");
#endif

#endif
