/*
 * Collectives.c - a group of processes that work together with uDAPL's collective operations.
 *
 * Each process makes an address, and all must know all of them before there is a group: here LAPI
 * takes them round, as it does in Both. Then the group finds out how well the rectangle rule draws
 * a quarter of a circle: the first member tells all how many strips there are, each sums up its
 * own, the sums are added, the worst strip is looked for, and each member's report, as long as it
 * happens to be, goes to the first one, which prints them.
 *
 * The calls return at once. A member computes while an operation is under way, and learns by an
 * event that its buffers are its own again.
 */
#include <math.h>
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include "sample.h"

enum { STRIPS = 100000, PATIENCE = 60000000, ADDRESS_MAX = 512, MEMBERS_MAX = 64, REPORT_MAX = 80 };

static lapi_handle_t hndl;
static lapi_cntr_t heard;
static char addresses[MEMBERS_MAX][ADDRESS_MAX]; /* of all members, in the order of ranks */
static int self, size;

static DAT_IA_HANDLE adapter;
static DAT_PZ_HANDLE zone;
static DAT_EVD_HANDLE errors_evd, evd;
static DAT_IB_COLLECTIVE_MEMBER mine;
static DAT_IB_COLLECTIVE_HANDLE group;

/* Calls uDAPL, as CALL calls LAPI. */
#define DAT(call) dat_sample_call((call), #call, __LINE__)
static void dat_sample_call(DAT_RETURN result, const char *call, int line)
{
	const char *major = "", *minor = "";

	if (result == DAT_SUCCESS)
		return;
	dat_strerror(result, &major, &minor);
	fprintf(stderr, "task %d: Collectives.c:%d: %s: %s %s\n", sample_task, line, call, major,
	        minor);
	exit(1);
}

/* The context that the program gets back with an event: here the number of the step. */
static DAT_CONTEXT step(DAT_UINT64 number)
{
	DAT_CONTEXT context;

	context.as_64 = number;
	return context;
}

/* The event of a step: what it was, how it ended, of which group. */
static DAT_IB_EXTENSION_EVENT_DATA finished(int type, DAT_UINT64 number)
{
	DAT_IB_EXTENSION_EVENT_DATA data;
	DAT_EVENT event;
	DAT_COUNT more;

	DAT(dat_evd_wait(evd, PATIENCE, 1, &event, &more));
	memcpy(&data, event.event_extension_data, sizeof data);
	if ((int)event.event_number != (int)DAT_IB_COLLECTIVE_EVENT || (int)data.type != type ||
	    data.status != DAT_OP_SUCCESS || data.coll.context.as_64 != number) {
		fprintf(stderr, "task %d: event %#x, type %d, status %d\n", sample_task,
		        event.event_number, (int)data.type, (int)data.status);
		exit(1);
	}
	return data;
}

/* Gives this member's address to all, by a put to each. */
static void tell_addresses(DAT_UINT32 length)
{
	void **there = calloc((size_t)size, sizeof *there), **counters;

	counters = calloc((size_t)size, sizeof *counters);
	EXPECT(length <= ADDRESS_MAX);
	CALL(LAPI_Address_init(hndl, addresses, there));
	CALL(LAPI_Address_init(hndl, &heard, counters));
	for (int i = 0; i < size; i++)
		CALL(LAPI_Put(hndl, (uint)i, length, (char *)there[i] + self * ADDRESS_MAX, mine,
		              counters[i], NULL, NULL));
	CALL(LAPI_Waitcntr(hndl, &heard, size, NULL));
	free(there);
	free(counters);
}

