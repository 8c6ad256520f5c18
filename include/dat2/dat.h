/*
 * dat.h - uDAPL 2.0 without the parts that only user level programs have. Include <dat2/udat.h>,
 * which has all.
 *
 * An interface adapter (IA) is opened by a name of the registry. Endpoints (EP) of two processes
 * are connected: one listens at a service point, the other connects. Then both post sends,
 * receives, RDMA writes and reads of registered memory, and learn from events that they are
 * complete.
 *
 * Conventions, true of every call unless its comment says otherwise:
 *   - The result is DAT_SUCCESS, or a class, type and subtype (dat_error.h). A call that fails has no
 *     effect, but may have written to the memory for its results.
 *   - DAT_INVALID_HANDLE: a handle is null, freed or of another kind; the subtype says which.
 *     DAT_INVALID_PARAMETER with DAT_INVALID_ARGn: argument n, counted from 1, is NULL where
 *     something is needed, or out of its range. DAT_INSUFFICIENT_RESOURCES: the system or the adapter
 *     has no more; the subtype names the resource. Comments name further errors.
 *   - Times are microseconds, lengths bytes. Counts are numbers of elements.
 *   - A call reads memory through its pointers before it returns. Results go to memory of the
 *     caller. Buffers of a posted operation are the library's until its event.
 *   - Any thread may call at any time, also several on one object. Freeing an object while another
 *     thread waits on it ends that wait. Signal handlers must not make calls.
 *   - Handles, memory regions and connections belong to the process that made them, not to a child
 *     after fork.
 *
 * Sources: the specification uDAPL 2.0; where that leaves a choice, the deployed libdat2 2.1.10
 * ("the reference"), whose programs run with this library. "Design" is the paper on InfiniBand
 * collective extensions of April 2011, "proposal" the paper on extensions of December 2005.
 * "Addition" marks calls that the reference declares, but its library does not have.
 *
 * Parts: basic.h names, handles, flags; adapter.h the abilities of an adapter; object.h the
 * attributes of objects; event.h events; connection.h, endpoint.h, memory.h their calls; dat.h the
 * rest.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat2/dat_platform_specific.h>
#include <dat2/dat_error.h>
#include <dat2/parts/basic.h>
#include <dat2/parts/adapter.h>
#include <dat2/parts/object.h>
#include <dat2/parts/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Interface adapters ---- */

/*
 * dat_ia_openv opens the adapter called name, of exactly this version of the interface and thread
 * safety, and stores its handle in *ia_handle. dat_ia_open asks for the version of this header.
 * *async_evd_handle is the EVD for asynchronous errors: null on entry, the library makes one for at
 * least async_evd_min_qlen events, and stores it; or an EVD with DAT_EVD_ASYNC_FLAG of the same
 * adapter; or DAT_EVD_ASYNC_EXISTS: the one of an adapter that is open under the same name, which
 * must be closed after this one; or DAT_EVD_OUT_OF_SCOPE: an EVD that the program does not see. An
 * adapter may be opened several times.
 * Errors: DAT_PROVIDER_NOT_FOUND (no such name, version, or thread safety in the registry),
 * DAT_INVALID_PARAMETER (async_evd_min_qlen is 0 or less: DAT_INVALID_ARG2).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                                           DAT_EVD_HANDLE *async_evd_handle,
                                           DAT_IA_HANDLE *ia_handle, DAT_UINT32 dapl_major,
                                           DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
	             DAT_THREADSAFE)

/*
 * dat_ia_query fills *ia_attr and *provider_attr, and stores the asynchronous EVD in
 * *async_evd_handle (may be NULL). A mask that is not 0 fills the whole structure; with 0 its
 * pointer may be NULL. Arrays and addresses in them are the library's, until the IA is closed.
 * Errors: DAT_INVALID_PARAMETER (a bit that is in no mask, or a NULL structure).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
                                           DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
                                           DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                                           DAT_PROVIDER_ATTR *provider_attr);

/*
 * dat_ia_close closes an adapter. DAT_CLOSE_ABRUPT_FLAG disconnects its endpoints and frees all its
 * objects, whoever uses them. DAT_CLOSE_GRACEFUL_FLAG fails while there are any but the
 * asynchronous EVD. A second close of the same handle gives DAT_INVALID_HANDLE. Errors:
 * DAT_INVALID_STATE (graceful: DAT_INVALID_STATE_IA_IN_USE), DAT_INVALID_PARAMETER (flags).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);

/* ---- Any object ---- */

/*
 * dat_set_consumer_context attaches eight bytes of the program's own to an object of any kind;
 * dat_get_consumer_context stores them in *context. A new object has 0.
 * dat_get_handle_type stores the kind of an object, a DAT_HANDLE_TYPE, in *handle_type.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);
DAT_EXPORT DAT_RETURN DAT_API dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);
DAT_EXPORT DAT_RETURN DAT_API dat_get_handle_type(DAT_HANDLE dat_handle,
                                                  DAT_HANDLE_TYPE *handle_type);

/*
 * dat_extension_op does what the number op says to the object, with the further arguments of that
 * operation, each exactly of its type. dat_ib_extensions.h has the operations, and macros that
 * spell them out; use those. Errors: DAT_NOT_IMPLEMENTED (no such op; without class), and those of
 * the operation.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...);

/* ---- Registry ---- */

/*
 * dat_registry_list_providers writes the providers of the registry to the structures that the
 * max_to_return elements of dat_provider_list point to, which are the caller's, and stores how many
 * there are in *number_entries. Needs no open adapter.
 * At most max_to_return are written.
 * Errors: DAT_INVALID_PARAMETER (DAT_INVALID_ARG1: max_to_return is 0 or less; *number_entries is
 * stored all the same).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_list_providers(DAT_COUNT max_to_return,
                                                          DAT_COUNT *number_entries,
                                                          DAT_PROVIDER_INFO *(dat_provider_list[]));

#ifdef __cplusplus
}
#endif

#include <dat2/parts/connection.h>
#include <dat2/parts/endpoint.h>
#include <dat2/parts/memory.h>

#endif /* _DAT_H_ */
