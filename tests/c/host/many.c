/*
 * many.c - as many tasks on a node as may share memory, on however few processors, and some more,
 * which are reached by UDP. All tasks reach all and none is starved; the memory for messages, which
 * could take gigabytes, is touched only where it is used.
 *
 * Usage: lapirun -n N many            N is up to 200
 *        LAPI_USE_SHM=only lapirun -n N many refused    N is more than may share memory: LAPI_Init
 * fails
 */
#define _GNU_SOURCE
#include "host.h"

#include <sys/stat.h>

enum { MOST = 200, SHARING = 128, ROUNDS = 20, SLOW_ROUNDS = 3 }; /* SHARING: MAX_SHM_TASKS */
/* Touched of a segment: a page for its task's own words, some pages for the rings' words, and the
 * polled page of each ring; far more is mapped. */
enum { SEGMENT_KIB = 64, RING_KIB = 6, MAPPED_KIB = 256 };

static lapi_handle_t hndl;
static int task_id, tasks, sum, received[MOST];
static lapi_cntr_t done, arrived;
static void *sums[MOST], *places[MOST], *counters[MOST];

/*
 * KiB of the shared segments: as much as is mapped, and as much as the most of any that anybody has
 * touched; -1 if the kernel does not tell this user.
 */
static void segments(long *mapped, long *most)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], name[128];
	unsigned long from, to;
	struct stat st;
	*mapped = *most = 0;
	while (f && fgets(line, sizeof line, f)) {
		if (!strstr(line, "memfd:lapi-shm") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		*mapped += (long)((to - from) / 1024);
		snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", from, to);
		if (stat(name, &st) != 0)
			*most = -1;
		else if (*most >= 0 && st.st_blocks / 2 > *most)
			*most = st.st_blocks / 2;
	}
	if (f)
		fclose(f);
}

static void memory_is_touched_when_used(int sharing)
{
	long mapped, most;
	segments(&mapped, &most);
	HOST_CHECK(mapped > (long)MAPPED_KIB * sharing * sharing);
	HOST_CHECK(most != 0 && most < SEGMENT_KIB + (long)RING_KIB * sharing);
	if (host_case_failures)
		fprintf(stderr,
		        "task %d: of a segment %ld KiB are touched; %ld are mapped in all\n",
		        task_id, most, mapped);
}

/* Each task adds to a word of each task, and puts its number to its place there. */
static void all_reach_all(void)
{
	int one = 1, i, to;
	for (i = 1; i <= tasks; i++) {
		to = (task_id + i) % tasks;
		HOST_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)to, sums[to], &one, NULL, &done));
		HOST_OK(LAPI_Put(hndl, (uint)to, sizeof task_id, (int *)places[to] + task_id,
		                 &task_id, (lapi_cntr_t *)counters[to], NULL, &done));
	}
	HOST_OK(LAPI_Waitcntr(hndl, &done, 2 * tasks, NULL));
	HOST_OK(LAPI_Waitcntr(hndl, &arrived, tasks, NULL));
	HOST_OK(LAPI_Gfence(hndl));
	HOST_CHECK(sum == tasks);
	for (i = 0; i < tasks; i++)
		HOST_CHECK(received[i] == i);
	HOST_OK(LAPI_Gfence(hndl)); /* what follows writes there */
}

/* Puts to the next task, each between two LAPI_Gfence; fewer where LAPI_Gfence is not by shared
 * memory alone. */
static void everybody_makes_progress(void)
{
	int next = (task_id + 1) % tasks, before = (task_id + tasks - 1) % tasks, round, value;
	int rounds = tasks > SHARING ? SLOW_ROUNDS : ROUNDS;
	for (round = 1; round <= rounds; round++) {
		value = round * 1000 + task_id;
		HOST_OK(LAPI_Put(hndl, (uint)next, sizeof value, (int *)places[next] + task_id,
		                 &value, NULL, NULL, NULL));
		HOST_OK(LAPI_Gfence(hndl));
		HOST_CHECK(received[before] == round * 1000 + before);
		HOST_OK(LAPI_Gfence(hndl));
	}
}

static int refused(lapi_info_t *info)
{
	HOST_CODE(LAPI_ERR_SHM_SETUP, LAPI_Init(&hndl, info));
	host_end_case("more_than_may_share", strcmp(getenv("MP_CHILD"), "0") != 0);
	return host_close("many", strcmp(getenv("MP_CHILD"), "0") != 0);
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	int sharing = -1, expected;
	host_info(&info);
	if (argc > 1 && strcmp(argv[1], "refused") == 0)
		return refused(&info);
	if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(hndl, TASK_ID, &task_id));
	HOST_OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Qenv(hndl, QUERY_SHM_NUM_TASKS, &sharing));
	if (tasks > MOST)
		return 2;
	expected = task_id >= SHARING ? 0 : tasks > SHARING ? SHARING : tasks;
	HOST_CHECK(sharing == expected);
	memset(received, -1, sizeof received);
	HOST_OK(LAPI_Address_init(hndl, &sum, sums));
	HOST_OK(LAPI_Address_init(hndl, received, places));
	HOST_OK(LAPI_Address_init(hndl, &arrived, counters));
	host_end_case("the_first_share_memory", task_id != 0);
	if (sharing > 1)
		memory_is_touched_when_used(sharing);
	host_end_case("memory_is_touched_when_used", task_id != 0);
	HOST_OK(LAPI_Gfence(hndl));
	all_reach_all();
	host_end_case("all_reach_all", task_id != 0);
	everybody_makes_progress();
	host_end_case("everybody_makes_progress", task_id != 0);
	HOST_OK(LAPI_Term(hndl));
	host_end_case("term", task_id != 0);
	return host_close("many", task_id != 0);
}
