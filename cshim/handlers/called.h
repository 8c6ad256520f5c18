/*
 * called.h - the calls of the user's handlers that core makes (capi): on the current thread's own
 * stack and, unless a comment says otherwise, with the context lock held. context is the index of
 * the context block.
 */
#ifndef CSHIM_CALLED_H
#define CSHIM_CALLED_H

#include "context/golapi.h"

void cshim_call_header(int context, cshim_addr handler, cshim_addr uhdr, uint32_t uhdr_len,
                       uint64_t msg_len, int32_t src, cshim_addr one_packet,
                       cshim_header_result *result);
/*
 * The same for a vector's message: the handler gets the lengths of the origin's blocks and returns
 * a vector.
 */
void cshim_call_vector_header(int context, cshim_addr handler, cshim_addr uhdr, uint32_t uhdr_len,
                              cshim_addr lengths, int32_t src, cshim_addr one_packet,
                              cshim_header_result *result);
void cshim_call_send_completion(int context, cshim_addr handler, cshim_addr info, uint32_t tgt,
                                uint32_t reason);
void cshim_call_completion(int context, cshim_addr handler, cshim_addr info);
/*
 * A standalone job's udp_hndlr; without the lock. Returns what it returns. See lapi.h,
 * udp_init_hndlr, for the arguments.
 */
int cshim_call_udp_handler(cshim_addr handler, int context, cshim_addr local, cshim_addr list,
                           cshim_addr info);
/* A DDM function; with the lock, as the other handlers. */
int64_t cshim_call_ddm(int context, cshim_addr handler, cshim_addr in, cshim_addr inout, int64_t n,
                       int32_t operand, int32_t operation);

#endif
