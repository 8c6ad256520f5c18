/* kinds_values.c - numbers, flags and pointers: right ones, and those that are wrong. */
#include "kinds.h"

#include <limits.h>

unsigned char results[MOST_ARGUMENTS][8192];

int one_of(int i, word *w, const long long *numbers, int n)
{
	if (i >= n)
		return 0;
	w->number = (DAT_UINT64)numbers[i];
	return numbers[i] > 99999 || numbers[i] < -99999
	               ? labelled("%#llx", (unsigned long long)numbers[i])
	               : labelled("%lld", numbers[i]);
}

int one_bit(int i, word *w, int bits)
{
	if (i >= bits)
		return 0;
	w->number = (DAT_UINT64)1 << i;
	return labelled("%#llx", 1ULL << i);
}

/* ---- Numbers ---- */

enum { TWO_TO_20 = 1 << 20, TWO_TO_22 = 1 << 22, TWO_TO_31 = -1 - INT_MAX };

NUMBERS(result, DAT_CLASS_ERROR | DAT_ABORT, DAT_CLASS_ERROR | 0x00180000,
        DAT_CLASS_ERROR | DAT_ABORT | 0x68, 0x3fff0000, DAT_IB_ERR, 0xffffffff);
NUMBERS(count_of_list, 1, 0, -1, INT_MAX);
NUMBERS(async_size, 8, 0, -1, TWO_TO_22 + 1, INT_MAX);
NUMBERS(major, DAT_VERSION_MAJOR, 0, 1, 3);
NUMBERS(minor, DAT_VERSION_MINOR, 1, 2);
NUMBERS(boolean, DAT_FALSE, DAT_TRUE, 2, -1);
NUMBERS(close_flags, DAT_CLOSE_ABRUPT_FLAG, 1, 2, 3, 4, -1);
NUMBERS(context, 77, 0, -1);
NUMBERS(op, DAT_IB_QUERY_COUNTERS_OP, -1, 30, 31, 100, 0x1000, 0x1001, 0x2001, 0x4000, INT_MAX);
NUMBERS(op_2005, -1, 4, 100, INT_MAX);
NUMBERS(evd_size, 8, 0, -1, TWO_TO_31, TWO_TO_22 + 1, INT_MAX);
NUMBERS(evd_new_size, 8, 0, -1, TWO_TO_31, TWO_TO_22 + 1, INT_MAX);
NUMBERS(no_time, 0, 1);
NUMBERS(threshold, 1, 0, -1, TWO_TO_31, 257, INT_MAX);
NUMBERS(timeout, DAT_TIMEOUT_INFINITE, 0);
NUMBERS(qos, DAT_QOS_BEST_EFFORT, 1, 2, 3, 4, 8, 16, -1);
NUMBERS(connect_flags, DAT_CONNECT_DEFAULT_FLAG, 1, 2, 4, -1);
NUMBERS(watermark, 4, 0, -1, -2, INT_MAX);
NUMBERS(memory_type, DAT_MEM_TYPE_VIRTUAL, 1, 2, 3, 4, -1);
NUMBERS(length, ARENA, 0, -1, -4096);
NUMBERS(va_type, DAT_VA_TYPE_VA, 1, 2, 3, -1);
NUMBERS(psp_flags, DAT_PSP_CONSUMER_FLAG, 1, 2, 3, 7, -1);
NUMBERS(srq_size, MOST_REQUESTS, 0, -1, TWO_TO_31, TWO_TO_20 + 1, INT_MAX);
NUMBERS(srq_low, 1, 0, -1, MOST_REQUESTS + 1, INT_MAX);
NUMBERS(data, 5, 0, -1);
NUMBERS(rmr_context, 0, 1, -1);
NUMBERS(counter, 0, -1, 85, 86, INT_MAX);
NUMBERS(counter_printed, 0, -1, 86, INT_MAX);
NUMBERS(counter_type, DCNT_IA_CM, -1, 3, 4, INT_MAX);
NUMBERS(private_size, 4, -1, 0, 57, 256, 257, 512, INT_MAX);

/* ---- Flags ---- */