static void make_group(void)
{
	const int flags = DAT_EVD_DTO_FLAG | DAT_IB_EVD_EXTENSION_FLAG;
	DAT_IB_COLLECTIVE_MEMBER members[MEMBERS_MAX];
	DAT_UINT32 length;

	DAT(dat_ia_open((DAT_NAME_PTR) "lapi", 8, &errors_evd, &adapter));
	DAT(dat_pz_create(adapter, &zone));
	DAT(dat_evd_create(adapter, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
	DAT(dat_ib_collective_create_member(adapter, NULL, &mine, &length));
	tell_addresses(length);
	for (int i = 0; i < size; i++)
		members[i] = addresses[i];
	DAT(dat_ib_collective_create_group(members, size, self, 4711, NULL, evd, zone, step(1)));
	group = finished(DAT_IB_COLLECTIVE_CREATE_DATA, 1).coll.handle;
	sample_say("member %d of %d", self, size);
}

/* The area of a strip under the quarter circle, and how far the rectangle is off, about. */
static double strip(int i, int strips, double *error)
{
	double width = 1.0 / strips, left = sqrt(1 - i * width * i * width);
	double right = sqrt(fmax(0, 1 - (i + 1) * width * (i + 1) * width));
	double middle = sqrt(1 - (i + 0.5) * width * (i + 0.5) * width);

	*error = fabs(middle - (left + right) / 2) * width;
	return middle * width;
}

/* All add up their strips; the two reductions are under way at once. */
static void quarter_circle(int strips, double *area, int *worst)
{
	struct where { /* a value, and, with MAXLOC, where it comes from */
		double error;
		DAT_UINT32 strip;
	} own = {0, 0}, largest;
	double sum = 0, error;

	for (int i = self; i < strips; i += size) {
		sum += strip(i, strips, &error);
		if (error > own.error) {
			own.error = error;
			own.strip = (DAT_UINT32)i;
		}
	}
	DAT(dat_ib_collective_allreduce(
		group, &sum, sizeof sum, area, sizeof *area, DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
		DAT_IB_COLLECTIVE_TYPE_DOUBLE, step(3), DAT_COMPLETION_DEFAULT_FLAG));
	DAT(dat_ib_collective_allreduce(group, &own, sizeof own, &largest, sizeof largest,
	                                DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC,
	                                DAT_IB_COLLECTIVE_TYPE_DOUBLE, step(4),
	                                DAT_COMPLETION_DEFAULT_FLAG));
	finished(DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 3); /* events come in the order of the calls */
	finished(DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 4);
	*worst = (int)largest.strip;
}

/* Reports of any length: first how long they are, then the texts, each at its place. */
static void report(const char *text)
{
	DAT_COUNT length = (DAT_COUNT)strlen(text) + 1, lengths[MEMBERS_MAX], at[MEMBERS_MAX];
	char all[MEMBERS_MAX * REPORT_MAX];

	DAT(dat_ib_collective_allgather(group, &length, sizeof length, lengths, sizeof length,
	                                step(5), DAT_COMPLETION_DEFAULT_FLAG));
	finished(DAT_IB_COLLECTIVE_ALLGATHER_STATUS, 5);
	for (int i = 0; i < size; i++)
		at[i] = i == 0 ? 0 : at[i - 1] + lengths[i - 1];
	DAT(dat_ib_collective_gatherv(group, (void *)text, length, all, lengths, at, 0, step(6),
	                              DAT_COMPLETION_DEFAULT_FLAG));
	finished(DAT_IB_COLLECTIVE_GATHERV_STATUS, 6);
	for (int i = 0; i < size && self == 0; i++)
		sample_say("member %d reports: %s", i, all + at[i]);
}

int main(void)
{
	int strips = 0, worst = -1;
	char text[REPORT_MAX];
	lapi_info_t info;
	double area = 0;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &self));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &size));
	sample_begin(self);
	EXPECT(size <= MEMBERS_MAX);
	CALL(LAPI_Setcntr(hndl, &heard, 0));
	make_group();
	if (self == 0)
		strips = STRIPS;
	/* No event of this one: it is complete when a later one of the group is. */
	DAT(dat_ib_collective_broadcast(group, &strips, sizeof strips, 0, step(2),
	                                DAT_COMPLETION_SUPPRESS_FLAG));
	DAT(dat_ib_collective_barrier(group, step(2), DAT_COMPLETION_DEFAULT_FLAG));
	finished(DAT_IB_COLLECTIVE_BARRIER_STATUS, 2);
	EXPECT(strips == STRIPS);
	quarter_circle(strips, &area, &worst);
	EXPECT(fabs(4 * area - 3.14159265358979) < 1e-6);
	EXPECT(worst == STRIPS - 1);
	snprintf(text, sizeof text, "%d strips%s, pi is %.6f", (strips - self + size - 1) / size,
	         worst % size == self ? " with the worst one" : "", 4 * area);
	report(text);
	DAT(dat_ib_collective_barrier(group, step(7), DAT_COMPLETION_DEFAULT_FLAG));
	finished(DAT_IB_COLLECTIVE_BARRIER_STATUS, 7); /* nobody needs this member any more */
	DAT(dat_ib_collective_free_group(group));
	DAT(dat_ib_collective_free_member(adapter, mine));
	DAT(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG));
	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
