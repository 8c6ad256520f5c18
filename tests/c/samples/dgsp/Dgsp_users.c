/*
 * Dgsp_users.c - the users of a data gather/scatter program (DGSP): it is registered once, and each
 * part of a program that keeps its handle reserves it. The last one to give it back frees it. Here
 * two parts use it in turn: both pack every other integer of an array.
 */
#include "sample.h"

enum { NUMBERS = 100 };

static int numbers[2 * NUMBERS]; /* the even ones are packed */

/* Four bytes, then on by the extent: the example of LAPI_Util in the guide. */
static struct code {
	lapi_dgsm_copy_t number;
	lapi_dgsm_iterate_t again;
} code = {
	{LAPI_DGSM_COPY, 4, 0},
	{LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE},
};

static lapi_dg_handle_t make_dgsp(lapi_handle_t hndl)
{
	lapi_dgsp_descr_t description;
	lapi_reg_dgsp_t command;

	memset(&description, 0, sizeof description);
	description.code = (int *)&code;
	description.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
	description.depth = 1;
	description.density = LAPI_DGSM_SPARSE;
	description.size = 4;
	description.extent = 8;
	description.lext = 0;
	description.rext = 4;
	memset(&command, 0, sizeof command);
	command.Util_type = LAPI_REGISTER_DGSP;
	command.idgsp = &description;
	CALL(LAPI_Util(hndl, (lapi_util_t *)&command));
	return command.dgsp_handle;
}

/* Another user: the DGSP stays until each has given it back. */
static void reserve(lapi_handle_t hndl, lapi_dg_handle_t dgsp)
{
	lapi_resv_dgsp_t command;

	memset(&command, 0, sizeof command);
	command.Util_type = LAPI_RESERVE_DGSP;
	command.dgsp_handle = dgsp;
	CALL(LAPI_Util(hndl, (lapi_util_t *)&command));
}

static int unreserve(lapi_handle_t hndl, lapi_dg_handle_t dgsp)
{
	lapi_dref_dgsp_t command;

	memset(&command, 0, sizeof command);
	command.Util_type = LAPI_UNRESERVE_DGSP;
	command.dgsp_handle = dgsp;
	return LAPI_Util(hndl, (lapi_util_t *)&command);
}

/* One part of the program: packs with the DGSP that it was given, and checks what came of it. */
static int pack(lapi_handle_t hndl, lapi_dg_handle_t dgsp)
{
	int packed[NUMBERS], sum = 0;
	lapi_pack_dgsp_t command;

	memset(&command, 0, sizeof command);
	command.Util_type = LAPI_DGSP_PACK;
	command.dgsp = dgsp;
	command.in_buf = numbers;
	command.bytes = sizeof packed;
	command.out_buf = packed;
	command.out_size = sizeof packed;
	CALL(LAPI_Util(hndl, (lapi_util_t *)&command));
	EXPECT(command.position == sizeof packed);
	for (int i = 0; i < NUMBERS; i++) {
		EXPECT(packed[i] == 2 * i);
		sum += packed[i];
	}
	return sum;
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_dg_handle_t dgsp;
	int task, first, second;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	sample_begin(task);
	for (int i = 0; i < 2 * NUMBERS; i++)
		numbers[i] = i;

	dgsp = make_dgsp(hndl); /* the first part's */
	reserve(hndl, dgsp);    /* the second part keeps it, too */
	first = pack(hndl, dgsp);
	EXPECT(unreserve(hndl, dgsp) == LAPI_SUCCESS);
	second = pack(hndl, dgsp);
	EXPECT(unreserve(hndl, dgsp) == LAPI_SUCCESS);
	EXPECT(unreserve(hndl, dgsp) == LAPI_ERR_DGSP_FREE); /* no user is left */
	EXPECT(first == second);
	sample_say("packed twice, the second time after one of two users was gone: %d", second);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
