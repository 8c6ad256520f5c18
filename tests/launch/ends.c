/*
 * ends.c - ways in which tasks of a launched job begin and end, a letter each:
 *
 *   L LAPI_Init and LAPI_Gfence   l LAPI_Gfence and LAPI_Term   B a barrier of LAPI
 *   M MPI_Init   m MPI_Finalize   b MPI_Barrier                 (with -DWITH_MPI)
 *   x task 1 exits with status 21, the others wait
 *   X all exit with status 21, also those that the launcher tells to end since another one has
 *   k task 1 is killed, the others wait
 *   d each task is killed when it knows the ends of all tasks before it; the last one has
 *     LAPI_Term. Its launcher must let them live.
 *   a task 1 fails without an error handler, so LAPI ends it; the others wait
 *   t the odd tasks have LAPI_Term, the others do without
 *   w all say "task N waits", and wait to be killed
 *
 * usage: ends LETTERS. Each task that comes to the end says "end of LETTERS".
 */
#include <lapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { MOST_TASKS = 64 };

static lapi_handle_t handle;
static int task, tasks;
static int heard[MOST_TASKS]; /* by task: how often its end was reported */
static int deaths_are_news;

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "ends: %s: %s\n", what, text);
	exit(99);
}

static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *here, int *whose)
{
	(void)hndl, (void)type, (void)here;
	if (*code != LAPI_ERR_NO_CONNECTIVITY || *whose < 0 || *whose >= MOST_TASKS)
		must(*code, "on_error");
	(void)__atomic_add_fetch(&heard[*whose], 1, __ATOMIC_RELAXED);
}

static void die_in_turn(void)
{
	int other;

	for (other = 0; other < task; other++)
		while (__atomic_load_n(&heard[other], __ATOMIC_RELAXED) == 0) {
			must(LAPI_Probe(handle), "LAPI_Probe");
			(void)usleep(1000);
		}
	if (task < tasks - 1)
		raise(SIGKILL);
	must(LAPI_Term(handle), "LAPI_Term");
	for (other = 0; other < task; other++)
		if (heard[other] != 1) {
			fprintf(stderr, "ends: the end of task %d was told %d times\n", other, heard[other]);
			exit(97);
		}
}

/* Puts to memory of this task that nobody may touch. */
static void put_nowhere(void)
{
	static char data[64];
	void *nowhere = mmap(NULL, sizeof(data), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(LAPI_Put(handle, (uint)task, sizeof(data), nowhere, data, NULL, NULL, NULL), "LAPI_Put");
}

static void begin(void)
{
	lapi_info_t info;
	int code;

	memset(&info, 0, sizeof(info));
	if (deaths_are_news)
		info.err_hndlr = on_error;
	must(LAPI_Init(&handle, &info), "LAPI_Init");
	must(LAPI_Qenv(handle, TASK_ID, &task), "LAPI_Qenv");
	must(LAPI_Qenv(handle, NUM_TASKS, &tasks), "LAPI_Qenv");
	code = LAPI_Gfence(handle);
	if (!deaths_are_news) /* else task 0 may be gone by now */
		must(code, "LAPI_Gfence");
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
	case 'd':
		die_in_turn();
		break;
	case 'X':
		exit(21);
	case 'w':
		printf("task %d waits\n", task);
		fflush(stdout);
		sleep(300);
		break;
	case 't':
		if (task % 2)
			must(LAPI_Term(handle), "LAPI_Term");
		break;
	case 'a':
	case 'x':
	case 'k':
		if (task == 1 && letter == 'a')
			put_nowhere();
		if (task == 1 && letter == 'x') {
			printf("task 1 gives up\n");
			exit(21);
		}
		if (task == 1 && letter == 'k')
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

	deaths_are_news = argc > 1 && strchr(argv[1], 'd') != NULL;
	if (deaths_are_news)
		(void)signal(SIGUSR1, SIG_IGN); /* by which mpiexec.hydra reports ends */
	if (argc > 1 && strchr(argv[1], 'X') != NULL)
		(void)signal(SIGTERM, SIG_IGN); /* else the status of the last may be the signal's */
	for (letter = argc > 1 ? argv[1] : ""; *letter; letter++)
		step(*letter);
	printf("end of %s\n", argc > 1 ? argv[1] : "");
	return 0;
}
