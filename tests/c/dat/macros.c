/*
 * macros.c - what the macros of dat_ib_extensions.h hand to dat_extension_op: operation, handle,
 * and arguments in the order and width that the library reads. The calls are this file's own.
 *
 * With NETINET_FIRST it includes <netinet/in.h> first, as programs had to, without it does not.
 * With DEPLOYED it is compiled with the deployed headers: what does not compile there is left out.
 */
#ifdef NETINET_FIRST
#include <netinet/in.h>
#endif
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <stdarg.h>
#include <string.h>

#define MAX_SLOTS 10

/* The arguments of the last call: each argument after op takes one slot of eight bytes. */
static struct {
	DAT_HANDLE handle;
	DAT_EXTENDED_OP op;
	DAT_UINT64 slot[MAX_SLOTS];
	const char *function; /* or the function that was called instead */
} seen;
static int failed, checked;

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	va_list args;
	int i;

	seen.handle = handle;
	seen.op = op;
	seen.function = "dat_extension_op";
	va_start(args, op);
	for (i = 0; i < MAX_SLOTS; i++)
		seen.slot[i] = va_arg(args, DAT_UINT64);
	va_end(args);
	return DAT_SUCCESS;
}

/*
 * expect checks the last call. kinds has a letter for each argument: q for eight bytes, i for four.
 * The further arguments are what they must be, each a DAT_UINT64.
 */
static void expect(const char *name, DAT_HANDLE handle, int op, const char *kinds, ...)
{
	va_list args;
	int i, good = seen.handle == handle && seen.op == op &&
	              strcmp(seen.function, "dat_extension_op") == 0;

	va_start(args, kinds);
	for (i = 0; kinds[i]; i++) {
		DAT_UINT64 want = va_arg(args, DAT_UINT64), got = seen.slot[i];

		if (kinds[i] == 'i')
			got &= 0xffffffff;
		if (got != want)
			good = 0;
	}
	va_end(args);
	checked++;
	if (!good) {
		failed++;
		printf("macros: %s does not pass what it should\n", name);
	}
	memset(&seen, 0, sizeof seen);
}

#define V(value) ((DAT_UINT64)(value))

static char object[16], buffer[2][8];
static DAT_HANDLE const handle = object;
static DAT_LMR_TRIPLET local[2];
static DAT_RMR_TRIPLET remote;
static DAT_CONTEXT context;

static void data_transfer(void)
{
	DAT_IB_ADDR_HANDLE ah;

	memset(&ah, 0, sizeof ah);
	dat_ib_post_fetch_and_add(handle, 0x1234567890abcdef, local, context, &remote, 4);
	expect("fetch_and_add", handle, 0, "qqqqi", UINT64_C(0x1234567890abcdef), V(local), V(99),
	       V(&remote), V(4));
	dat_ib_post_cmp_and_swap(handle, 7, 8, local, context, &remote, 1);
	expect("cmp_and_swap", handle, 1, "qqqqqi", V(7), V(8), V(local), V(99), V(&remote), V(1));
	dat_ib_post_rdma_write_immed(handle, 2, local, context, &remote, 0xfedcba98, 2);
	expect("rdma_write_immed", handle, 2, "iqqqii", V(2), V(local), V(99), V(&remote),
	       V(0xfedcba98), V(2));
	dat_ib_post_send_ud(handle, 2, local, &ah, context, 8);
	expect("send_ud", handle, 3, "iqqqi", V(2), V(local), V(&ah), V(99), V(8));
	dat_ib_ud_cm_free(handle, context);
	expect("ud_cm_free, a context", handle, 28, "q", V(99));
	dat_ib_ud_cm_free(handle, (DAT_PVOID)object);
	expect("ud_cm_free, a pointer", handle, 28, "q", V(object));
	dat_ib_ud_cm_free(handle, UINT64_C(77));
	expect("ud_cm_free, a number", handle, 28, "q", V(77));
	dat_ib_ud_ah_free(handle, &ah);
	expect("ud_ah_free", handle, 29, "q", V(&ah));
}

