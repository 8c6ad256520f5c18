/*
 * Amv.c - LAPI_Amsendv: an active message whose data is a vector. The origin knows nothing of the
 * target's memory; the header handler at the target answers with a vector of its own.
 *
 * The type is LAPI_GEN_GENERIC: three blocks here fill two blocks there, in order. With
 * LAPI_GEN_IOVECTOR number and lengths would have to agree.
 */
#include "sample.h"

static char text[3][16] = {"one message, ", "three pieces ", "here, two there"};
static char front[20], back[40];

/* The vector that the header handler returns belongs to LAPI until completion, so it is not on a
 * stack. */
static void *pieces[2] = {front, back};
static ulong piece_lengths[2] = {13, sizeof back};
static lapi_vec_t landing = {LAPI_GEN_GENERIC, 2, pieces, piece_lengths};
static ulong first_length; /* the length that the header handler got */

static lapi_vec_t *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                  compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len;
	first_length = (*len_vec)[0]; /* the lengths of the origin's blocks, during this call */
	*completion = NULL;
	*user_info = NULL;
	return &landing;
}

static void send_pieces(lapi_handle_t hndl, int buddy, void **handler_of)
{
	void *from[3] = {text[0], text[1], text[2]};
	ulong length[3] = {strlen(text[0]), strlen(text[1]), strlen(text[2])};
	lapi_vec_t origin = {LAPI_GEN_GENERIC, 3, from, length};
	lapi_cntr_t completion_counter;

	CALL(LAPI_Setcntr(hndl, &completion_counter, 0));
	CALL(LAPI_Amsendv(hndl, buddy, handler_of[buddy], NULL, 0, &origin, NULL, NULL,
	                  &completion_counter));
	CALL(LAPI_Waitcntr(hndl, &completion_counter, 1, NULL));
	sample_say("sent 3 pieces to task %d", buddy);
}

static void look(int buddy)
{
	EXPECT(first_length == strlen(text[0]));
	EXPECT(strcmp(front, text[0]) == 0);
	EXPECT(strncmp(back, text[1], strlen(text[1])) == 0 &&
	       strcmp(back + strlen(text[1]), text[2]) == 0);
	sample_say("task %d wrote: %s%s", buddy, front, back);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **handler_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	handler_of = calloc(num_tasks, sizeof *handler_of);
	CALL(LAPI_Address_init(hndl, (void *)header_handler, handler_of));

	if (buddy < num_tasks && task % 2 == 0)
		send_pieces(hndl, buddy, handler_of);
	CALL(LAPI_Gfence(hndl));
	if (buddy < num_tasks && task % 2 == 1)
		look(buddy);
	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");

	CALL(LAPI_Term(hndl));
	free(handler_of);
	return sample_end();
}
