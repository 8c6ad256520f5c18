/*
 * counters.c - counters and solicited waits as a program sees them: queries of one and all, resets,
 * groups that start and stop, what is printed, what ends a wait.
 */
#include "pair.h"

#include <unistd.h>

static pair p;

static void send_one(DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	MUST(dat_ep_post_recv(p.b.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	MUST(dat_ep_post_send(p.a.ep, 0, NULL, cookie, flags));
	pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT);
}

static void query(void)
{
	DAT_UINT64 values[DCNT_EP_ALL_COUNTERS], one[DCNT_EP_ALL_COUNTERS];
	int i;

	send_one(DAT_COMPLETION_DEFAULT_FLAG);
	pair_event(p.b.recv, DAT_DTO_COMPLETION_EVENT);
	MUST(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, values, 0));
	CHECK(values[DCNT_EP_CONNECT] == 1 && values[DCNT_EP_POST_SEND] == 1);
	memset(one, 0xff, sizeof one);
	MUST(dat_ib_query_counters(p.a.ep, DCNT_EP_POST_SEND, one, 1));
	for (i = 0; i < DCNT_EP_ALL_COUNTERS; i++)
		CHECK(one[i] == (i == DCNT_EP_POST_SEND ? 1 : ~(DAT_UINT64)0));
	MUST(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, values, 1));
	CHECK(values[DCNT_EP_CONNECT] == 1 && values[DCNT_EP_POST_SEND] == 0);
	MUST(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, values, 0));
	for (i = 0; i < DCNT_EP_ALL_COUNTERS; i++)
		CHECK(values[i] == 0);
	CHECK(DAT_GET_TYPE(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS + 1, values, 0)) ==
	      DAT_INVALID_PARAMETER);
	CHECK(DAT_GET_TYPE(dat_ib_query_counters(p.pz, 0, values, 0)) == DAT_INVALID_HANDLE);
}

static void groups(void)
{
	DAT_UINT64 values[DCNT_IA_ALL_COUNTERS];

	MUST(dat_ib_query_counters(p.ia, DCNT_IA_ALL_COUNTERS, values, 0));
	CHECK(values[DCNT_IA_CM_REQ_TX] == 1 && values[DCNT_IA_CM_ACTIVE_EST] == 1);
	MUST(dat_ib_start_counter(p.ia, DCNT_IA_CM));
	MUST(dat_ib_query_counters(p.ia, DCNT_IA_ALL_COUNTERS, values, 0));
	CHECK(values[DCNT_IA_CM_REQ_TX] == 0 && values[DCNT_IA_EP_CREATE] == 2);
	MUST(dat_ib_stop_counter(p.ia, DCNT_IA_CM));
	MUST(dat_ib_start_counter(p.ia, DCNT_IA_LNK));
	MUST(dat_ib_stop_counter(p.ia, DCNT_IA_LNK));
	CHECK(DAT_GET_TYPE(dat_ib_start_counter(p.ia, DCNT_IA_DIAG)) == DAT_MODEL_NOT_SUPPORTED);
	CHECK(DAT_GET_TYPE(dat_ib_start_counter(p.ia, (DAT_COUNTER_TYPE)9)) ==
	      DAT_INVALID_PARAMETER);
}

/* Reads the output of dat_ib_print_counters back from a file that is standard output meanwhile. */
static void print(void)
{
	char line[256], name[64];
	FILE *file = tmpfile();
	int out = dup(1), lines = 0;
	unsigned long long value;

	CHECK(file != NULL && fflush(stdout) == 0 && dup2(fileno(file), 1) == 1);
	MUST(dat_ib_print_counters(p.b.recv, DCNT_EVD_ALL_COUNTERS, 0));
	CHECK(fflush(stdout) == 0 && dup2(out, 1) == 1);
	rewind(file);
	while (fgets(line, sizeof line, file)) {
		CHECK(sscanf(line, "%*[^:]:%*d:\t%63s = %llu", name, &value) == 2);
		CHECK(lines != 0 || strcmp(name, "DCNT_EVD_WAIT") == 0);
		lines++;
	}
	CHECK(lines == DCNT_EVD_ALL_COUNTERS);
	fclose(file);
	close(out);
}

/* A wait that a plain send does not end, and a solicited one does. */
static void solicited(void)
{
	DAT_EP_PARAM param;
	DAT_EVD_PARAM evd;
	DAT_EVENT event;
	DAT_COUNT more;

	pair_close_side(&p.a);
	pair_close_side(&p.b);
	pair_side(&p, &p.a, 8);
	pair_side(&p, &p.b, 8);
	memset(&param, 0, sizeof param);
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	MUST(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	MUST(dat_ep_modify(p.b.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	pair_connect(&p);
	MUST(dat_evd_query(p.b.recv, DAT_EVD_FIELD_ALL, &evd));
	CHECK(evd.evd_state & DAT_EVD_STATE_CONFIG_SOLICITED);
	/* A wait finds an event that is there when it begins, or when its time is over. */
	send_one(DAT_COMPLETION_DEFAULT_FLAG);
	pair_event(p.b.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(DAT_GET_TYPE(dat_evd_wait(p.b.recv, 1000, 1, &event, &more)) == DAT_TIMEOUT_EXPIRED);
	send_one(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	pair_event(p.b.recv, DAT_DTO_COMPLETION_EVENT);
}

int main(void)
{
	pair_open(&p, 8);
	query();
	print();
	groups();
	solicited();
	pair_close(&p);
	puts("counters: passed");
	return 0;
}