static void counters_and_queries(void)
{
	static DAT_UINT64 counters[DCNT_EP_ALL_COUNTERS];
	static DAT_IA_ATTR ia;
	static DAT_PROVIDER_ATTR provider;
	static char name[] = "name";
	DAT_HANDLE opened;

	dat_ib_query_counters(handle, DCNT_EP_ALL_COUNTERS, counters, 1);
	expect("query_counters", handle, 4, "iqi", V(24), V(counters), V(1));
	dat_query_counters(handle, DCNT_EVD_WAIT, counters, 0);
	expect("dat_query_counters", handle, 4, "iqi", V(0), V(counters), V(0));
	dat_ib_print_counters(handle, DCNT_IA_ALL_COUNTERS, 1);
	expect("print_counters", handle, 5, "ii", V(85), V(1));
	dat_print_counters(handle, 3, 0);
	expect("dat_print_counters", handle, 5, "ii", V(3), V(0));
#ifndef DEPLOYED
	dat_ib_start_counter(handle, DCNT_IA_LNK);
	expect("start_counter", handle, 26, "i", V(1));
	dat_ib_stop_counter(handle, DCNT_IA_DIAG);
	expect("stop_counter", handle, 27, "i", V(2));
#endif
	dat_ib_open_query(name, &opened, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider);
	expect("open_query", NULL, 0x1000, "qqqqqq", V(name), V(&opened), UINT64_C(0x3fffffffff),
	       V(&ia), V(0x7fffffff), V(&provider));
	dat_ib_close_query(handle);
	expect("close_query", handle, 0x2000, "");
}

#define S buffer[0]
#define R buffer[1]
static DAT_COUNT sizes[2], more_sizes[2], places[2], more_places[2];

static void groups(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[2] = {object, object};
	DAT_IB_COLLECTIVE_GROUP info;
	DAT_UINT32 size;

	dat_ib_collective_create_member(handle, NULL, members, &size);
	expect("create_member", handle, 6, "qqq", V(0), V(members), V(&size));
	dat_ib_collective_free_member(handle, members[0]);
	expect("free_member", handle, 7, "q", V(object));
	dat_ib_collective_create_group(members, 2, 1, 5, &info, handle, object + 1, context);
	expect("create_group", handle, 8, "qiiiqqq", V(members), V(2), V(1), V(5), V(&info),
	       V(object + 1), V(99));
	dat_ib_collective_free_group(handle);
	expect("free_group", handle, 9, "");
}

#ifndef DEPLOYED
static void clocks(void)
{
	DAT_UINT64 now;

	dat_ib_collective_set_clock(handle, UINT64_C(0x100000002), context);
	expect("set_clock", handle, 10, "qq", UINT64_C(0x100000002), V(99));
	dat_ib_collective_read_clock(handle, &now);
	expect("read_clock", handle, 11, "q", V(&now));
}
#endif

static void equal_parts(void)
{
	dat_ib_collective_scatter(handle, S, 4, R, 5, 1, context, 3);
	expect("scatter", handle, 12, "qiqiiqi", V(S), V(4), V(R), V(5), V(1), V(99), V(3));
	dat_ib_collective_gather(handle, S, 4, R, 5, 1, context, 3);
	expect("gather", handle, 14, "qiqiiqi", V(S), V(4), V(R), V(5), V(1), V(99), V(3));
	dat_ib_collective_allgather(handle, S, 4, R, 5, context, 3);
	expect("allgather", handle, 16, "qiqiqi", V(S), V(4), V(R), V(5), V(99), V(3));
	dat_ib_collective_alltoall(handle, S, 4, R, 5, context, 3);
	expect("alltoall", handle, 18, "qiqiqi", V(S), V(4), V(R), V(5), V(99), V(3));
	dat_ib_collective_broadcast(handle, S, 4, 1, context, 3);
	expect("broadcast", handle, 24, "qiiqi", V(S), V(4), V(1), V(99), V(3));
	dat_ib_collective_barrier(handle, context, 3);
	expect("barrier", handle, 25, "qi", V(99), V(3));
}

