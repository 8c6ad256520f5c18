/*
 * link.h - what the files of this part share. Private to it.
 *
 * The lock of a link is that of its LAPI context: one lock is taken for an operation, and header
 * handlers have it. It protects the link's lists and its endpoints' fields. No callback runs under it.
 * A transfer may let it go to wait for room, and handlers may run meanwhile. Counters are LAPI's to
 * change, and are read without the lock.
 */
#ifndef CSHIM_LINK_H
#define CSHIM_LINK_H

#include <lapi.h>
#include <lapi_link.h>
#include <stdatomic.h>

#include "context/contexts.h"
#include "context/golapi.h"

#define LINK_EXPORT __attribute__((visibility("default")))
/* bytes of a put or get: as many as LAPI takes */
#define LINK_LIMIT ((uint64_t)1 << 40)

enum {
	LINK_TAGS = 256,
	LINK_COPY = 8192,           /* bytes of a message that is copied, whatever the way to its task */
	LINK_PACK = 128,            /* bytes of a message that goes as a user header alone, at most */
	LINK_SEND = 64 << 10,       /* bytes of a message */
	LINK_HEADER = 512,          /* bytes of the header of a message that is not copied */
	LINK_WINDOW = 1 << 20,      /* bytes of messages on the way to one task, and not received by it */
	LINK_COST = 256,            /* bytes that each message counts beside its own */
	LINK_USER_HEADER = 2048,    /* bytes of a message that LAPI itself copies, at most */
	LINK_OPERATIONS = 16 << 10, /* under way with one task */
	LINK_HANDLER = 1,           /* of LAPI_Addr_set */
};

/* Operations of one kind end in their order, nearly: so the first that has not ended is looked at. */
enum link_kind { LINK_WRITES, LINK_READS, LINK_SENDS, LINK_KINDS };

/* An operation with a callback, or a message that is being sent. */
typedef struct link_op {
	struct link_op *next;
	lapi_link_endpoint_t *endpoint;
	int counter; /* LAPI's: 1 when it is over */
	int status;
	lapi_link_done_t *done; /* NULL: a message that was copied */
	void *local, *context, *data;
	lapi_link_handle_t *handle;
	uint32_t kind;
	lapi_err_t type;       /* LAPI's name of its kind */
	uint64_t remote, size; /* size: bytes at local, and at remote, which a message has not */
	char *copy;            /* LINK_COPY bytes and a head; NULL: this has none */
} link_op;

/*
 * LAPI counts with a machine instruction that the thread sanitizer does not see: it learns here that
 * all before a hand-over to LAPI is before the end that the counter shows.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *at);
void __tsan_release(void *at);
#define link_handed_over(counter) __tsan_release(counter)
#define link_counted(counter) __tsan_acquire((void *)(uintptr_t)(counter))
#else
#define link_handed_over(counter) ((void)(counter))
#define link_counted(counter) ((void)(counter))
#endif

static inline int link_has_counted(const link_op *op)
{
	if (!__atomic_load_n(&op->counter, __ATOMIC_ACQUIRE))
		return 0;
	link_counted(&op->counter);
	return 1;
}

/* In front of each message: 8 bytes, so that it and 24 of the message fit a line with LAPI's own. */
typedef struct link_head {
	uint32_t what;  /* bytes of the message | tag << LINK_TAG_AT; or LINK_CREDIT */
	uint32_t taken; /* low bits of the sender's taken */
} link_head;
_Static_assert(sizeof(link_head) == 8, "a short message of Open MPI's fits a line");
/* Where the counts of bytes begin: so that all tests pass the place where their low bits wrap. */
#define LINK_START (((uint64_t)1 << 32) - 2 * LINK_WINDOW)
#define LINK_TAG_AT 20
#define LINK_CREDIT (1u << 31) /* of a head alone: it is there for taken */

typedef struct link_tag {
	lapi_link_receive_t *receive;
	void *context;
} link_tag;

/* A message that has come, and waits for lapi_link_progress. */
typedef struct link_message {
	struct link_message *next;
	lapi_link_endpoint_t *endpoint;
	uint32_t tag, size;
	link_tag call; /* that of its tag, when it leaves the list */
	_Alignas(16) char bytes[];
} link_message;

typedef struct link_list {
	void *first, *last;
} link_list;

struct lapi_link_endpoint {
	lapi_link_t *link;
	uint32_t task;
	int status;       /* not LAPI_LINK_SUCCESS: the task is lost */
	int listed;       /* in link->active */
	lapi_link_endpoint_t *next_active;
	link_list under_way[LINK_KINDS];             /* of link_op */
	uint64_t begun[LINK_KINDS], ended[LINK_KINDS];
	/* Operations without a callback. A flush has the next one begin a generation as soon as none of
	   the last but one is under way: so those that it waits for get no more. By the low bit of the
	   generation: that began; that are complete, which LAPI counts. Then: that have failed and are
	   in counted, of whichever generation; that have failed; of these, that a flush has reported. */
	uint32_t generation, counted[2];
	int complete[2];
	uint32_t absent, failed, failed_reported;
	/* bytes of messages, LINK_COST included: that were sent; of these, that the task has
	   received; that this one has received of its, and has reported so */
	uint64_t sent, sent_taken, taken, taken_reported;
};

