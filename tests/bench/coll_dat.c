/*
 * coll_dat.c - the operations of coll_ops.h with uDAPL, polling the group's EVD as MPI polls. The
 * first process starts the others, and takes their addresses round by a page of shared memory.
 *
 * usage: coll_dat MEMBERS
 */
#define _GNU_SOURCE
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_ops.h"

enum { MEMBERS_MAX = 16, BLOB = 2048, EMPTY_LOOKS = 200 };

extern char **environ;

static struct page {
	uint32_t there;
	unsigned char blob[MEMBERS_MAX][BLOB];
} * page;

static int rank, size;
static char *out, *in;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE errors, evd;
static DAT_PZ_HANDLE pz;
static DAT_IB_COLLECTIVE_HANDLE group;

static void check(DAT_RETURN result, const char *what)
{
	const char *major = "", *minor = "";

	if (result == DAT_SUCCESS)
		return;
	dat_strerror(result, &major, &minor);
	fprintf(stderr, "coll_dat: %s: %s %s\n", what, major, minor);
	exit(1);
}
#define CHECK(call) check((call), #call)

/* The next event, which must be a success. After EMPTY_LOOKS empty polls the member yields its
 * processor: there may be more members than processors. */
static DAT_IB_EXTENSION_EVENT_DATA await(void)
{
	DAT_IB_EXTENSION_EVENT_DATA data;
	DAT_EVENT event;
	int looks = 0;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		if (++looks % EMPTY_LOOKS == 0)
			sched_yield();
	memcpy(&data, event.event_extension_data, sizeof data);
	if (data.status != DAT_OP_SUCCESS) {
		fprintf(stderr, "coll_dat: type %d, status %d\n", (int)data.type, (int)data.status);
		exit(1);
	}
	return data;
}

static void once(const struct coll_row *row)
{
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_CONTEXT context = {0};
	DAT_COUNT n = (DAT_COUNT)row->bytes;

	switch (row->op) {
	case COLL_BARRIER:
		CHECK((dat_ib_collective_barrier)(group, context, flags));
		break;
	case COLL_ALLREDUCE:
		CHECK((dat_ib_collective_allreduce)(group, out, n, in, n,
		                                    DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
		                                    DAT_IB_COLLECTIVE_TYPE_DOUBLE, context, flags));
		break;
	case COLL_BROADCAST:
		CHECK((dat_ib_collective_broadcast)(group, in, n, 0, context, flags));
		break;
	case COLL_ALLGATHER:
		CHECK((dat_ib_collective_allgather)(group, out, n, in, n, context, flags));
		break;
	case COLL_ALLTOALL:
		CHECK((dat_ib_collective_alltoall)(group, out, n, in, n, context, flags));
		break;
	}
	await();
}

static void join(void)
{
	const int flags = (int)DAT_EVD_DTO_FLAG | (int)DAT_IB_EVD_EXTENSION_FLAG;
	DAT_IB_COLLECTIVE_MEMBER mine, members[MEMBERS_MAX];
	DAT_CONTEXT context = {0};
	DAT_UINT32 bytes;
	int i;

	CHECK(dat_ia_open((DAT_NAME_PTR) "lapi", 8, &errors, &ia));
	CHECK(dat_pz_create(ia, &pz));
	CHECK(dat_evd_create(ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
	CHECK((dat_ib_collective_create_member)(ia, NULL, &mine, &bytes));
	if (bytes > BLOB)
		abort();
	memcpy(page->blob[rank], mine, bytes);
	__atomic_add_fetch(&page->there, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&page->there, __ATOMIC_ACQUIRE) < (uint32_t)size)
		usleep(100);
	for (i = 0; i < size; i++)
		members[i] = page->blob[i];
	CHECK((dat_ib_collective_create_group)(members, size, (unsigned)rank, 1, NULL, evd, pz,
	                                       context));
	group = await().coll.handle;
}

static int start_all(int n)
{
	char text[3][16];
	char *argv[] = {"coll_dat", text[0], text[1], text[2], NULL};
	int fd = memfd_create("coll_dat", 0), i, status, failed = 0;
	pid_t pid;

	if (fd < 0 || ftruncate(fd, sizeof *page) != 0)
		return 1;
	for (i = 0; i < n; i++) {
		snprintf(text[0], sizeof text[0], "%d", n);
		snprintf(text[1], sizeof text[1], "%d", i);
		snprintf(text[2], sizeof text[2], "%d", fd);
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0)
			return 1;
	}
	for (i = 0; i < n; i++)
		failed |= wait(&status) < 0 || status != 0;
	return failed;
}

int main(int argc, char **argv)
{
	size = argc > 1 ? atoi(argv[1]) : 0;
	if (size < 1 || size > MEMBERS_MAX) {
		fprintf(stderr, "usage: coll_dat MEMBERS\n");
		return 2;
	}
	if (argc < 4)
		return start_all(size);
	alarm(120);
	rank = atoi(argv[2]);
	coll_bind(rank);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);
	if (page == MAP_FAILED)
		return 1;
	out = coll_room(size);
	in = coll_room(size);
	join();
	coll_measure(rank, size, once);
	CHECK((dat_ib_collective_free_group)(group));
	CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	free(out);
	free(in);
	return 0;
}
