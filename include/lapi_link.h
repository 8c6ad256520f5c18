/*
 * lapi_link.h - one-sided operations between the tasks of a job, for libraries that move data for
 * others, such as an MPI.
 *
 * A link reaches each task of the job by the way that liblapi_r has to it: memory of the node,
 * UDP/IP, or RDMA adapters. Programs that use LAPI beside it are not disturbed: a link is a LAPI
 * instance of its own.
 *
 * Operations return at once. A callback reports their end. It runs in a thread that calls
 * lapi_link_progress, lapi_link_flush or lapi_link_close, with no lock held; it may call all functions
 * but lapi_link_flush and lapi_link_close. Nothing is ordered. All functions may
 * be called by several threads at once. Compile with -llapi_r.
 *
 * A structure that is passed has in its first member its own size, sizeof: programs and libraries of
 * other versions understand each other. lapi_link(7) has all of this with an example.
 */
#ifndef LAPI_LINK_H
#define LAPI_LINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAPI_LINK_VERSION 1

/* Results of functions, and the status that a callback gets. */
#define LAPI_LINK_SUCCESS 0
#define LAPI_LINK_DONE 1 /* of lapi_link_send: done already, there is no callback */
#define LAPI_LINK_BAD_PARAM -1       /* a null pointer, over a limit, outside of a region */
#define LAPI_LINK_NOT_SUPPORTED -2   /* wrong alignment, or an operation that is not flagged */
#define LAPI_LINK_OUT_OF_RESOURCE -3 /* no room: nothing has happened; make progress, try again */
#define LAPI_LINK_UNREACHABLE -4     /* the task has ended, or is lost */
#define LAPI_LINK_ERROR -5           /* an address that is not there; no job; the library is out of order */

typedef struct lapi_link lapi_link_t;
typedef struct lapi_link_endpoint lapi_link_endpoint_t;

/*
 * A region of memory that operations name. It is plain bytes, of attr.handle_size: the program
 * copies it to other tasks, which pass the copy as remote_handle. Any part of the region may be
 * used with it.
 */
typedef struct lapi_link_handle {
	uint32_t handle_size, version; /* bytes of it, LAPI_LINK_VERSION: of the library that made it */
	uint64_t base, size;           /* bytes */
	uint32_t access;     /* LAPI_LINK_REMOTE_ */
	uint32_t task;
	uint64_t key[5];     /* of adapters: with it an operation asks the task for nothing; 0: none */
} lapi_link_handle_t;

/* The access of other tasks to a region. */
#define LAPI_LINK_REMOTE_READ 1u
#define LAPI_LINK_REMOTE_WRITE 2u
#define LAPI_LINK_REMOTE_ATOMIC 4u

/* The operation is complete, in every sense: of a put the data is in place at the target. */
typedef void lapi_link_done_t(lapi_link_t *link, lapi_link_endpoint_t *endpoint, void *local,
                              lapi_link_handle_t *local_handle, void *context, void *data,
                              int status);
/* A message has come: header and data, size bytes, aligned to 16. They are valid during the call. */
typedef void lapi_link_receive_t(lapi_link_t *link, lapi_link_endpoint_t *endpoint, uint32_t tag,
                                 const void *message, size_t size, void *context);
/*
 * A task is lost, or an operation to or from it has named an address that is not there, with
 * endpoint; or the link is out of order, with NULL. text is one line for the user, valid during the
 * call. Called once for each, before the callbacks of the operations that failed by it, in any thread,
 * also of the library; it may call neither lapi_link_flush nor lapi_link_close.
 */
typedef void lapi_link_error_t(lapi_link_t *link, lapi_link_endpoint_t *endpoint, int status,
                               const char *text, void *context);

/* The arguments of lapi_link_open. Zero all of it, then set members. */
typedef struct lapi_link_config {
	size_t size;
	uint32_t version;  /* LAPI_LINK_VERSION */
	uint32_t instance; /* the LAPI instance, 1 to 16, the same at all tasks; 0: 16 */
	lapi_link_error_t *error; /* NULL: none */
	void *context;            /* of error */
} lapi_link_config_t;

/* attr.flags: what the link can do. */
#define LAPI_LINK_SEND 1u
#define LAPI_LINK_PUT 2u
#define LAPI_LINK_GET 4u
#define LAPI_LINK_FLUSH 8u
#define LAPI_LINK_ATOMIC_OPS 16u
#define LAPI_LINK_ATOMIC_FOPS 32u

/* attr.atomic_flags: which atomic operations, and how. */
#define LAPI_LINK_CAN_ADD 1u
#define LAPI_LINK_CAN_AND 2u
#define LAPI_LINK_CAN_OR 4u
#define LAPI_LINK_CAN_XOR 8u
#define LAPI_LINK_CAN_SWAP 16u
#define LAPI_LINK_CAN_MIN 32u
#define LAPI_LINK_CAN_MAX 64u
#define LAPI_LINK_CAN_CSWAP 128u
#define LAPI_LINK_CAN_32BIT 256u
#define LAPI_LINK_GLOBAL 512u /* coherent with the processor's own atomic operations on the word */

/* The answer of lapi_link_query. Set size before the call. */
typedef struct lapi_link_attr {
	size_t size;
	uint32_t version;
	uint32_t task, tasks; /* this task, and how many there are */
	uint32_t flags, atomic_flags;
	uint32_t put_alignment, get_alignment; /* bytes, of the remote address and the size; 1: any */
	uint64_t put_limit, get_limit;         /* bytes of one operation */
	uint64_t send_limit;                   /* bytes of one message, header and data */
	uint64_t copy_limit;                   /* up to which lapi_link_send copies the message */
	uint32_t header_limit;                 /* bytes of the header of a longer message */
	uint32_t handle_size;                  /* bytes */
	uint32_t tags;                         /* tags are 0 to tags - 1 */
} lapi_link_attr_t;