BITS(evd_flags, DAT_EVD_SOFTWARE_FLAG, 32);
BITS(completion, DAT_COMPLETION_DEFAULT_FLAG, 32);
BITS(privileges, DAT_MEM_PRIV_LOCAL_READ_FLAG, 32);
BITS(ia_mask, DAT_IA_FIELD_ALL, 64);
BITS(provider_mask, DAT_PROVIDER_FIELD_ALL, 64);
BITS(mask_cr, DAT_CR_FIELD_ALL, 32);
BITS(mask_evd, DAT_EVD_FIELD_ALL, 32);
BITS(mask_cno, DAT_CNO_FIELD_ALL, 32);
BITS(mask_ep, DAT_EP_FIELD_ALL, 64);
BITS(mask_lmr, DAT_LMR_FIELD_ALL, 32);
BITS(mask_rmr, DAT_RMR_FIELD_ALL, 32);
BITS(mask_pz, DAT_PZ_FIELD_ALL, 32);
BITS(mask_psp, DAT_PSP_FIELD_ALL, 32);
BITS(mask_rsp, DAT_RSP_FIELD_ALL, 32);
BITS(mask_csp, DAT_CSP_FIELD_ALL, 32);
BITS(mask_srq, DAT_SRQ_FIELD_ALL, 32);

/* ---- Where a call writes ---- */

static void right_out(word *w, int at)
{
	w[at].pointer = results[at];
}

static int null(int i, word *w, int at)
{
	w[at].pointer = NULL;
	return i == 0 && labelled("NULL");
}

/* NULL, and NULL with a mask that asks for nothing. */
static int null_by_mask(int i, word *w, int at)
{
	if (i == 1) {
		w[at].pointer = NULL;
		w[at - 1].number = 0;
		return labelled("NULL, mask 0");
	}
	return null(i, w, at);
}

const kind kind_out = {NO_HANDLE, right_out, null};
const kind kind_out_or_none = {NO_HANDLE, right_out, null};
const kind kind_out_by_mask = {NO_HANDLE, right_out, null_by_mask};
const kind kind_text = {NO_HANDLE, right_out, null};
const kind kind_text_or_none = {NO_HANDLE, right_out, null};

/* The EVD of asynchronous errors: it is read, too. */
static void right_async(word *w, int at)
{
	memset(results[at], 0, sizeof(DAT_HANDLE));
	w[at].pointer = results[at];
}

static int wrong_async(int i, word *w, int at)
{
	DAT_EVD_HANDLE *async = (DAT_EVD_HANDLE *)results[at];
	word handle;

	switch (i) {
	case 0:
		return null(0, w, at);
	case 1:
		*async = DAT_EVD_ASYNC_EXISTS;
		return labelled("ASYNC_EXISTS");
	case 2:
		*async = DAT_EVD_OUT_OF_SCOPE;
		return labelled("OUT_OF_SCOPE");
	case 3:
		*async = mine.async;
		return labelled("another IA's");
	case 4:
		*async = mine.recv;
		return labelled("EVD of transfers");
	default:
		if (!wrong_handle(i - 4, &handle, &kind_evd))
			return 0;
		*async = handle.pointer;
		return 1;
	}
}

const kind kind_async = {NO_HANDLE, right_async, wrong_async};

/* ---- Names, and what providers are ---- */

static void right_name(word *w, int at)
{
	char *name = getenv("SWEEP_IA");

	w[at].pointer = name ? name : "lapi-lo";
}

static int wrong_name(int i, word *w, int at)
{
	static char long_name[400];

	switch (i) {
	case 0:
		return null(0, w, at);
	case 1:
		w[at].pointer = "";
		return labelled("empty");
	case 2:
		w[at].pointer = "nonesuch";
		return labelled("unknown");
	case 3:
		memset(long_name, 'a', sizeof long_name - 1);
		w[at].pointer = long_name;
		return labelled("of 399 bytes");
	default:
		return 0;
	}
}

const kind kind_name = {NO_HANDLE, right_name, wrong_name};
const kind kind_name_2 = {NO_HANDLE, right_name, wrong_name};

static void right_list(word *w, int at)
{
	static DAT_PROVIDER_INFO info;
	static DAT_PROVIDER_INFO *list[1] = {&info};

	w[at].pointer = list;
}

const kind kind_list_of_providers = {NO_HANDLE, right_list, null};

