/*
 * multicast.c - groups, and LAPI_MC_XFER: an active message to each member of a group.
 */
#include "conform.h"

#define BYTES 300000
#define GROUPS 16384 /* that a context may have */

static unsigned char source[BYTES], sink[BYTES];
static const ulong lengths[] = {0, 1, 8, 100, 5000, 20000, BYTES};
#define COUNT(table) (sizeof table / sizeof table[0])
#define LONG(pointer) ((lapi_long_t)(uintptr_t)(pointer))

static uint everybody[CONFORM_MAX_TASKS];

/* The header handlers' results; they run under the lock, and the program reads them after a
 * fence. */
static int received, received_wrong, origin, refusals;
static uint word[4];

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;
	*comp_h = NULL;
	*uinfo = NULL;
	if (refusals > 0) {
		refusals--;
		info->ctl_flags = LAPI_DROP_PKT;
		return NULL;
	}
	received_wrong += *h != hndl || *uhdr_len != sizeof word ||
	                  memcmp(uhdr, word, sizeof word) != 0 || (int)info->src != origin;
	__atomic_fetch_add(&received, 1, __ATOMIC_RELEASE);
	return sink;
}

static int sent, sent_wrong;
static lapi_group_t sent_group;
static uint sent_reason;

static void send_handler(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
	sent_wrong += *h != hndl || info->src != sent_group || info->reason != sent_reason;
	__atomic_fetch_add((int *)param, 1, __ATOMIC_RELEASE);
}

static lapi_xfer_t message(lapi_group_t group, ulong bytes)
{
	lapi_xfer_t x;
	memset(&x, 0xEE, sizeof x);
	x.Mc.Xfer_type = LAPI_MC_XFER;
	x.Mc.flags = 0;
	x.Mc.group = group;
	x.Mc.hdr_hdl = 1;
	x.Mc.uhdr_len = sizeof word;
	x.Mc.uhdr = word;
	x.Mc.udata = source;
	x.Mc.udata_len = bytes;
	x.Mc.shdlr = send_handler;
	x.Mc.sinfo = &sent;
	sent_group = group;
	return x;
}

static void prepare(int from)
{
	int i;
	for (i = 0; i < num_tasks; i++)
		everybody[i] = (uint)i;
	for (i = 0; i < (int)COUNT(word); i++)
		word[i] = 1000 + (uint)i; /* in every task */
	received = received_wrong = sent = sent_wrong = refusals = 0;
	sent_reason = LAPI_SUCCESS;
	origin = from;
	memset(sink, 0, sizeof sink);
	LAPI_OK(LAPI_Addr_set(hndl, (void *)(uintptr_t)header, 1));
	conform_sync(); /* nobody sends before everybody is ready */
}

/* ---- groups ---- */

static void group_errors(void)
{
	uint list[CONFORM_MAX_TASKS + 1];
	lapi_group_t group = 4711;
	int i;
	prepare(0);
	for (i = 0; i <= num_tasks; i++)
		list[i] = (uint)i;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Group_create(hndl + 1, 1, list, &group));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Group_free(hndl + 1, group));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Group_create(hndl, 1, NULL, &group));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Group_create(hndl, 1, list, NULL));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_create(hndl, 0, list, &group));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_create(hndl, (uint)num_tasks + 1, list, &group));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_create(hndl, UINT32_MAX, list, &group));
	/* no such task */
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_create(hndl, 1, list + num_tasks, &group));
	if (num_tasks > 1) {
		list[1] = list[0];
		/* twice the same */
		CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_create(hndl, 2, list, &group));
	}
	CHECK_EQUAL(group, 4711);
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_free(hndl, 0));
	LAPI_OK(LAPI_Group_create(hndl, 1, list, &group));
	CHECK(group != 0);
	LAPI_OK(LAPI_Group_free(hndl, group));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_free(hndl, group));
}

static void group_in_unmapped_memory(void)
{
	lapi_group_t group;
	uint self = (uint)task_id;
	conform_expect_errors(1);
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Group_create(hndl, 1, (uint *)0x1000, &group));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL,
	           LAPI_Group_create(hndl, 1, &self, (lapi_group_t *)0x1000));
	POLL_UNTIL(conform_errors() == 2);
	CHECK_EQUAL(conform_error_at(0).code, LAPI_ERR_RET_PTR_NULL);
	CHECK_EQUAL(conform_error_at(1).code, LAPI_ERR_RET_PTR_NULL);
	conform_expect_errors(0);
}

static void group_limit(void)
{
	static lapi_group_t groups[GROUPS];
	lapi_group_t more;
	uint self = (uint)task_id;
	int i;
	for (i = 0; i < GROUPS; i++)
		if (!LAPI_OK(LAPI_Group_create(hndl, 1, &self, &groups[i])))
			return;
	CHECK_CODE(LAPI_ERR_MEMORY_EXHAUSTED, LAPI_Group_create(hndl, 1, &self, &more));
	for (i = 0; i < GROUPS; i++)
		LAPI_OK(LAPI_Group_free(hndl, groups[i]));
	LAPI_OK(LAPI_Group_create(hndl, 1, &self, &more));
	LAPI_OK(LAPI_Group_free(hndl, more));
}

