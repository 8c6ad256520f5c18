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
/* node_pull_header: read this from the origin's memory, and answer with NODE_REPLY */
#define NODE_PULL 40
/* node_copied_header, right behind a NODE_PULL of the same put: its other half was written. n is 0
 * if it could not be written: then the put is sent again, and this one gives no notice. */
#define NODE_HALF 41
/* node_push_header: a get, all or the second half of which the receiver writes to the origin's
 * memory; it answers with NODE_REPLY, or as to NODE_GET where it cannot write */
#define NODE_PUSH 42
#define NODE_KIND_END 43

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
#define NODE_PART_STREAMED 2u /* the target's stores pass its caches */

typedef struct node_copied_header {
	uint64_t n; /* bytes */
	uint64_t notice[2];
} node_copied_header;

/* A put, or the second half of one, that its target copies: it reads n bytes at from, of the
 * origin, to its own at. */
typedef struct node_pull_header {
	uint64_t from, at, n;
	uint64_t token; /* the origin's; with NODE_PULL_WHOLE if it is all of the put */
	uint64_t notice[2];
} node_pull_header;

#define NODE_PULL_WHOLE ((uint64_t)1 << 32)

typedef struct node_get_header {
	uint64_t addr, n; /* at the target */
	uint64_t notice[2];
	uint64_t token; /* the origin's, which the answer repeats; with NODE_GET_ flags */
} node_get_header;

/* How the answer is written to chunks (NODE_HOW_, send.h): NODE_GET_HOW | bits << NODE_GET_HOW_AT.
 * Without the flag that is the target's choice. */
#define NODE_GET_HOW ((uint64_t)1 << 32)
#define NODE_GET_HOW_AT 33

/* A get whose data its target writes. The origin reads the first half by itself unless it is
 * NODE_PUSH_WHOLE. */
typedef struct node_push_header {
	node_get_header get; /* all of it; the token with NODE_PUSH_WHOLE and era << NODE_PUSH_ERA */
	uint64_t to;         /* where all of it goes at the origin */
} node_push_header;

#define NODE_PUSH_WHOLE ((uint64_t)1 << 32)
#define NODE_PUSH_ERA 33            /* a shift: the bits above are the origin's era (segment.h) */
#define NODE_PUSH_ERA_MASK 0x7fffffff /* so much of it */

typedef struct node_rmw_header {
	uint64_t addr, operand, compare;
	uint32_t token;
	uint8_t op;    /* NODE_ADD … NODE_MAX, guard.h */
	uint8_t width; /* 4 or 8 bytes */
	uint16_t zero;
} node_rmw_header;

/* state of an answer */
#define NODE_REPLY_OK 0
#define NODE_REPLY_FAILED 1 /* value is the address that was bad */
#define NODE_REPLY_PART 2   /* of a get: more follows, in order */
/* of a pull: nothing is in place, send it in messages; value is 1 if no other can succeed either */
#define NODE_REPLY_AGAIN 3

typedef struct node_reply_header {
	uint32_t token, state;
	/*
	 * of an operation on a word: before it, zero-extended; of a get: where in it the data
	 * belongs
	 */
	uint64_t value;
} node_reply_header;

/* The data of the answer to a pull: values that the origin has not kept. at is that of the whole
 * put. */
typedef struct node_pulled {
	uint64_t at;
	uint64_t notice[2];
} node_pulled;

#ifndef __cplusplus
_Static_assert(sizeof(node_put_header) == 24 && sizeof(node_part_header) == 16 &&
                       sizeof(node_copied_header) == 24 && sizeof(node_get_header) == 40 &&
                       sizeof(node_rmw_header) == 32 && sizeof(node_reply_header) == 16 &&
                       sizeof(node_pull_header) == 48 && sizeof(node_pulled) == 24 &&
                       sizeof(node_push_header) == 48,
               "headers have no holes and are whole units");
#endif

#endif
