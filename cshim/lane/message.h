/*
 * message.h - LAPI's messages that the lane writes and takes, as core/lapi/wire has them. Private
 * to the library.
 *
 * Little-endian, fixed widths, the same for every word size. Puts, gets and read-modify-writes
 * between tasks of a node are messages of ../node/message.h.
 */
#ifndef CSHIM_MESSAGE_H
#define CSHIM_MESSAGE_H

#include <stdint.h>

/* Kinds, as transport.MsgID. */
#define CSHIM_MSG_PUT 1     /* cshim_put_header, data: over UDP */
#define CSHIM_MSG_COUNTER 8 /* cshim_counter_header: add 1 to a counter of the receiver */
/* cshim_am_header, user header padded to 8 bytes, data: a whole active message */
#define CSHIM_MSG_AM_SMALL 24

typedef struct cshim_put_header {
	uint64_t tgt_addr, tgt_cntr, cmpl_cntr;
} cshim_put_header;

typedef struct cshim_counter_header {
	uint64_t cntr;
	uint64_t more; /* times, beyond the first */
} cshim_counter_header;

/* No user address of any architecture reaches the upper byte: there stands how many bytes of
 * padding follow the user header. */
#define CSHIM_AM_PADDING_SHIFT 56

typedef struct cshim_am_header {
	uint64_t
		handler; /* address, or index of LAPI_Addr_set; padding << CSHIM_AM_PADDING_SHIFT */
	uint64_t tgt_cntr, cmpl_cntr;
} cshim_am_header;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_put_header) == 24 && sizeof(cshim_counter_header) == 16 &&
                       sizeof(cshim_am_header) == 24,
               "headers have no holes and are whole units");
#endif

#endif
