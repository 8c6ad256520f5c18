/* faults.c - faults that tests ask the rig for, and processes that are killed. */
#include "check.h"

#include <sys/mman.h>

static const struct kind usual;

static void nth_request_fails(void)
{
	struct end a, b;
	char words[64];

	for (int s = IBV_WC_LOC_LEN_ERR; s <= IBV_WC_GENERAL_ERR; s++) {
		pair_open(&a, &b, &usual);
		snprintf(words, sizeof words, "fail rig1 send %d 2", s);
		command(words);
		MUST(receive(&a, 6, 0, 8) == 0);
		for (int i = 0; i < 4; i++)
			MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
		for (int i = 0; i < 2; i++)
			MUST(completion(a.sends).status == IBV_WC_SUCCESS);
		MUST((int)completion(a.sends).status == s);
		MUST(completion(a.sends).status == IBV_WC_WR_FLUSH_ERR);
		MUST(completion(a.receives).status == IBV_WC_WR_FLUSH_ERR);
		end_close(&a);
		end_close(&b);
	}
	command("heal rig1");
}

static void objects_refused(void)
{
	struct end e;

	end_open(&e, 1, &usual);
	command("fail rig1 register 12 1 2");
	struct ibv_mr *mr = ibv_reg_mr(e.pd, e.memory, SIZE, ALL);
	MUST(mr && ibv_dereg_mr(mr) == 0);
	for (int i = 0; i < 2; i++)
		MUST(!ibv_reg_mr(e.pd, e.memory, SIZE, ALL) && errno == ENOMEM);
	MUST((mr = ibv_reg_mr(e.pd, e.memory, SIZE, ALL)) && ibv_dereg_mr(mr) == 0);
	command("fail rig1 cq 11");
	MUST(!ibv_create_cq(e.context, 5, NULL, NULL, 0) && errno == EAGAIN);
	command("heal rig1");
	end_close(&e);
}

/* Events that a test asks for are reported: an error of a queue pair ends it, a queue's its completions. */
static void events_on_request(void)
{
	struct kind shared = {.shared = 1};
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(receive(&b, 7, 0, 8) == 0);
	command("event rig2 PATH_MIG");
	event(&b, IBV_EVENT_PATH_MIG);
	command("event rig2 QP_ACCESS_ERR 3"); /* of one */
	event(&b, IBV_EVENT_QP_ACCESS_ERR);
	MUST(completion(b.receives).status == IBV_WC_WR_FLUSH_ERR);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(completion(a.sends).status == IBV_WC_RETRY_EXC_ERR);
	command("event rig1 GID_CHANGE");
	event(&a, IBV_EVENT_GID_CHANGE);
	end_close(&a);
	end_close(&b);
	end_open(&a, 1, &shared);
	command("event rig1 SRQ_ERR");
	event(&a, IBV_EVENT_SRQ_ERR);
	for (int i = 0; i < 2; i++)
		command(i ? "event rig1 CQ_ERR 1" : "event rig1 CQ_ERR 0");
	event(&a, IBV_EVENT_CQ_ERR);
	event(&a, IBV_EVENT_CQ_ERR);
	command("event rig1 DEVICE_FATAL");
	event(&a, IBV_EVENT_DEVICE_FATAL);
	end_close(&a);
}

static enum ibv_port_state state_of(struct end *e)
{
	struct ibv_port_attr p;

	MUST(ibv_query_port(e->context, 1, &p) == 0);
	return p.state;
}

static void port_down(void)
{
	struct kind patient = {.timeout = 21};
	struct end a, b;

	pair_open(&a, &b, &patient);
	command("port rig2 1 down");
	event(&b, IBV_EVENT_PORT_ERR);
	MUST(state_of(&b) == IBV_PORT_DOWN && state_of(&a) == IBV_PORT_ACTIVE);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	nothing(a.sends);
	command("port rig2 1 up");
	event(&b, IBV_EVENT_PORT_ACTIVE);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	end_close(&a);
	end_close(&b);
	pair_open(&a, &b, &usual);
	command("port rig1 1 down");
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(completion(a.sends).status == IBV_WC_RETRY_EXC_ERR);
	command("port rig1 1 up");
	end_close(&a);
	end_close(&b);
}

static int devices(void)
{
	int n;

	ibv_free_device_list(ibv_get_device_list(&n));
	return n;
}

