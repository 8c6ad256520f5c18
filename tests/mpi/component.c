/*
 * component.c - tests btl lapi from inside an MPI program, by Open MPI's own interface of
 * components: its flags; that atomic operations on a word and the processor's own do not lose one
 * another; that no lock is held while a callback runs. Rank 0 prints "passed".
 *
 * usage: component [absent|lost]   absent: liblapi_r is not in the process, and the component not in use;
 * lost: the last rank is killed: in whichever way its loss is reported, the error callback comes first.
 * Then FILE.RANK is made, FILE as LOST_FILE says, and the ranks wait for mpirun to end them.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal_config.h"

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

enum { ROUNDS = 300, MESSAGES = 12, TAG = MCA_BTL_TAG_MAX - 2 };

static int rank, ranks;
static mca_btl_base_module_t *lapi;
static struct mca_btl_base_endpoint_t **endpoints;
static char *handles; /* of all ranks, for memory */
static struct {
	int64_t added, swapped, put;
} memory;
static uint64_t *addresses; /* of memory, by rank */
static int received, completed; /* atomic */

/* libmpi's: the processes of MPI_COMM_WORLD. An element points to an opal_proc_t. */
opal_proc_t **ompi_proc_world(size_t *n);

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "component.c:%d: rank %d: %s\n", __LINE__, rank,   \
			        #condition);                                                 \
			MPI_Abort(MPI_COMM_WORLD, 1);                                        \
		}                                                                            \
	} while (0)

static mca_btl_base_module_t *find(void)
{
	mca_btl_base_selected_module_t *m;

	OPAL_LIST_FOREACH(m, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
		if (strcmp(m->btl_component->btl_version.mca_component_name, "lapi") == 0)
			return m->btl_module;
	return NULL;
}

static int is_loaded(const char *library)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	while (maps && fgets(line, sizeof line, maps))
		found |= strstr(line, library) != NULL;
	return !maps || fclose(maps) || found;
}

static void flags(void)
{
	const uint32_t wanted = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_PUT |
	                        MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_RDMA_FLUSH |
	                        MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS;
	const uint32_t atomic = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
	                        MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
	                        MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN |
	                        MCA_BTL_ATOMIC_SUPPORTS_MAX | MCA_BTL_ATOMIC_SUPPORTS_CSWAP |
	                        MCA_BTL_ATOMIC_SUPPORTS_32BIT | MCA_BTL_ATOMIC_SUPPORTS_GLOB;

	CHECK((lapi->btl_flags & wanted) == wanted);
	CHECK(lapi->btl_atomic_flags == atomic);
	CHECK(lapi->btl_put && lapi->btl_get && lapi->btl_atomic_op && lapi->btl_atomic_fop &&
	      lapi->btl_atomic_cswap && lapi->btl_flush && lapi->btl_register_mem);
	CHECK(lapi->btl_registration_handle_size > 0 && lapi->btl_registration_handle_size <= 256);
}