/* A region, in a ring of all of its link. */
typedef struct link_region {
	struct link_region *next, *before;
	int has_key;
	uint64_t base, size, key[5]; /* the first value of handle, which the program may change */
	lapi_link_handle_t handle;
} link_region;
_Static_assert(sizeof((lapi_link_handle_t){0}.key) == CSHIM_KEY_SIZE, "the key of a region");
_Static_assert(LAPI_LINK_REMOTE_READ == CSHIM_REGION_READ &&
                       LAPI_LINK_REMOTE_WRITE == CSHIM_REGION_WRITE,
               "access");

/*
 * Constant after lapi_link_open: handle to error_context. users: atomic. closed: of the thread in
 * lapi_link_close, when no other has the link. All else: under the lock, as are the fields of
 * endpoints, operations that are in a list, and messages.
 */
struct lapi_link {
	atomic_uint users; /* error handlers that work with it */
	int closed;        /* its context is another's, or nobody's */
	lapi_handle_t handle;
	cshim_context *context;
	uint32_t task, tasks, header_max; /* header_max: bytes of a user header of LAPI's */
	lapi_link_error_t *error;
	void *error_context;
	int news; /* something is in the lists below */
	lapi_link_endpoint_t **endpoints; /* by task; made on first use */
	lapi_link_endpoint_t *active;     /* with operations under way */
	link_list come;                   /* of link_message */
	link_op *free_ops, *free_copies, *lost;
	link_message *free_messages; /* of LINK_COPY bytes */
	uint32_t num_free_messages;
	link_tag tags[LINK_TAGS];
	link_region regions; /* the ring's beginning, itself none */
	atomic_int has_no_keys; /* there are no adapters */
};

/* In the child of a fork the lock may be held for ever, by a thread that is not there. */
static inline int link_usable(const lapi_link_t *link)
{
	return link && !cshim_forked_away();
}

static inline void link_lock(lapi_link_t *link)
{
	if (!link->closed)
		cshim_lock(&link->context->progress);
}

static inline void link_unlock(lapi_link_t *link)
{
	if (!link->closed)
		cshim_lock_drop(&link->context->progress);
}

/* list.c */

/* The endpoint of a task, under the lock; NULL: no memory. */
lapi_link_endpoint_t *link_endpoint_of(lapi_link_t *link, uint32_t task);
/* An operation, under the lock; copies: with room for a message. NULL: no memory. */
link_op *link_op_new(lapi_link_t *link, int copies);
void link_op_free(lapi_link_t *link, link_op *op);
/* Puts op behind the others of its endpoint and kind, under the lock. */
void link_begin(lapi_link_t *link, link_op *op);
/* LAPI has refused op. 0: its callback runs all the same, as its endpoint was lost meanwhile. */
int link_withdraw(lapi_link_t *link, link_op *op);
/* A message of size bytes; NULL: no memory. */
link_message *link_message_new(lapi_link_t *link, uint32_t size);
void link_message_free(lapi_link_t *link, link_message *message);
void link_append(link_list *list, void *item, void **next_of_last);

/* The result for a code of LAPI's. */
int link_result(int code);
/* Makes all operations of ep, which is lost, end with status, under the lock. */
void link_lose(lapi_link_t *link, lapi_link_endpoint_t *ep, int status);
/* Makes the operation of ep end that has failed by an error of LAPI's, under the lock. */
void link_fail(lapi_link_t *link, lapi_link_endpoint_t *ep, const cshim_error *error);
/* Operations without a callback of a generation, of the last two, that are not complete. */
static inline uint32_t link_incomplete(const lapi_link_endpoint_t *ep, uint32_t generation)
{
	const int i = generation & 1;

	return ep->counted[i] - (uint32_t)__atomic_load_n(&ep->complete[i], __ATOMIC_ACQUIRE);
}
/* Those that are under way with ep. */
static inline uint32_t link_uncounted(const lapi_link_endpoint_t *ep)
{
	return link_incomplete(ep, 0) + link_incomplete(ep, 1) - ep->absent;
}
/* n of them have failed, under the lock. */
static inline void link_count_failed(lapi_link_endpoint_t *ep, uint32_t n)
{
	ep->absent += n;
	ep->failed += n;
}

/* The result where a link's context cannot be entered. */
int link_refused(const char *call, const lapi_link_endpoint_t *ep);

/* progress.c */

/* Runs the callbacks of operations that have ended, without the lock; returns how many. */
int link_run(lapi_link_t *link);

/* send.c */

/* The header handler of all messages. */
void *link_arrive(lapi_handle_t *handle, void *header, uint *header_size, ulong *size,
                  compl_hndlr_t **completion, void **info);
/* Reports to ep how much of its messages was received. */
void link_report(lapi_link_t *link, lapi_link_endpoint_t *ep);
/* open.c: the link of a LAPI handle, for a caller under its lock; NULL: none. */
lapi_link_t *link_of(lapi_handle_t handle);

#endif