/* A group belongs to a context. */
static void group_of_another_handle(void)
{
	lapi_handle_t other;
	lapi_info_t info;
	lapi_group_t group, theirs;
	lapi_xfer_t x;
	uint self = (uint)task_id;
	prepare(task_id);
	conform_fill_info(&info);
	if (!LAPI_OK(LAPI_Init(&other, &info)))
		return;
	LAPI_OK(LAPI_Group_create(hndl, 1, &self, &group));
	LAPI_OK(LAPI_Group_create(other, 1, &self, &theirs));
	CHECK(group != theirs);
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_free(other, group));
	x = message(group, 8);
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Xfer(other, &x));
	LAPI_OK(LAPI_Group_free(other, theirs));
	LAPI_OK(LAPI_Gfence(other));
	LAPI_OK(LAPI_Term(other));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Group_free(hndl, theirs));
	LAPI_OK(LAPI_Group_free(hndl, group));
	CHECK_EQUAL(received, 0);
}

/* ---- multicasts ---- */

/* Task from sends every length to members, one after the other, and spoils the data when the
 * handler has run. */
static void multicast_from(int from, uint num, uint *members)
{
	lapi_group_t group = 0;
	size_t i;
	uint k;
	int member = 0;
	prepare(from);
	for (k = 0; k < num; k++)
		member |= (int)members[k] == task_id;
	if (task_id == from)
		LAPI_OK(LAPI_Group_create(hndl, num, members, &group));
	for (i = 0; i < COUNT(lengths); i++) {
		if (task_id == from) {
			lapi_xfer_t x = message(group, lengths[i]);
			fill_pattern(source, lengths[i], (unsigned)i);
			LAPI_OK(LAPI_Xfer(hndl, &x));
			memset(&x, 0, sizeof x); /* it is read before the return */
			POLL_UNTIL(peek(&sent) > (int)i);
			memset(source, 0, sizeof source);
		}
		conform_sync(); /* it counts every member's message */
		CHECK_EQUAL(peek(&received), member ? (int)i + 1 : 0);
		CHECK(member ? same_pattern(sink, lengths[i], (unsigned)i) : sink[0] == 0);
		conform_sync();
	}
	CHECK_EQUAL(peek(&sent), task_id == from ? (int)COUNT(lengths) : 0);
	CHECK_EQUAL(sent_wrong, 0);
	CHECK_EQUAL(received_wrong, 0);
	if (task_id == from)
		LAPI_OK(LAPI_Group_free(hndl, group));
}

static void multicast_to_all(void)
{
	int from;
	for (from = 0; from < num_tasks && from < 3; from++)
		multicast_from(from, (uint)num_tasks, everybody);
}

static void multicast_to_self(void)
{
	uint self = 0;
	multicast_from(0, 1, &self);
}

/* The sender need not be a member. */
static void multicast_to_others(void)
{
	uint others[CONFORM_MAX_TASKS];
	int i;
	if (num_tasks < 2)
		SKIP("needs two tasks");
	for (i = 1; i < num_tasks; i++)
		others[i - 1] = (uint)(num_tasks - i);
	multicast_from(0, (uint)num_tasks - 1, others);
}

/* All send to all at once, without waiting; the groups are freed while the messages fly. */
static void multicast_all_at_once(void)
{
	enum { TIMES = 200 };
	int i;
	prepare(0);
	origin = -1; /* any */
	conform_sync();
	for (i = 0; i < TIMES; i++) {
		lapi_group_t group;
		lapi_xfer_t x;
		LAPI_OK(LAPI_Group_create(hndl, (uint)num_tasks, everybody, &group));
		x = message(group, i % 50 == 0 ? BYTES : 100);
		x.Mc.shdlr = NULL;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		LAPI_OK(LAPI_Group_free(hndl, group));
	}
	conform_sync();
	CHECK_EQUAL(peek(&received), TIMES * num_tasks);
}

/* LAPI_Fence alone, too, waits for every member's data. */
static void multicast_and_fence(void)
{
	static void *sinks[CONFORM_MAX_TASKS];
	static unsigned char back[BYTES];
	int i;
	prepare(0);
	exchange(sink, sinks);
	if (task_id == 0) {
		lapi_group_t group;
		lapi_xfer_t x;
		LAPI_OK(LAPI_Group_create(hndl, (uint)num_tasks, everybody, &group));
		fill_pattern(source, BYTES, 9);
		x = message(group, BYTES);
		x.Mc.shdlr = NULL;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		LAPI_OK(LAPI_Fence(hndl));
		memset(source, 0, sizeof source);
		for (i = 0; i < num_tasks; i++) {
			lapi_cntr_t got;
			counter_zero(&got);
			LAPI_OK(LAPI_Get(hndl, (uint)i, BYTES, sinks[i], back, NULL, &got));
			counter_wait(&got, 1);
			CHECK(same_pattern(back, BYTES, 9));
		}
		LAPI_OK(LAPI_Group_free(hndl, group));
	}
	conform_sync();
}