static void meet(void)
{
	size_t n = 0, size = lapi->btl_registration_handle_size;
	opal_proc_t **procs = ompi_proc_world(&n);
	void *mine = &memory, *handle = lapi->btl_register_mem(lapi, NULL, mine, sizeof memory,
	                                                       MCA_BTL_REG_FLAG_ACCESS_ANY);

	CHECK(procs && (int)n == ranks && handle);
	endpoints = calloc(n, sizeof *endpoints);
	handles = malloc(n * size);
	addresses = malloc(n * sizeof mine);
	CHECK(endpoints && handles && addresses);
	CHECK(lapi->btl_add_procs(lapi, n, procs, endpoints, NULL) == OPAL_SUCCESS);
	MPI_Allgather(handle, (int)size, MPI_BYTE, handles, (int)size, MPI_BYTE, MPI_COMM_WORLD);
	MPI_Allgather(&mine, sizeof mine, MPI_BYTE, addresses, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
}

static uint64_t address(int of, size_t offset)
{
	return addresses[of] + offset;
}

static struct mca_btl_base_registration_handle_t *handle(int of)
{
	return (void *)(handles + (size_t)of * lapi->btl_registration_handle_size);
}

static void ended(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *ep, void *local,
                  struct mca_btl_base_registration_handle_t *local_handle, void *context, void *data,
                  int status)
{
	(void)module, (void)ep, (void)local, (void)local_handle, (void)data;
	CHECK(status == OPAL_SUCCESS);
	__atomic_store_n((int *)context, 1, __ATOMIC_RELEASE);
}

/* Waits for one operation, which is tried again where there was no room. */
#define DO(call)                                                                             \
	do {                                                                                 \
		int done = 0, rc;                                                            \
		while ((rc = (call)) == OPAL_ERR_OUT_OF_RESOURCE)                            \
			opal_progress();                                                     \
		CHECK(rc == OPAL_SUCCESS || rc == 1);                                        \
		while (rc == OPAL_SUCCESS && !__atomic_load_n(&done, __ATOMIC_ACQUIRE))      \
			opal_progress();                                                     \
	} while (0)

/*
 * MCA_BTL_ATOMIC_SUPPORTS_GLOB: rank 0's processor adds to words of its own memory, and swaps one, while
 * the others do so by the component. It swaps seldom: else theirs would find another value each time.
 */
static void coherent(void)
{
	const double pause = 0.005; /* longer than a swap takes to come there */
	int64_t old = 0, last = -1, expected = 0, own = 0, swaps = 0;
	double swapped = MPI_Wtime() - 2 * pause;
	MPI_Request all;
	int over = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Ibarrier(MPI_COMM_WORLD, &all);
	for (; rank == 0 && !over; own++) {
		__atomic_fetch_add(&memory.added, 1, __ATOMIC_SEQ_CST);
		if (own % 16)
			continue;
		if (MPI_Wtime() > swapped + pause) {
			while (!__atomic_compare_exchange_n(&memory.swapped, &expected, expected + 1, 0,
			                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				;
			swaps++;
			swapped = MPI_Wtime();
		}
		MPI_Test(&all, &over, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < ROUNDS && rank != 0; i++) {
		DO(lapi->btl_atomic_fop(lapi, endpoints[0], &old, address(0, 0), NULL, handle(0),
		                        MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER, ended, &done, NULL));
		CHECK(old > last);
		last = old;
		do {
			expected = old;
			DO(lapi->btl_atomic_cswap(lapi, endpoints[0], &old, address(0, 8), NULL,
			                          handle(0), (uint64_t)expected,
			                          (uint64_t)expected + 1, 0, MCA_BTL_NO_ORDER, ended,
			                          &done, NULL));
		} while (old != expected);
	}
	if (rank != 0) {
		MPI_Ibarrier(MPI_COMM_WORLD, &all);
		MPI_Wait(&all, MPI_STATUS_IGNORE);
	}
	CHECK(rank != 0 || memory.added == own + (int64_t)ROUNDS * (ranks - 1));
	CHECK(rank != 0 || (swaps > 0 && memory.swapped == swaps + (int64_t)ROUNDS * (ranks - 1)));
	CHECK(rank != 0 || own > 100);
}

/* A put and progress by another thread, for which a callback waits. */
static void *other(void *argument)
{
	int64_t *one = argument;

	DO(lapi->btl_put(lapi, endpoints[rank], one, address(rank, 16), NULL, handle(rank), 8, 0,
	                 MCA_BTL_NO_ORDER, ended, &done, NULL));
	for (int i = 0; i < 20; i++)
		opal_progress();
	return NULL;
}

static void wait_for_another(void)
{
	int64_t one = 1;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, other, &one) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

#if BTL_VERSION >= 330
static void arrived(mca_btl_base_module_t *module, const mca_btl_base_receive_descriptor_t *d)
{
	(void)module;
	CHECK(d->endpoint == endpoints[(rank + ranks - 1) % ranks] && d->tag == TAG);
#else
static void arrived(mca_btl_base_module_t *module, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *d, void *data)
{
	(void)module, (void)data;
	CHECK(tag == TAG);
#endif
	CHECK(d->des_segment_count == 1);
	wait_for_another();
	__atomic_fetch_add(&received, 1, __ATOMIC_RELAXED);
}

static void put_ended(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *ep, void *local,
                      struct mca_btl_base_registration_handle_t *local_handle, void *context,
                      void *data, int status)
{
	(void)module, (void)ep, (void)local, (void)local_handle, (void)context, (void)data;
	CHECK(status == OPAL_SUCCESS);
	wait_for_another();
	__atomic_fetch_add(&completed, 1, __ATOMIC_RELAXED);
}

/* The lengths are those of messages in the header, copied, and not copied. */
static void send_to(int to, size_t size)
{
	mca_btl_base_descriptor_t *d = lapi->btl_alloc(lapi, endpoints[to], MCA_BTL_NO_ORDER, size,
	                                               MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
	int rc;

	CHECK(d);
	memset(d->des_segments->seg_addr.pval, 7, size);
	while ((rc = lapi->btl_send(lapi, endpoints[to], d, TAG)) == OPAL_ERR_OUT_OF_RESOURCE)
		opal_progress();
	CHECK(rc == 1 || rc == 0);
}

static void without_lock(void)
{
	static const size_t sizes[] = {8, 3000, 30000};
	int next = (rank + 1) % ranks, rc;
	int64_t one = 1;

	mca_btl_base_active_message_trigger[TAG].cbfunc = arrived;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < MESSAGES; i++) {
		send_to(next, sizes[i % 3]);
		while ((rc = lapi->btl_put(lapi, endpoints[next], &one, address(next, 16), NULL, handle(next), 8,
		                           0, MCA_BTL_NO_ORDER, put_ended, NULL, NULL)) ==
		       OPAL_ERR_OUT_OF_RESOURCE)
			opal_progress();
		CHECK(rc == OPAL_SUCCESS || rc == 1);
		if (rc == 1)
			__atomic_fetch_add(&completed, 1, __ATOMIC_RELAXED);
	}
	while (__atomic_load_n(&received, __ATOMIC_RELAXED) < MESSAGES ||
	       __atomic_load_n(&completed, __ATOMIC_RELAXED) < MESSAGES)
		opal_progress();
	CHECK(lapi->btl_flush(lapi, NULL) == OPAL_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	mca_btl_base_active_message_trigger[TAG].cbfunc = NULL;
}

static int errors, early; /* early: ways by which the loss has shown before the error callback */

static void failed(mca_btl_base_module_t *module, int32_t how, opal_proc_t *proc, char *text)
{
	(void)module, (void)how, (void)proc, (void)text;
	errors++;
}

static void note(int result) { early += result == OPAL_ERR_UNREACH && !errors; }

static void over(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *ep, void *at,
                 struct mca_btl_base_registration_handle_t *h, void *context, void *data, int status)
{
	(void)module, (void)ep, (void)at, (void)h, (void)context, (void)data;
	note(status);
}

static void lost(void)
{
	static int64_t words[2];
	int last = ranks - 1;
	char file[4096];

	CHECK(lapi->btl_register_error(lapi, failed) == OPAL_SUCCESS && getenv("LOST_FILE"));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == last)
		raise(SIGKILL);
	while (!errors) {
		note(lapi->btl_put(lapi, endpoints[last], &words[0], address(last, 16), NULL, handle(last), 8,
		                   0, MCA_BTL_NO_ORDER, over, NULL, NULL));
		note(lapi->btl_get(lapi, endpoints[last], &words[1], address(last, 16), NULL, handle(last), 8,
		                   0, MCA_BTL_NO_ORDER, over, NULL, NULL));
		note(lapi->btl_flush(lapi, endpoints[last]));
		opal_progress();
	}
	/* The seconds that it waits may be over between two calls. */
	if (early > 4)
		fprintf(stderr, "rank %d: %d results, and no error\n", rank, early);
	CHECK(early <= 4);
	if (rank == 0)
		printf("passed\n");
	fflush(stdout);
	snprintf(file, sizeof file, "%s.%d", getenv("LOST_FILE"), rank);
	fclose(fopen(file, "w"));
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int level, absent = argc > 1 && strcmp(argv[1], "absent") == 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	lapi = find();
	CHECK((lapi == NULL) == absent);
	CHECK(is_loaded("liblapi_r") != absent);
	if (!absent) {
		CHECK(level == MPI_THREAD_MULTIPLE);
		flags();
		meet();
		if (argc > 1 && strcmp(argv[1], "lost") == 0)
			lost();
		coherent();
		without_lock();
	}
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