static void device_gone(void)
{
	struct end a, b, again;
	struct ibv_device_attr attr;

	pair_open(&a, &b, &usual);
	MUST(receive(&b, 1, 0, 8) == 0 && devices() == 2);
	command("device rig2 gone");
	MUST(devices() == 1);
	event(&b, IBV_EVENT_DEVICE_FATAL);
	MUST(completion(b.receives).status == IBV_WC_WR_FLUSH_ERR);
	MUST(receive(&b, 1, 0, 8) == EIO && post(&b, &a, IBV_WR_SEND, 0, 8, 0) == EIO);
	MUST(!ibv_reg_mr(b.pd, b.memory, SIZE, ALL) && errno == EIO);
	MUST(ibv_query_device(b.context, &attr) == EIO);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(completion(a.sends).status == IBV_WC_RETRY_EXC_ERR);
	command("device rig2 back");
	/* what was opened before stays dead, and can be given back */
	MUST(devices() == 2 && ibv_query_device(b.context, &attr) == EIO);
	end_open(&again, 2, &usual);
	end_close(&again);
	end_close(&a);
	end_close(&b);
}

static void two_processes(void)
{
	struct kind patient = {.rnr_retries = 7, .timeout = 21};
	struct meeting *m = meeting();
	struct end e;
	pid_t pid = fork();

	meet(&e, m, pid == 0, &patient);
	if (pid == 0) {
		strcpy(e.memory + 64, "of the child");
		m->go = 1;
		MUST(receive(&e, 1, 1000, 1000) == 0);
		MUST(completion(e.receives).byte_len == 500);
		MUST(!strcmp(e.memory + 1000, "a message") && !strcmp(e.memory, "written"));
		exit(0);
	}
	while (!m->go)
		usleep(100);
	MUST(post_keyed(&e, IBV_WR_RDMA_READ, at(&e, 64, 32), m->address[1] + 64, m->rkey[1]) == 0);
	MUST(completion(e.sends).status == IBV_WC_SUCCESS &&
	     !strcmp(e.memory + 64, "of the child"));
	strcpy(e.memory, "written");
	strcpy(e.memory + 3000, "a message");
	MUST(post_keyed(&e, IBV_WR_RDMA_WRITE, at(&e, 0, 20), m->address[1], m->rkey[1]) == 0);
	MUST(post_keyed(&e, IBV_WR_SEND, at(&e, 3000, 500), 0, 0) == 0);
	MUST(completion(e.sends).status == IBV_WC_SUCCESS);
	MUST(completion(e.sends).status == IBV_WC_SUCCESS);
	int status;
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A peer that is killed at any moment of a stream, while this end streams, too. */
static void killed_once(unsigned after)
{
	struct kind k = {.rnr_retries = 7, .timeout = 12, .retries = 1};
	struct meeting *m = meeting();
	struct end e;
	pid_t pid = fork();

	meet(&e, m, pid == 0, &k);
	m->go++;
	for (uint64_t i = 0;; i++) {
		struct ibv_wc wc;
		if (pid && i == 50)
			usleep(after);
		if (pid && i == 100)
			MUST(kill(pid, SIGKILL) == 0);
		receive(&e, i, 0, 4096);
		post_keyed(&e, IBV_WR_SEND, at(&e, 8192, 512), 0, 0);
		post_keyed(&e, IBV_WR_RDMA_WRITE, at(&e, 8192, 3000), m->address[!pid ? 0 : 1],
		           m->rkey[!pid ? 0 : 1]);
		while (ibv_poll_cq(e.receives, 1, &wc) > 0)
			;
		if (ibv_poll_cq(e.sends, 1, &wc) > 0 && wc.status != IBV_WC_SUCCESS) {
			MUST(wc.status == IBV_WC_RETRY_EXC_ERR);
			break;
		}
		if (i > 100)
			usleep(100);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	end_close(&e);
	munmap(m, sizeof *m);
}

static void killed(void)
{
	for (unsigned i = 0; i < 40; i++)
		killed_once(i * 13 % 500);
}

const struct check fault_checks[] = {{"nth_request_fails", nth_request_fails},
                                     {"objects_refused", objects_refused},
                                     {"events_on_request", events_on_request},
                                     {"port_down", port_down},
                                     {"device_gone", device_gone},
                                     {"two_processes", two_processes},
                                     {"killed", killed},
                                     {NULL, NULL}};
