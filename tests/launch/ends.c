/*
 * ends.c - ways in which tasks of a launched job begin and end, a letter each:
 *
 *   L LAPI_Init and LAPI_Gfence   l LAPI_Gfence and LAPI_Term   B a barrier of LAPI
 *   M MPI_Init   m MPI_Finalize   b MPI_Barrier                 (with -DWITH_MPI)
 *   x task 1 exits with status 21, the others wait             X all exit with status 21
 *   k task 1 is killed, the others wait
 *   w all say "task N waits", and wait to be killed
 *
 * usage: ends LETTERS. Each task that comes to the end says "end of LETTERS".
 */
#include <lapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

static lapi_handle_t handle;
static int task;

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "ends: %s: %s\n", what, text);
	exit(99);
}

static void begin(void)
{
	lapi_info_t info;

	memset(&info, 0, sizeof(info));
	must(LAPI_Init(&handle, &info), "LAPI_Init");
	must(LAPI_Qenv(handle, TASK_ID, &task), "LAPI_Qenv");
	must(LAPI_Gfence(handle), "LAPI_Gfence");
}

static void step(char letter)
{
	switch (letter) {
	case 'L':
		begin();
		break;
	case 'l':
		must(LAPI_Gfence(handle), "LAPI_Gfence");
		must(LAPI_Term(handle), "LAPI_Term");
		break;
	case 'B':
		must(LAPI_Gfence(handle), "LAPI_Gfence");
		break;
	case 'X':
		exit(21);
	case 'w':
		printf("task %d waits\n", task);
		fflush(stdout);
		sleep(300);
		break;
	case 'x':
	case 'k':
		if (task == 1 && letter == 'x') {
			printf("task 1 gives up\n");
			exit(21);
		}
		if (task == 1)
			raise(SIGKILL);
		sleep(300); /* until the launcher ends it */
		break;
#ifdef WITH_MPI
	case 'M':
		MPI_Init(NULL, NULL);
		break;
	case 'b':
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case 'm':
		MPI_Finalize();
		break;
#endif
	default:
		fprintf(stderr, "ends: no letter %c\n", letter);
		_exit(98);
	}
}

int main(int argc, char **argv)
{
	const char *letter;

	for (letter = argc > 1 ? argv[1] : ""; *letter; letter++)
		step(*letter);
	printf("end of %s\n", argc > 1 ? argv[1] : "");
	return 0;
}
