/*
 * fortran_calls.c - the Fortran entry points (guide, Table 10; docs/fortran.md): conversions of
 * arguments, the calls that need more than these, and the rest from fortran_gen.h.
 */
#include <dlfcn.h>
#include <string.h>

#include "fortran/fortran.h"
#include "node/guard.h"

/* Numbers by reference. LAPI_ADDR_NULL is 0 by itself. */
static inline int32_t fortran_int(const int32_t *argument)
{
	return argument ? *argument : 0;
}

static inline ulong fortran_long(const ulong *argument)
{
	return argument ? *argument : 0;
}

static inline void *fortran_addr(void *const *argument)
{
	return argument ? *argument : NULL;
}

/* The variable itself. */
static inline void *fortran_any(void *argument)
{
	return cshim_fortran_null(argument) ? NULL : argument;
}

static inline int fortran_result(int32_t *ierror, int code)
{
	if (!cshim_fortran_null(ierror))
		*ierror = code;
	return code;
}

/* Whether a word can be read at an address of the program. */
static int fortran_readable(const void *at)
{
	uintptr_t word;

	return at && !node_guarded_copy_short(&word, at, sizeof word);
}

/*
 * Whether a zero begins a description of type LAPI_GEN_IOVECTOR, and is no address of 0: only in a
 * 32-bit program can it be either. A description names blocks and two lists, which can be read.
 * More than an address may not be there at all.
 */
static int fortran_lists_blocks(const void *argument)
{
	lapi_vec_t vector;

	return sizeof(void *) == 4 && !node_guarded_copy_short(&vector, argument, sizeof vector) &&
	       (int)vector.num_vecs > 0 && fortran_readable(vector.info) &&
	       fortran_readable(vector.len);
}

/*
 * A target vector: the address of its description (guide, LAPI_Putv), or that description. The
 * latter begins with a vec_type, and then a number of blocks, which read as one address is none, as
 * it is not aligned or, of LAPI_GEN_IOVECTOR, has a low half of 0.
 */
static lapi_vec_t *fortran_vector(void *argument)
{
	uintptr_t address;
	uint32_t vec_type;

	if (cshim_fortran_null(argument))
		return NULL;
	memcpy(&address, argument, sizeof address);
	memcpy(&vec_type, argument, sizeof vec_type);
	if (address ? vec_type <= LAPI_GEN_GENERIC : fortran_lists_blocks(argument))
		return argument;
	return (lapi_vec_t *)address;
}

/* The value that is sent as header handler. */
static uint64_t fortran_handler(const void *argument)
{
	uintptr_t address;

	if (cshim_fortran_null(argument))
		return 0;
	if (cshim_is_procedure(argument))
		return cshim_procedure_name(argument);
	memcpy(&address, argument, sizeof address);
	return address;
}

static int fortran_init(void *hndl, void *lapi_info)
{
	cshim_fortran_find_nulls();
	return PLAPI_Init(fortran_any(hndl), fortran_any(lapi_info));
}

static int fortran_addr_set(const int32_t *hndl, void *addr, const int32_t *addr_hndl)
{
	void *address = cshim_is_procedure(addr) ? addr : fortran_addr(addr);

	return PLAPI_Addr_set((lapi_handle_t)fortran_int(hndl), address, fortran_int(addr_hndl));
}

/* The fields that both kinds of active messages have; a procedure's name is wider than a pointer
 * may be. */
#define FORTRAN_MESSAGE(type)                                                                  \
	.Xfer_type = type, .tgt = (uint)fortran_int(tgt), .hdr_hdl = fortran_handler(hdr_hdl), \
	.uhdr = fortran_any(uhdr), .uhdr_len = (uint)fortran_int(uhdr_len),                    \
	.tgt_cntr = (uintptr_t)fortran_addr(tgt_cntr), .org_cntr = fortran_any(org_cntr),      \
	.cmpl_cntr = fortran_any(cmpl_cntr)

static int fortran_amsend(const int32_t *hndl, const int32_t *tgt, void *hdr_hdl, void *uhdr,
                          const int32_t *uhdr_len, void *udata, const ulong *udata_len,
                          void *const *tgt_cntr, void *org_cntr, void *cmpl_cntr)
{
	lapi_xfer_t command = {.Am = {FORTRAN_MESSAGE(LAPI_AM_XFER), .udata = fortran_any(udata),
	                              .udata_len = fortran_long(udata_len)}};

	return PLAPI_Xfer((lapi_handle_t)fortran_int(hndl), &command);
}

static int fortran_amsendv(const int32_t *hndl, const int32_t *tgt, void *hdr_hdl, void *uhdr,
                           const int32_t *uhdr_len, void *org_vec, void *const *tgt_cntr,
                           void *org_cntr, void *cmpl_cntr)
{
	lapi_xfer_t command = {
		.Amv = {FORTRAN_MESSAGE(LAPI_AMV_XFER), .org_vec = fortran_any(org_vec)}};

	return PLAPI_Xfer((lapi_handle_t)fortran_int(hndl), &command);
}

/*
 * The buffer is CHARACTER buf(LAPI_MAX_ERR_STRING), or one string of that length: no final NUL,
 * blanks instead.
 */
static int fortran_msg_string(const int32_t *error_code, void *buf)
{
	char text[LAPI_MAX_ERR_STRING] = "", *to = fortran_any(buf);
	int code = PLAPI_Msg_string(fortran_int(error_code), to ? text : NULL);

	if (to) {
		size_t length = strnlen(text, sizeof text);

		memset(to, ' ', sizeof text);
		memcpy(to, text, length);
	}
	return code;
}

/*
 * A DDM function's numbers come by reference in Fortran. All else of LAPI_Util is memory, and
 * alike.
 */
static int fortran_util(const int32_t *hndl, void *util_cmd)
{
	lapi_util_t *command = fortran_any(util_cmd);
	cshim_context *context;
	cshim_addr handler;

	if (!command || command->Util_type != LAPI_REG_DDM_FUNC)
		return PLAPI_Util((lapi_handle_t)fortran_int(hndl), command);
	context = cshim_enter_call((lapi_handle_t)fortran_int(hndl), "LAPI_Util");
	if (!context)
		return cshim_refused("LAPI_Util");
	handler = CSHIM_ADDR(command->DdmFunc.ddm_func);
	golapi_dgsp_ddm(cshim_index_of(context), handler ? handler | CSHIM_FORTRAN_DDM : 0);
	return cshim_leave(context, LAPI_SUCCESS);
}

/*
 * The function that has a call's plain name in the program: a profiling library's, or own. It is
 * looked up once, threads that do so at once find the same. Linker and loader cannot do it: they
 * bind the library's references within the library (-Bsymbolic, which Go asks for).
 */
static inline void *fortran_plain(void **at, const char *name, void *own)
{
	void *found = __atomic_load_n(at, __ATOMIC_RELAXED);

	if (!found) {
		void *program = dlopen(NULL, RTLD_LAZY);

		if (program) {
			found = dlsym(program, name);
			dlclose(program);
		}
		if (!found) /* loaded by dlopen, out of the program's sight */
			found = own;
		__atomic_store_n(at, found, __ATOMIC_RELAXED);
	}
	return found;
}

#include "fortran/fortran_gen.h"
