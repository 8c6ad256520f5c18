/*
 * golapi.h - what capi (Go) gives the C entry points, and what they give it. Private to the
 * library.
 *
 * Unless a comment says otherwise a golapi_ function runs with the context lock held and never
 * blocks. context is the index of the context block. Results are LAPI return codes.
 */
#ifndef CSHIM_GOLAPI_H
#define CSHIM_GOLAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "context/context.h"

typedef uint64_t cshim_addr; /* an address in some task: transport.Addr */

/*
 * Without the lock, may block: sets up the context in a block in state INITIALIZING; lib is
 * lapi_info_t's lib_vers.
 */
extern int golapi_init(int context, cshim_addr info);
/*
 * Begins to leave: the ticket is done when all that this task sent is acknowledged, at most TIMEOUT
 * later.
 */
extern int golapi_term_begin(int context, uint64_t *ticket);
/*
 * Without the lock, after the context's threads have ended: releases everything. May block shortly.
 */
extern int golapi_term_end(int context);

/*
 * Core's part of a progress call. ticket: 0, or what to report as CSHIM_PROGRESS_TICKET;
 * CSHIM_PROGRESS_ flags. Never nested.
 */
extern uint32_t golapi_dispatch(int context, uint64_t ticket);
/* The result of a finished ticket, which it forgets. */
extern int golapi_ticket_result(int context, uint64_t ticket);
/*
 * About to sleep: 1 if there is work now; else *timeout_ns is how long at most (-1: for ever).
 * golapi_disarm after waking.
 */
extern int golapi_arm(int context, int64_t *timeout_ns);
extern void golapi_disarm(int context);

/*
 * 1: no user thread has polled for a moment, so peers shall not count on this task to copy; 0: one
 * does.
 */
extern void golapi_away(int context, int away);

/* Writes at most size bytes of a dump, whole lines, and returns how many. Changes nothing. */
extern size_t golapi_dump(int context, char *text, size_t size);
/* Writes a dump of this process in words on stderr. Any thread, without the lock. */
extern void golapi_dump_print(char *text, size_t size);

/*
 * An error for the user's error handler. 0: none left. handler 0: none registered, text is the
 * message.
 */
typedef struct cshim_error {
	cshim_addr handler;
	int32_t code, type, task, src;
	int32_t ends;        /* 1: the context is broken; it ends when the handler has returned */
	int32_t patience_ms; /* without a handler: time for a launcher to end the task first */
	/* 1: an operation of this task, of kind type, to or from failed_peer has failed by it.
	   failed_addr is one of its addresses, failed_here: in this task's memory. */
	int32_t failed, failed_peer, failed_here;
	cshim_addr failed_addr;
	char text[400];
} cshim_error;
extern int golapi_next_error(int context, cshim_error *error);

/* A queued completion handler. 0: none. golapi_completion_done after it has returned. */
typedef struct cshim_completion {
	cshim_addr handler, info;
	uint64_t id;
} cshim_completion;
extern int golapi_next_completion(int context, cshim_completion *completion);
extern void golapi_completion_done(int context, uint64_t id);

/*
 * Operations of a read-modify-write that no program has but by lapi_link_atomic_: core/lapi/wire.
 * The first four follow those of RMW_ops_t, with cshim/node's numbers.
 */
#define CSHIM_FETCH_AND_AND 4
#define CSHIM_FETCH_AND_XOR 5
#define CSHIM_FETCH_AND_MIN 6
#define CSHIM_FETCH_AND_MAX 7
#define CSHIM_COMPARE_AND_FETCH 8
#define CSHIM_RMW_LAST CSHIM_COMPARE_AND_FETCH

/*
 * The arguments of any call that transfers: the members of all LAPI_Xfer structures; lapi.Transfer
 * in core. Vectors are in tgt_addr and org_addr, a read-modify-write's variable and input too, an
 * active message's udata in org_addr, a group in tgt.
 */
typedef struct cshim_transfer {
	cshim_addr hdr_hdl, uhdr, tgt_addr, org_addr, prev_val;
	uint64_t len, skip; /* skip: of LAPI_AMX_XFER, send_offset_dgsp_bytes */
	cshim_addr tgt_cntr, org_cntr, cmpl_cntr;
	cshim_addr handler, info; /* send completion handler; of a get the completion handler */
	uint32_t flags, tgt, uhdr_len;
	uint32_t op, size; /* of a read-modify-write: RMW_ops_t, bits */
	uint32_t reserved;
	/* of a put that has cmpl_cntr alone, and a get that has org_cntr alone: CSHIM_KEY_SIZE bytes that
	   golapi_register has given for the target's region; 0: none */
	cshim_addr key;
	uint64_t room; /* the answer: a ticket; 0: there is nothing to wait for */
} cshim_transfer;
/*
 * type: an lapi_xfer_type_t; core refuses what it does not know. If so much waits for the target
 * that this call should wait for room, transfer->room is its ticket.
 */
extern int golapi_xfer(int context, uint32_t type, cshim_transfer *transfer);

/*
 * A region of memory that peers put to and get from; access: CSHIM_REGION_. 1: key is what they may
 * pass along with operations over adapters, and golapi_deregister gets; the memory must stay where it
 * is until then. CSHIM_NO_KEYS: there are no adapters.
 */
#define CSHIM_NO_KEYS (-1)
#define CSHIM_KEY_SIZE 40
#define CSHIM_REGION_READ 1u
#define CSHIM_REGION_WRITE 2u
extern int golapi_register(int context, cshim_addr base, uint64_t size, uint32_t access,
                           uint64_t *key);
extern void golapi_deregister(int context, cshim_addr base, uint64_t size, uint64_t *key);