/* A member that refuses for a while gets its message in the end, once. */
static void multicast_refused_by_one(void)
{
	prepare(0);
	refusals = task_id == num_tasks - 1 ? 3 : 0;
	conform_sync();
	if (task_id == 0) {
		lapi_group_t group;
		lapi_xfer_t x;
		LAPI_OK(LAPI_Group_create(hndl, (uint)num_tasks, everybody, &group));
		x = message(group, 5000);
		LAPI_OK(LAPI_Xfer(hndl, &x));
		POLL_UNTIL(peek(&sent) > 0);
		LAPI_OK(LAPI_Group_free(hndl, group));
	}
	conform_sync();
	CHECK_EQUAL(refusals, 0);
	CHECK_EQUAL(peek(&received), 1);
	CHECK_EQUAL(peek(&sent), task_id == 0);
	CHECK_EQUAL(sent_wrong + received_wrong, 0);
}

static void multicast_errors(void)
{
	lapi_group_t group, freed;
	lapi_xfer_t x;
	prepare(0);
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, 1));
	LAPI_OK(LAPI_Group_create(hndl, (uint)num_tasks, everybody, &group));
	LAPI_OK(LAPI_Group_create(hndl, 1, everybody, &freed));
	LAPI_OK(LAPI_Group_free(hndl, freed));
	x = message(group, 8);
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Xfer(hndl + 1, &x));
	x.Mc.group = freed;
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Xfer(hndl, &x));
	x.Mc.group = 0;
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Xfer(hndl, &x));
	x.Mc.group = group;
	x.Mc.hdr_hdl = 0;
	CHECK_CODE(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Xfer(hndl, &x));
	x.Mc.hdr_hdl = 1;
	x.Mc.uhdr = NULL;
	CHECK_CODE(LAPI_ERR_UHDR_NULL, LAPI_Xfer(hndl, &x));
	x.Mc.uhdr = source;
	x.Mc.uhdr_len = 6;
	CHECK_CODE(LAPI_ERR_HDR_LEN, LAPI_Xfer(hndl, &x));
	x.Mc.uhdr_len = sizeof source;
	CHECK_CODE(LAPI_ERR_UHDR_LEN, LAPI_Xfer(hndl, &x));
	x.Mc.uhdr_len = 8;
	x.Mc.udata_len = (ulong)LAPI_MAX_MSG_SZ + 1;
	CHECK_CODE(LAPI_ERR_DATA_LEN, LAPI_Xfer(hndl, &x));
	x.Mc.udata_len = 8;
	x.Mc.udata = NULL;
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL, LAPI_Xfer(hndl, &x));
	LAPI_OK(LAPI_Group_free(hndl, group));
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, conform_checking));
	conform_sync();
	CHECK_EQUAL(received, 0);
	CHECK_EQUAL(sent, 0);
}

/* From unmapped memory: the send completion handler runs once, with the error. */
static void multicast_from_unmapped_memory(void)
{
	lapi_group_t group;
	lapi_xfer_t x;
	uint self = (uint)task_id;
	prepare(task_id);
	conform_expect_errors(1);
	LAPI_OK(LAPI_Group_create(hndl, 1, &self, &group));
	x = message(group, 5000);
	x.Mc.udata = (void *)0x1000;
	sent_reason = LAPI_ERR_ORG_ADDR_NULL;
	sent_group = self; /* the member that it did not reach */
	LAPI_OK(LAPI_Xfer(hndl, &x));
	POLL_UNTIL(peek(&sent) > 0 && conform_errors() > 0);
	CHECK_EQUAL(conform_error_at(0).code, LAPI_ERR_ORG_ADDR_NULL);
	CHECK_EQUAL(conform_error_at(0).type, AM_ERR);
	CHECK_EQUAL(sent_wrong, 0);
	x = message(group, 0);
	x.Mc.uhdr = (void *)0x1000;
	CHECK_CODE(LAPI_ERR_UHDR_NULL, LAPI_Xfer(hndl, &x));
	POLL_UNTIL(conform_errors() > 1);
	CHECK_EQUAL(peek(&sent), 1);
	conform_expect_errors(0);
	LAPI_OK(LAPI_Group_free(hndl, group));
	conform_sync();
}

/* clang-format off */
static const conform_case cases[] = {
	CONFORM_CASE(group_errors),
	CONFORM_CASE(group_in_unmapped_memory),
	CONFORM_CASE(group_limit),
	CONFORM_CASE(group_of_another_handle),
	CONFORM_CASE(multicast_to_all),
	CONFORM_CASE(multicast_to_self),
	CONFORM_CASE(multicast_to_others),
	CONFORM_CASE(multicast_all_at_once),
	CONFORM_CASE(multicast_and_fence),
	CONFORM_CASE(multicast_refused_by_one),
	CONFORM_CASE(multicast_errors),
	CONFORM_CASE(multicast_from_unmapped_memory),
};
/* clang-format on */

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