static void parts_of_any_size(void)
{
	dat_ib_collective_scatterv(handle, S, sizes, places, R, 5, 1, context, 3);
	expect("scatterv", handle, 13, "qqqqiiqi", V(S), V(sizes), V(places), V(R), V(5), V(1),
	       V(99), V(3));
	dat_ib_collective_allgatherv(handle, S, 4, R, sizes, places, context, 3);
	expect("allgatherv", handle, 17, "qiqqqqi", V(S), V(4), V(R), V(sizes), V(places), V(99),
	       V(3));
#ifndef DEPLOYED
	dat_ib_collective_gatherv(handle, S, 4, R, sizes, places, 1, context, 3);
	expect("gatherv", handle, 15, "qiqqqiqi", V(S), V(4), V(R), V(sizes), V(places), V(1),
	       V(99), V(3));
	dat_ib_collective_alltoallv(handle, S, sizes, places, R, more_sizes, more_places, context,
	                            3);
	expect("alltoallv", handle, 19, "qqqqqqqi", V(S), V(sizes), V(places), V(R), V(more_sizes),
	       V(more_places), V(99), V(3));
#endif
}

static void reductions(void)
{
	const DAT_IB_COLLECTIVE_REDUCE_DATA_OP op = DAT_IB_COLLECTIVE_REDUCE_OP_BXOR;
	const DAT_IB_COLLECTIVE_DATA_TYPE type = DAT_IB_COLLECTIVE_TYPE_2INT;

	dat_ib_collective_reduce(handle, S, 4, R, 5, op, type, 1, context, 3);
	expect("reduce", handle, 20, "qiqiiiiqi", V(S), V(4), V(R), V(5), V(9), V(12), V(1), V(99),
	       V(3));
	dat_ib_collective_allreduce(handle, S, 4, R, 5, op, type, context, 3);
	expect("allreduce", handle, 21, "qiqiiiqi", V(S), V(4), V(R), V(5), V(9), V(12), V(99),
	       V(3));
	dat_ib_collective_reduce_scatter(handle, S, 4, R, sizes, op, type, context, 3);
	expect("reduce_scatter", handle, 22, "qiqqiiqi", V(S), V(4), V(R), V(sizes), V(9), V(12),
	       V(99), V(3));
	dat_ib_collective_scan(handle, S, 4, R, 5, op, type, context, 3);
	expect("scan", handle, 23, "qiqiiiqi", V(S), V(4), V(R), V(5), V(9), V(12), V(99), V(3));
}

/* Every way to read an event's extension data reads the same bytes. */
static void event_data(void)
{
	DAT_EVENT event;
	DAT_IB_EXTENSION_EVENT_DATA *data =
		(DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data;

	memset(&event, 0, sizeof event);
	event.event_extension_data[1] = 42;
	event.event_extension_data[2] = V(object);
	event.event_extension_data[3] = 99;
	event.event_extension_data[7] = 7;
	checked++;
	if (data->val.immed.data != 42 || data->coll.handle != handle ||
	    data->coll.context.as_64 != 99 || (char *)data->remote_ah.ah != object ||
	    data->context.as_64 != 7) {
		failed++;
		printf("macros: extension data of an event is not where it should be\n");
	}
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	*major = "core";
	if (minor)
		*minor = "";
	return value == 5 ? DAT_SUCCESS : DAT_INVALID_PARAMETER;
}

#ifndef DEPLOYED
static void strings(void)
{
	const char *a = "", *b = "", *c = "", *d = "", *e = "";

	checked++;
	if (dat_strerror_extension(DAT_IB_ERR, &a) != DAT_SUCCESS || strcmp(a, "DAT_IB_ERR") != 0 ||
	    dat_strerror_extension(DAT_IB_COLLECTIVE_ERR, &b) != DAT_SUCCESS ||
	    strcmp(b, "DAT_IB_COLLECTIVE_ERR") != 0 ||
	    dat_strerror_extension((DAT_IB_RETURN)5, &c) != DAT_SUCCESS || strcmp(c, "core") != 0 ||
	    dat_strerror_ext_status(DAT_OP_SUCCESS, &d) != DAT_SUCCESS || *d != 0 ||
	    dat_strerror_ext_status((DAT_IB_STATUS)3, &e) != DAT_INVALID_PARAMETER || *e == 0) {
		failed++;
		printf("macros: a string is not as it should be\n");
	}
}
#endif

int main(void)
{
	context.as_64 = 99;
	data_transfer();
	counters_and_queries();
	groups();
#ifndef DEPLOYED
	clocks();
#endif
	equal_parts();
	parts_of_any_size();
	reductions();
	event_data();
#ifndef DEPLOYED
	strings();
#endif
	printf("macros: %d checked, %d failed\n", checked, failed);
	return failed != 0 || checked == 0;
}
