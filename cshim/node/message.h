/*
 * message.h - the messages by which the node part itself moves data: puts, gets and operations on
 * words, as the origin writes them and the target serves them (serve.c). Private to the library.
 *
 * Little-endian, fixed widths, the same for every word size. A message's length stands in its head
 * word (segment.h). A notice is two words of the origin's owner for the target's: the target's
 * owner gets them once the data is in place (of a get: once it was read). The node part does not
 * look at them.
 */
#ifndef NODE_MESSAGE_H
#define NODE_MESSAGE_H

#include <stdint.h>

/* Kinds, above the owner's. */
#define NODE_PUT 32  /* node_put_header, data: a whole put */
#define NODE_PART 33 /* node_part_header, data: of a put in parts, but the last */
#define NODE_LAST 34 /* node_put_header with the address of this part, data */
/* node_copied_header: the origin has written the receiver's memory by itself */
#define NODE_WRITTEN 35
#define NODE_GET 36   /* node_get_header: answer with NODE_REPLY and the data */
#define NODE_RMW 37   /* node_rmw_header: answer with NODE_REPLY */
#define NODE_REPLY 38 /* node_reply_header, data of a get */
#define NODE_READ 39  /* node_copied_header: the origin has read the receiver's memory by itself */
#define NODE_KIND_END 40

typedef struct node_put_header {
	uint64_t addr;
	uint64_t notice[2];
} node_put_header;

/* Parts of a put come in order, with no other put's between them. A bad address in one silences the
   notice of the last. */
typedef struct node_part_header {
	uint64_t addr;  /* where this part goes */
	uint64_t flags; /* below */
} node_part_header;

#define NODE_PART_FIRST 1u /* a put begins with it */
#define NODE_PART_HUGE 2u  /* the put has NODE_HUGE_MIN bytes or more */
/* Bytes from which a transfer's destination is taken to be in no cache, nor of use there. */
#define NODE_HUGE_MIN (16u << 20)

typedef struct node_copied_header {
	uint64_t n; /* bytes */
	uint64_t notice[2];
} node_copied_header;

typedef struct node_get_header {
	uint64_t addr, n; /* at the target */
	uint64_t notice[2];
	uint64_t token; /* the origin's; the answer repeats it */
} node_get_header;

typedef struct node_rmw_header {
	uint64_t addr, operand, compare;
	uint32_t token;
	uint8_t op;    /* NODE_ADD … NODE_CAS, guard.h */
	uint8_t width; /* 4 or 8 bytes */
	uint16_t zero;
} node_rmw_header;

/* state of an answer */
#define NODE_REPLY_OK 0
#define NODE_REPLY_FAILED 1 /* value is the address that was bad */
#define NODE_REPLY_PART 2   /* of a get: more follows, in order */

typedef struct node_reply_header {
	uint32_t token, state;
	/*
	 * of an operation on a word: before it, zero-extended; of a get: where in it the data
	 * belongs
	 */
	uint64_t value;
} node_reply_header;

#ifndef __cplusplus
_Static_assert(sizeof(node_put_header) == 24 && sizeof(node_part_header) == 16 &&
                       sizeof(node_copied_header) == 24 && sizeof(node_get_header) == 40 &&
                       sizeof(node_rmw_header) == 32 && sizeof(node_reply_header) == 16,
               "headers have no holes and are whole units");
#endif

#endif
