/*
 * Dgsp_simple.c - a message out of data with gaps, by a data gather/scatter program (DGSP). Each
 * even task has an array of particles and sends its buddy the position and the charge of every one,
 * but not the rest. The DGSP gathers them at the origin; at the target they lie one after the
 * other.
 */
#include <stddef.h>
#include "sample.h"

#define PARTICLES 1000

struct particle {
	int number;
	double position[3]; /* is sent */
	char name[20];
	float charge; /* is sent */
};

/* The bytes of a particle that arrive: the position, then the charge. */
#define SENT (sizeof(double[3]) + sizeof(float))

static struct particle particles[PARTICLES];
static char landing[PARTICLES * SENT];
static lapi_cntr_t arrived;
static double sum_of_charges; /* made by the completion handler */

/*
 * The program: two pieces of the structure at hand; then from the beginning again. How far the next
 * structure is, says the DGSP's extent. Instructions follow each other without gaps, and a branch
 * counts in ints.
 */
static struct code {
	lapi_dgsm_copy_t position, charge;
	lapi_dgsm_iterate_t again;
} code = {
	{LAPI_DGSM_COPY, sizeof(double[3]), offsetof(struct particle, position)},
	{LAPI_DGSM_COPY, sizeof(float), offsetof(struct particle, charge)},
	{LAPI_DGSM_ITERATE, -2 * LAPI_DGSM_COPY_SIZE},
};

/* Registers the program. LAPI makes a copy, so description and code are free afterwards. */
static lapi_dg_handle_t make_dgsp(lapi_handle_t hndl)
{
	lapi_dgsp_descr_t description;
	lapi_util_t command;

	memset(&description, 0, sizeof description);
	description.code = (int *)&code;
	description.code_size = sizeof code / sizeof(int);
	description.depth = 1;                  /* no routine calls another */
	description.density = LAPI_DGSM_SPARSE; /* there are gaps */
	description.size = SENT;                /* bytes of one application: a particle */
	description.extent = sizeof(struct particle);
	description.lext = offsetof(struct particle, position);
	description.rext = offsetof(struct particle, charge) + sizeof(float);

	memset(&command, 0, sizeof command);
	command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	command.RegDgsp.idgsp = &description;
	CALL(LAPI_Util(hndl, &command));
	EXPECT(command.RegDgsp.dgsp_handle != NULL);
	return command.RegDgsp.dgsp_handle;
}

/* Gives the registration back. LAPI itself keeps the program as long as a transfer needs it. */
static void free_dgsp(lapi_handle_t hndl, lapi_dg_handle_t dgsp)
{
	lapi_util_t command;

	memset(&command, 0, sizeof command);
	command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
	command.DrefDgsp.dgsp_handle = dgsp;
	CALL(LAPI_Util(hndl, &command));
}

/* Runs in a thread of LAPI's once all the data is there. */
static void completion_handler(lapi_handle_t *hndl, void *completion_param)
{
	const char *from = completion_param;
	float charge;

	(void)hndl;
	for (int i = 0; i < PARTICLES; i++) {
		memcpy(&charge, from + i * SENT + sizeof(double[3]), sizeof charge);
		sum_of_charges += charge;
	}
}

/* The data goes to landing as it comes; a DGSP of the target's own, named in lapi_return_info_t,
 * would scatter it instead. */
static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **completion_param)
{
	lapi_return_info_t *info = (lapi_return_info_t *)msg_len;

	(void)hndl;
	(void)uhdr;
	EXPECT(*uhdr_len == 0);
	EXPECT(info->msg_len == sizeof landing);
	*completion = completion_handler;
	*completion_param = landing;
	return landing;
}

static void send_particles(lapi_handle_t hndl, int buddy, void *handler, void *counter)
{
	lapi_cntr_t completed;
	lapi_dg_handle_t dgsp = make_dgsp(hndl);
	lapi_xfer_t xfer;

	for (int i = 0; i < PARTICLES; i++) {
		particles[i].number = i;
		for (int k = 0; k < 3; k++)
			particles[i].position[k] = i + k / 10.0;
		particles[i].charge = (float)(i % 3 - 1);
		memset(particles[i].name, 'x', sizeof particles[i].name);
	}
	CALL(LAPI_Setcntr(hndl, &completed, 0));
	memset(&xfer, 0, sizeof xfer);
	xfer.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	xfer.Dgsp.tgt = buddy;
	xfer.Dgsp.hdr_hdl = (lapi_long_t)(ulong)handler;
	xfer.Dgsp.udata = particles;
	xfer.Dgsp.udata_len = PARTICLES * SENT; /* of the message: gaps do not count */
	xfer.Dgsp.dgsp = dgsp;
	xfer.Dgsp.tgt_cntr = (lapi_long_t)(ulong)counter;
	xfer.Dgsp.cmpl_cntr = &completed;
	CALL(LAPI_Xfer(hndl, &xfer));
	free_dgsp(hndl, dgsp);
	CALL(LAPI_Waitcntr(hndl, &completed, 1, NULL));
	sample_say("sent %d bytes of each of %d particles of %d bytes to task %d", (int)SENT,
	           PARTICLES, (int)sizeof(struct particle), buddy);
}

static void look(lapi_handle_t hndl, int buddy)
{
	int wrong = 0;
	double position[3];

	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL)); /* changes after the completion handler */
	for (int i = 0; i < PARTICLES; i++) {
		memcpy(position, landing + i * SENT, sizeof position);
		for (int k = 0; k < 3; k++)
			wrong += position[k] != i + k / 10.0;
	}
	EXPECT(wrong == 0);
	EXPECT(sum_of_charges == -1);
	sample_say(
		"%d particles of task %d are here, the last is at %.1f %.1f %.1f; their charges add up to %g",
		PARTICLES, buddy, position[0], position[1], position[2], sum_of_charges);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **handler_of, **counter_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	handler_of = calloc(num_tasks, sizeof *handler_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	CALL(LAPI_Address_init(hndl, (void *)header_handler, handler_of));
	CALL(LAPI_Address_init(hndl, &arrived, counter_of));

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		send_particles(hndl, buddy, handler_of[buddy], counter_of[buddy]);
	else
		look(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(handler_of);
	free(counter_of);
	return sample_end();
}
