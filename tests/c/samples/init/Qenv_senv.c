/*
 * Qenv_senv.c - everything a context can be asked, and everything that can be changed while it
 * runs.
 *
 * Task 0 prints a table of all runtime attributes with the values they have at the start; the four
 * that LAPI_Senv may set are then changed, read again and put back, and a value out of range is
 * refused and changes nothing.
 */
#include "sample.h"

struct attribute {
	lapi_query_t query;
	const char *name;
	const char *meaning;
};

/* clang-format off */
#define ATTRIBUTE(name, meaning) { name, #name, meaning }
/* clang-format on */

/* Those that give one integer. */
static const struct attribute attributes[] = {
	ATTRIBUTE(TASK_ID, "this task"),
	ATTRIBUTE(NUM_TASKS, "tasks in the job"),
	ATTRIBUTE(MAX_UHDR_SZ, "longest user header, bytes"),
	ATTRIBUTE(MAX_DATA_SZ, "longest message, as far as an int can say"),
	ATTRIBUTE(ERROR_CHK, "1: all parameters are checked"),
	ATTRIBUTE(TIMEOUT, "seconds without an answer until a task counts as lost"),
	ATTRIBUTE(MIN_TIMEOUT, "smallest TIMEOUT"),
	ATTRIBUTE(MAX_TIMEOUT, "largest TIMEOUT"),
	ATTRIBUTE(INTERRUPT_SET, "1: messages are served while the task computes"),
	ATTRIBUTE(MAX_PORTS, "contexts a process may have"),
	ATTRIBUTE(MAX_PKT_SZ, "user header and data in one packet, bytes"),
	ATTRIBUTE(NUM_REX_BUFS, "retransmission buffers"),
	ATTRIBUTE(REX_BUF_SZ, "size of each, bytes"),
	ATTRIBUTE(LOC_ADDRTBL_SZ, "indices of LAPI_Addr_set end before this"),
	ATTRIBUTE(EPOCH_NUM, "no longer used"),
	ATTRIBUTE(USE_THRESH, "no longer used"),
	ATTRIBUTE(RCV_FIFO_SIZE, "no longer used"),
	ATTRIBUTE(MAX_ATOM_SIZE, "largest atom of a DGSP"),
	ATTRIBUTE(BUF_CP_SIZE, "messages up to this size leave their buffers free on return"),
	ATTRIBUTE(MAX_PKTS_OUT, "packets under way to one task"),
	ATTRIBUTE(ACK_THRESHOLD, "packets received before they are acknowledged"),
	ATTRIBUTE(QUERY_SHM_ENABLED, "1: shared memory is in use"),
	ATTRIBUTE(QUERY_SHM_NUM_TASKS, "tasks reached through it, this one included"),
	ATTRIBUTE(BULK_XFER, "1: bulk transfer (RDMA) is in use"),
	ATTRIBUTE(BULK_MIN_MSG_SIZE, "messages from this size on would use it"),
};

/* Task 0 speaks for all: the values are the same everywhere but for TASK_ID. */
static void show_integers(lapi_handle_t hndl, int task)
{
	for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
		int value = -1;

		CALL(LAPI_Qenv(hndl, attributes[i].query, &value));
		if (task == 0)
			sample_say("  %-20s %11d  %s", attributes[i].name, value,
			           attributes[i].meaning);
	}
}

/* Which tasks shared memory reaches: one entry a task, -1 where it does not. */
static void show_shm_tasks(lapi_handle_t hndl, int task, int num_tasks)
{
	int *shm_tasks = calloc(num_tasks, sizeof *shm_tasks);
	int count = 0, reached;

	CALL(LAPI_Qenv(hndl, QUERY_SHM_TASKS, shm_tasks));
	CALL(LAPI_Qenv(hndl, QUERY_SHM_NUM_TASKS, &reached));
	for (int i = 0; i < num_tasks; i++) {
		count += shm_tasks[i] >= 0;
		if (task == 0)
			sample_say("  QUERY_SHM_TASKS[%d]   %11d", i, shm_tasks[i]);
	}
	EXPECT(count == reached);
	free(shm_tasks);
}

static void show_statistics_of(lapi_handle_t hndl, lapi_query_t query, const char *path)
{
	lapi_statistics_t statistics;

	memset(&statistics, 0xff, sizeof statistics);
	/* the cast is what the prototype asks for */
	CALL(LAPI_Qenv(hndl, query, (int *)&statistics));
	sample_say("  %-28s sent %llu packets, %llu bytes; received %llu, %llu; retransmitted %llu",
	           path, statistics.Tot_pkt_sent_cnt, statistics.Tot_data_sent,
	           statistics.Tot_pkt_rcv_cnt, statistics.Tot_data_rcv,
	           statistics.Tot_retrans_pkt_cnt);
}

static void show_statistics(lapi_handle_t hndl)
{
	int unused = 0;

	show_statistics_of(hndl, QUERY_STATISTICS, "QUERY_STATISTICS (UDP)");
	show_statistics_of(hndl, QUERY_SHM_STATISTICS, "QUERY_SHM_STATISTICS");
	show_statistics_of(hndl, QUERY_LOCAL_SEND_STATISTICS, "QUERY_LOCAL_SEND_STATISTICS");
	sample_say("PRINT_STATISTICS, printed by the library:");
	fflush(stdout);
	CALL(LAPI_Qenv(hndl, PRINT_STATISTICS, &unused));
	fflush(stdout);
}

/* Sets an attribute, reads it back, refuses a wrong one, puts the old one back. */
static void change(lapi_handle_t hndl, int task, lapi_query_t query, const char *name, int value,
                   int too_large)
{
	int before, after;

	CALL(LAPI_Qenv(hndl, query, &before));
	CALL(LAPI_Senv(hndl, query, value));
	CALL(LAPI_Qenv(hndl, query, &after));
	EXPECT(after == value);
	if (too_large) {
		int now;

		EXPECT(LAPI_Senv(hndl, query, too_large) == LAPI_ERR_SET_VAL);
		CALL(LAPI_Qenv(hndl, query, &now));
		EXPECT(now == value);
	}
	CALL(LAPI_Senv(hndl, query, before));
	if (task == 0)
		sample_say("  %-20s was %d, set to %d, read back %d", name, before, value, after);
}

static void change_all(lapi_handle_t hndl, int task)
{
	int max_timeout, interrupt;

	CALL(LAPI_Qenv(hndl, MAX_TIMEOUT, &max_timeout));
	CALL(LAPI_Qenv(hndl, INTERRUPT_SET, &interrupt));
	change(hndl, task, TIMEOUT, "TIMEOUT", 60, max_timeout + 1);
	change(hndl, task, ACK_THRESHOLD, "ACK_THRESHOLD", 5, 31);
	change(hndl, task, INTERRUPT_SET, "INTERRUPT_SET", !interrupt, 0);
	change(hndl, task, ERROR_CHK, "ERROR_CHK", 1, 0);
	EXPECT(LAPI_Senv(hndl, NUM_TASKS, 99) == LAPI_ERR_QUERY_TYPE);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	if (task == 0)
		sample_say("runtime attributes at the start:");
	show_integers(hndl, task);
	show_shm_tasks(hndl, task, num_tasks);
	if (task == 0)
		sample_say("those that can be set:");
	change_all(hndl, task);
	CALL(LAPI_Gfence(hndl));
	if (task == 0)
		show_statistics(hndl);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
