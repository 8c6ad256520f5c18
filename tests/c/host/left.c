/*
 * left.c - operations on a task that has left the job by LAPI_Term, whether its process is still
 * there (argv[1]: stays) or not: each fails with LAPI_ERR_NO_CONNECTIVITY, the error handler is
 * called once, and no counter changes. argv[2] is the operation that comes first.
 */
#include "host.h"

#include <fcntl.h>
#include <time.h>

enum { LONG = 1 << 20 };

static lapi_handle_t handle;
static int task, heard, heard_type;
static char here[LONG], there[LONG];
static lapi_cntr_t counter;
static void *places[2];

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h;
	HOST_CHECK(*code == LAPI_ERR_NO_CONNECTIVITY && *own == 0 && *src == 1);
	heard_type = (int)*type;
	__atomic_add_fetch(&heard, 1, __ATOMIC_RELEASE);
}

/* Makes and waits for a file: LAPI itself is under test. */
static void note(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	HOST_CHECK(fd >= 0);
	close(fd);
}

static void await(const char *path)
{
	struct timespec pause = {0, 1000000};
	while (access(path, F_OK) != 0)
		nanosleep(&pause, NULL);
}

static int operate(char which)
{
	long long word = 1, previous;

	switch (which) {
	case 'p':
		return LAPI_Put(handle, 1, 8, places[1], here, NULL, NULL, &counter);
	case 'l': /* a long one */
		return LAPI_Put(handle, 1, LONG, places[1], here, NULL, &counter, NULL);
	case 'g':
		return LAPI_Get(handle, 1, 8, places[1], here, NULL, &counter);
	case 'r':
		return LAPI_Rmw64(handle, FETCH_AND_ADD, 1, places[1], &word, &previous, &counter);
	default:
		return LAPI_Amsend(handle, 1, (void *)1, NULL, 0, here, 8, NULL, &counter, NULL);
	}
}

static void operations(char first)
{
	const char *rest = "plgra";
	int value = -1;

	HOST_CODE(LAPI_ERR_NO_CONNECTIVITY, operate(first));
	while (__atomic_load_n(&heard, __ATOMIC_ACQUIRE) == 0)
		HOST_OK(LAPI_Probe(handle));
	HOST_CHECK(heard == 1);
	HOST_CHECK(heard_type == (first == 'g'   ? GET_ERR
	                          : first == 'r' ? RMW_ERR
	                          : first == 'a' ? AM_ERR
	                                         : PUT_ERR));
	for (; *rest; rest++)
		HOST_CODE(LAPI_ERR_NO_CONNECTIVITY, operate(*rest));
	HOST_OK(LAPI_Fence(handle)); /* nothing has begun that could be lost */
	HOST_OK(LAPI_Getcntr(handle, &counter, &value));
	HOST_CHECK(value == 0 && heard == 1);
}

int main(int argc, char **argv)
{
	int stays = argc > 1 && strcmp(argv[1], "stays") == 0;
	char first = argc > 2 ? argv[2][0] : 'p', gone[300], done[300];
	lapi_info_t info;

	snprintf(gone, sizeof(gone), HOST_FOLDER "/left-%s-gone", getenv("MP_PARTITION"));
	snprintf(done, sizeof(done), HOST_FOLDER "/left-%s-done", getenv("MP_PARTITION"));
	memset(&info, 0, sizeof info);
	info.err_hndlr = hear;
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Setcntr(handle, &counter, 0));
	HOST_OK(LAPI_Address_init(handle, there, places));
	HOST_OK(LAPI_Gfence(handle));
	if (task == 1) {
		HOST_OK(LAPI_Term(handle));
		note(gone);
		if (stays) {
			await(done);
			unlink(done);
		}
		return host_case_failures != 0;
	}
	await(gone);
	operations(first);
	if (stays)
		note(done);
	HOST_OK(LAPI_Term(handle));
	host_end_case("operations on a task that has left", 0);
	unlink(gone);
	return host_close("left", 0);
}
