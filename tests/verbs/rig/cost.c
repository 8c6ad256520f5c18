/*
 * cost.c - the cost of the rig itself: ibv_post_send and ibv_poll_cq alone, between two processes,
 * in nanoseconds, the medians of rounds. The other process sleeps, so that no processor is shared.
 *
 * usage: cost      under `with`
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_writev */
#endif
#include "check/check.h"

#include <sys/uio.h>
#include <time.h>

enum { ROUNDS = 21, TIMES = 2000 };

static struct end e;
static struct meeting *m;
static pid_t other;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int less(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof *v, less);
	return v[ROUNDS / 2];
}

static void measure(const char *name, void (*one)(void))
{
	double v[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		double begin = now();
		for (int i = 0; i < TIMES; i++)
			one();
		v[r] = (now() - begin) / TIMES;
	}
	printf("%-52s %8.0f ns\n", name, median(v));
}

static void look(void)
{
	struct ibv_wc wc;

	MUST(ibv_poll_cq(e.sends, 1, &wc) == 0);
}

static uint32_t length;

static struct ibv_send_wr request(struct ibv_sge *s, enum ibv_wr_opcode op)
{
	struct ibv_send_wr wr = {.sg_list = s, .num_sge = 1, .opcode = op};

	*s = at(&e, 0, length);
	wr.wr.rdma.remote_addr = m->address[1];
	wr.wr.rdma.rkey = m->rkey[1];
	return wr;
}

/* Posts and completions by turns, as long as a queue is full: two medians. */
static void posted(const char *name, enum ibv_wr_opcode op, unsigned flags)
{
	struct ibv_sge s;
	struct ibv_wc wc;
	struct ibv_send_wr *bad, wr = request(&s, op);
	double posts[ROUNDS], polls[ROUNDS];

	wr.send_flags = flags;
	for (int r = 0; r < ROUNDS; r++) {
		posts[r] = polls[r] = 0;
		for (int i = 0; i < TIMES / DEPTH; i++) {
			double begin = now();
			for (int k = 0; k < DEPTH; k++)
				MUST(ibv_post_send(e.qp, &wr, &bad) == 0);
			double between = now();
			for (int k = 0; k < DEPTH; k++)
				MUST(ibv_poll_cq(e.sends, 1, &wc) == 1 && wc.status == 0);
			posts[r] += between - begin;
			polls[r] += now() - between;
		}
	}
	double all = TIMES / DEPTH * DEPTH;
	printf("%-52s %8.0f ns   its completion by ibv_poll_cq %4.0f ns\n", name,
	       median(posts) / all, median(polls) / all);
}

static void bare_copy(void)
{
	struct iovec here = {e.memory, length}, there = {(void *)(uintptr_t)m->address[1], length};

	MUST(process_vm_writev(other, &here, 1, &there, 1, 0) == (ssize_t)length);
}

int main(void)
{
	static const struct kind k = {.rnr_retries = 7};

	m = meeting();
	other = fork();
	meet(&e, m, other == 0, &k);
	if (other == 0) {
		for (;;)
			pause();
	}
	usleep(50000); /* until the other is ready */
	measure("ibv_poll_cq that finds nothing", look);
	length = 8;
	measure("process_vm_writev of 8 bytes, beside it", bare_copy);
	posted("ibv_post_send of a write of 8 bytes", IBV_WR_RDMA_WRITE, 0);
	posted("ibv_post_send of a write of 8 bytes, inline", IBV_WR_RDMA_WRITE, IBV_SEND_INLINE);
	posted("ibv_post_send of a read of 8 bytes", IBV_WR_RDMA_READ, 0);
	length = 4096;
	measure("process_vm_writev of 4096 bytes, beside it", bare_copy);
	posted("ibv_post_send of a write of 4096 bytes", IBV_WR_RDMA_WRITE, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return 0;
}