/* A table that was never registered; with it dat_registry_remove_provider finds nothing. */
static void right_table(word *w, int at)
{
	static DAT_PROVIDER table;

	w[at].pointer = &table;
}

static void right_info(word *w, int at)
{
	static DAT_PROVIDER_INFO info = {
		.ia_name = "sweep", .dapl_version_major = 2, .is_thread_safe = DAT_FALSE};

	w[at].pointer = &info;
}

const kind kind_table = {NO_HANDLE, right_table, null};
const kind kind_info = {NO_HANDLE, right_info, null};

/* ---- Connections ---- */

static void right_private(word *w, int at)
{
	static char private[1024];

	w[at].pointer = private;
}

const kind kind_private = {NO_HANDLE, right_private, null};

static void right_address(word *w, int at)
{
	w[at].pointer = address_of_peer();
}

static int wrong_address(int i, word *w, int at)
{
	static struct sockaddr_in bad;

	if (i == 0)
		return null(0, w, at);
	bad = (struct sockaddr_in){.sin_family = i == 1 ? AF_UNSPEC : AF_UNIX};
	w[at].pointer = &bad;
	return i < 3 && labelled("of family %d", bad.sin_family);
}

const kind kind_address = {NO_HANDLE, right_address, wrong_address};

NUMBERS(qualifier, peer->qualifier, 0);

static DAT_CONN_QUAL qualifier_of(DAT_PSP_HANDLE psp)
{
	DAT_PSP_PARAM param;

	MUST(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	return param.conn_qual;
}

NUMBERS(qualifier_of_psp, qualifier_of(idle(&mine, DAT_HANDLE_TYPE_PSP)), 999999);

/* A qualifier without a listener on this machine. */
static void right_new_qualifier(word *w, int at)
{
	DAT_PSP_HANDLE psp;

	MUST(dat_psp_create_any(mine.ia, &w[at].number, mine.requests, DAT_PSP_CONSUMER_FLAG,
	                        &psp));
	MUST(dat_psp_free(psp));
}

static int wrong_new_qualifier(int i, word *w, int at)
{
	w[at].number = qualifier_of(idle(&mine, DAT_HANDLE_TYPE_PSP));
	return i == 0 && labelled("in use");
}

const kind kind_new_qualifier = {NO_HANDLE, right_new_qualifier, wrong_new_qualifier};

static void right_comm(word *w, int at)
{
	static DAT_COMM comm;

	w[at].pointer = &comm;
}

const kind kind_comm = {NO_HANDLE, right_comm, null};

static void right_ah(word *w, int at)
{
	w[at].pointer = address_handle();
}

static int wrong_ah(int i, word *w, int at)
{
	static DAT_IB_ADDR_HANDLE bad;

	bad = *address_handle();
	switch (i) {
	case 0:
		return null(0, w, at);
	case 1:
		bad.ah = NULL;
		break;
	case 2:
		bad.ah = (struct ibv_ah *)mine.pz;
		break;
	default:
		return 0;
	}
	w[at].pointer = &bad;
	return labelled(i == 1 ? "null handle" : "handle of kind PZ");
}

const kind kind_peer_ah = {NO_HANDLE, right_ah, wrong_ah};
NUMBERS(ud_context, ud_context(), 0, -1);

/* ---- Events ---- */

static void right_agent(word *w, int at)
{
	w[at].agent = (DAT_OS_WAIT_PROXY_AGENT){NULL, NULL};
}

const kind kind_agent = {NO_HANDLE, right_agent, no_more};

static void right_event(word *w, int at)
{
	static DAT_EVENT event;

	event.event_number = DAT_SOFTWARE_EVENT;
	w[at].pointer = &event;
}

static int wrong_event(int i, word *w, int at)
{
	static DAT_EVENT event;
	static const int numbers[] = {0, DAT_DTO_COMPLETION_EVENT, DAT_CONNECTION_REQUEST_EVENT,
	                              DAT_ASYNC_ERROR_EP_BROKEN, -1};

	if (i == 0 || i > COUNT_OF(numbers))
		return i == 0 && null(0, w, at);
	event.event_number = (DAT_EVENT_NUMBER)numbers[i - 1];
	w[at].pointer = &event;
	return labelled("number %#x", (unsigned)event.event_number);
}

const kind kind_event = {NO_HANDLE, right_event, wrong_event};