/* Operations of lapi_link_atomic_op and lapi_link_atomic_fop. Min and max compare signed numbers. */
typedef enum lapi_link_atomic {
	LAPI_LINK_ADD,
	LAPI_LINK_AND,
	LAPI_LINK_OR,
	LAPI_LINK_XOR,
	LAPI_LINK_SWAP,
	LAPI_LINK_MIN,
	LAPI_LINK_MAX
} lapi_link_atomic_t;

/* flags of the atomic operations: on words of 4 bytes, of which the operands' low halves count. */
#define LAPI_LINK_32BIT 1u

/*
 * Opens the links of the job that the environment describes; a program without one is a job of one
 * task. Not collective: a task may use others before they have opened theirs.
 */
int lapi_link_open(const lapi_link_config_t *config, lapi_link_t **link);
/*
 * Closes them. Returns when what this task has sent is delivered; the callbacks of all else run with
 * LAPI_LINK_UNREACHABLE. Endpoints and regions end with it.
 */
int lapi_link_close(lapi_link_t *link);
int lapi_link_query(lapi_link_t *link, lapi_link_attr_t *attr);

/* The endpoint of a task, this one too. It is the link's; each call gives the same. */
int lapi_link_endpoint(lapi_link_t *link, uint32_t task, lapi_link_endpoint_t **endpoint);
/* The task of an endpoint. */
uint32_t lapi_link_task(const lapi_link_endpoint_t *endpoint);

/*
 * Registers [base, base + size): nothing is transferred, and the memory may be read and written as
 * before until lapi_link_deregister, which may be called when no operation uses it. Until then it
 * stays where it is: it is neither unmapped nor are its pages given back (madvise). access is
 * LAPI_LINK_REMOTE_, or'd. *handle is the link's until then.
 */
int lapi_link_register(lapi_link_t *link, void *base, size_t size, uint32_t access,
                       lapi_link_handle_t **handle);
int lapi_link_deregister(lapi_link_t *link, lapi_link_handle_t *handle);

/*
 * Writes size bytes from local to remote, an address of the endpoint's task; lapi_link_get reads
 * them. local may not be used until done has run. A handle of NULL stands for no region, which this
 * version permits. done may be NULL: then lapi_link_flush reports it. flags are 0.
 */
int lapi_link_put(lapi_link_t *link, lapi_link_endpoint_t *endpoint, void *local, uint64_t remote,
                  lapi_link_handle_t *local_handle, const lapi_link_handle_t *remote_handle,
                  size_t size, uint32_t flags, lapi_link_done_t *done, void *context, void *data);
int lapi_link_get(lapi_link_t *link, lapi_link_endpoint_t *endpoint, void *local, uint64_t remote,
                  lapi_link_handle_t *local_handle, const lapi_link_handle_t *remote_handle,
                  size_t size, uint32_t flags, lapi_link_done_t *done, void *context, void *data);

/*
 * Does op with operand on the word at remote, which is aligned to its length. lapi_link_atomic_fop
 * and lapi_link_atomic_cswap store its value before that at local; the latter stores value in the
 * word if it equals compare.
 */
int lapi_link_atomic_op(lapi_link_t *link, lapi_link_endpoint_t *endpoint, uint64_t remote,
                        const lapi_link_handle_t *remote_handle, lapi_link_atomic_t op,
                        uint64_t operand, uint32_t flags, lapi_link_done_t *done, void *context,
                        void *data);
int lapi_link_atomic_fop(lapi_link_t *link, lapi_link_endpoint_t *endpoint, void *local,
                         uint64_t remote, lapi_link_handle_t *local_handle,
                         const lapi_link_handle_t *remote_handle, lapi_link_atomic_t op,
                         uint64_t operand, uint32_t flags, lapi_link_done_t *done, void *context,
                         void *data);
int lapi_link_atomic_cswap(lapi_link_t *link, lapi_link_endpoint_t *endpoint, void *local,
                           uint64_t remote, lapi_link_handle_t *local_handle,
                           const lapi_link_handle_t *remote_handle, uint64_t compare,
                           uint64_t value, uint32_t flags, lapi_link_done_t *done, void *context,
                           void *data);

/*
 * Has receive called at this task for each message with tag; NULL: messages with tag wait. To be set
 * before the others send, or they wait.
 */
int lapi_link_set_receive(lapi_link_t *link, uint32_t tag, lapi_link_receive_t *receive,
                          void *context);
/*
 * Sends header and data as one message. Up to attr.copy_limit bytes are copied: LAPI_LINK_DONE, and
 * done does not run. Longer: header has at most attr.header_limit bytes; with LAPI_LINK_SUCCESS data
 * may not be used until done has run, and LAPI_LINK_DONE is as for short ones.
 */
int lapi_link_send(lapi_link_t *link, lapi_link_endpoint_t *endpoint, uint32_t tag,
                   const void *header, size_t header_size, const void *data, size_t size,
                   lapi_link_done_t *done, void *context, void *cbdata);

/*
 * Waits, with progress, until all operations to endpoint that began before are complete; NULL: to
 * all tasks. LAPI_LINK_UNREACHABLE: one without a callback was to a task that is lost;
 * LAPI_LINK_ERROR: one named an address that is not there. Each is reported by one flush.
 */
int lapi_link_flush(lapi_link_t *link, lapi_link_endpoint_t *endpoint);
/* Receives, sends, and runs callbacks. Returns how many ran, or a negative result. */
int lapi_link_progress(lapi_link_t *link);

#ifdef __cplusplus
}
#endif

#endif
