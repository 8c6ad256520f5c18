/*
 * Mc_xfer.c - LAPI_Xfer with LAPI_MC_XFER: one call sends an active message to each task of a
 * group. The groups are the tasks with even and those with odd numbers; task 0 knows both, the
 * members know of none. One buffer serves all members: the send completion handler frees it, when
 * the last of them needs it no more.
 */
#include <stdatomic.h>
#include "sample.h"

#define COUNT 20000
/* the same number in every task, so that no addresses need to be exchanged */
#define HEADER_HANDLER 1

static int landing[COUNT];
static atomic_int arrived;

/* The user header. */
struct word {
	char text[16];
};
static struct word heard;

/* Data that must stay unchanged until the send completion handler runs. */
struct message {
	struct word word;
	int data[COUNT];
};

static void completion_handler(lapi_handle_t *hndl, void *user_info)
{
	(void)hndl, (void)user_info;
	for (int i = 0; i < COUNT; i++)
		EXPECT(landing[i] == 3 * i);
	atomic_fetch_add(&arrived, 1);
}

static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	(void)hndl;
	EXPECT(*uhdr_len == sizeof heard && *msg_len == sizeof landing);
	memcpy(&heard, uhdr, sizeof heard);
	*completion = completion_handler;
	*user_info = NULL;
	return landing;
}

/* With LAPI's lock held, in whatever thread finds out. Had a member died, info would name it and
 * say why. */
static void send_completion_handler(lapi_handle_t *hndl, void *completion_param,
                                    lapi_sh_info_t *info)
{
	(void)hndl;
	EXPECT(info->reason == LAPI_SUCCESS);
	free(completion_param);
}

/* Every second task, from first on. */
static void send_to_every_second(lapi_handle_t hndl, int first, int num_tasks, const char *text)
{
	uint *members = calloc(num_tasks, sizeof *members), size = 0;
	struct message *message = calloc(1, sizeof *message);
	lapi_group_t group;
	lapi_xfer_t xfer;

	if (!members || !message)
		exit(2);
	for (int task = first; task < num_tasks; task += 2)
		members[size++] = task;
	for (int i = 0; i < COUNT; i++)
		message->data[i] = 3 * i;
	strcpy(message->word.text, text);
	CALL(LAPI_Group_create(hndl, size, members, &group));
	free(members); /* it was copied */
	memset(&xfer, 0, sizeof xfer);
	xfer.Mc.Xfer_type = LAPI_MC_XFER;
	xfer.Mc.group = group;
	xfer.Mc.hdr_hdl = HEADER_HANDLER;
	xfer.Mc.uhdr = &message->word;
	xfer.Mc.uhdr_len = sizeof message->word;
	xfer.Mc.udata = message->data;
	xfer.Mc.udata_len = sizeof message->data;
	xfer.Mc.shdlr = send_completion_handler;
	xfer.Mc.sinfo = message;
	CALL(LAPI_Xfer(hndl, &xfer));
	CALL(LAPI_Group_free(hndl, group)); /* what has begun goes on */
	sample_say("one call sent %d ints to %u tasks", COUNT, size);
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
	CALL(LAPI_Addr_set(hndl, (void *)header_handler, HEADER_HANDLER));

	if (task == 0) {
		send_to_every_second(hndl, 0, num_tasks, "even");
		if (num_tasks > 1)
			send_to_every_second(hndl, 1, num_tasks, "odd");
	}
	while (atomic_load(&arrived) == 0)
		CALL(LAPI_Probe(hndl));
	EXPECT(strcmp(heard.text, task % 2 ? "odd" : "even") == 0);
	sample_say("I am %s, says the message of task 0", heard.text);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