/* list: an array of num_tasks uint; *group, a lapi_group_t, gets the name. */
extern int golapi_group_create(int context, uint32_t num_tasks, cshim_addr list, cshim_addr group);
extern int golapi_group_free(int context, uint32_t group);

extern int golapi_addr_set(int context, cshim_addr addr, int32_t index);
extern int golapi_addr_get(int context, int32_t index, cshim_addr *addr);
extern int golapi_qenv(int context, uint32_t query, cshim_addr ret_val);
extern int golapi_senv(int context, uint32_t query, int32_t val);
/*
 * Blocking calls begin here and are over when their ticket is done. Ticket 0, of a fence: it is over
 * already.
 */
extern int golapi_fence_begin(int context, uint64_t *ticket);
extern int golapi_gfence_begin(int context, uint64_t *ticket);
/* table gets num_tasks entries of width 4 or 8 bytes before the ticket is done */
extern int golapi_address_init_begin(int context, uint64_t value, cshim_addr table, uint32_t width,
                                     uint64_t *ticket);

/*
 * DGSPs belong to the process: the first three run with or without a lock. golapi_dgsp_pack gathers
 * n bytes at in to out, behind *position of its size bytes; golapi_dgsp_unpack scatters n bytes of
 * in, behind *position of its in_size bytes, to the out_size bytes at out. position moves on if all
 * is well.
 */
extern int golapi_dgsp_register(cshim_addr descriptor, cshim_addr *handle);
extern int golapi_dgsp_reserve(cshim_addr handle);
extern int golapi_dgsp_unreserve(cshim_addr handle);
extern void golapi_dgsp_ddm(int context, cshim_addr handler);
extern int golapi_dgsp_pack(int context, cshim_addr handle, cshim_addr in, uint64_t n,
                            cshim_addr out, uint64_t size, uint64_t *position);
extern int golapi_dgsp_unpack(int context, cshim_addr handle, cshim_addr in, uint64_t in_size,
                              uint64_t *position, cshim_addr out, uint64_t n, uint64_t out_size);

/*
 * LAPI_ADD_UDP_DEST_PORT and, where with_family is 1, LAPI_ADD_UDP_DEST_EXT: task tgt is to be
 * reached at port, a lapi_udp_t or a lapi_udp_storage.
 */
extern int golapi_add_udp_dest(int context, uint32_t tgt, uint32_t instance_no, cshim_addr port,
                               int with_family);

extern int golapi_purge(int context, uint32_t dest);
extern int golapi_resume(int context, uint32_t dest);
/*
 * Hangs a list of num_dest tasks on a counter and stores the first entries of status; dest 0: takes
 * the list off. member is the address of the counter's dest_status, which holds status afterwards:
 * while it does the list is believed.
 */
extern int golapi_counter_list(int context, cshim_addr cntr, int32_t num_dest, cshim_addr dest,
                               cshim_addr status, cshim_addr member);
extern void golapi_counter_unlist(int context, cshim_addr cntr);
/*
 * The effect of a purge, or of the loss of a task, on a thread that waits for a counter; each is
 * reported once.
 */
/* nothing: no task of its list was purged since it was asked last */
#define CSHIM_COUNTER_QUIET 0
#define CSHIM_COUNTER_PURGED 1   /* one was */
#define CSHIM_COUNTER_UNLISTED 2 /* it has no list: every purge concerns it */
extern int golapi_counter_purged(int context, cshim_addr cntr);
/* 1, once for each loss of a task: threads in LAPI_Nopoll_wait are to look whether it concerns them.
 */
extern int golapi_take_loss(int context);

/* The result of a header handler. */
typedef struct cshim_header_result {
	cshim_addr buffer, completion, info;
	uint64_t dgsp, bytes, skip; /* skip: recv_offset_dgsp_bytes */
	int32_t ret_flags, ctl_flags;
} cshim_header_result;

/* The work that the lane (lane.h) leaves to core. kind is an lapi_err_t. */

/*
 * Adds 1 to a counter that src named, in a message between this task and peer; the lane could not.
 */
extern void golapi_lane_count(int context, cshim_addr cntr, int32_t kind, int32_t src,
                              int32_t peer);
/* Tells origin that a message of its, and more others, are complete; the lane found no room. */
extern void golapi_lane_tell(int context, int32_t origin, cshim_addr cmpl_cntr, uint64_t more);
/* Goes on with the put to tgt in node_link.transfer, of which the first parts went, and then there
 * was no room. */
extern void golapi_lane_put_rest(int context, int32_t tgt, cshim_addr org_cntr);
/* Takes over the request in node_link.event, at the head of a ring, that cannot be served now. 1:
 * done, it is out of the ring next; 0: it cannot either. */
extern int golapi_lane_later(int context, uint32_t ring);
/* An address of an operation between this task and peer was bad. result: NODE_FAULT, NODE_FAILED or
 * NODE_STRANDED of node/serve.h. */
extern void golapi_lane_fault(int context, int32_t peer, int32_t result, cshim_addr addr,
                              int32_t kind);
/* Goes on with the active message at the head of a ring, whose header handler has run and said
 * *result. Consumes it, or holds it. */
extern void golapi_lane_handled(int context, uint32_t ring, cshim_header_result *result);

/* The same with one from task, of n bytes in a slot of the link over adapters, which C has taken. */
extern void golapi_lane_packet_handled(int context, int32_t task, int32_t slot, uint32_t n,
                                       cshim_header_result *result);

/* The node barrier (barrier.h) cannot go on. Core sets barrier.failed. */

/* task (-1: nobody knows which) has left without arriving, or what it wrote makes no sense. */
extern void golapi_barrier_broken(int context, int32_t task);
/* A peer takes part in no collective any more, for the reason of code. */
extern void golapi_barrier_refused(int context, int32_t code);

cshim_context *cshim_context_at(int context);

#endif
