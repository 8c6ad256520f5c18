/*
 * init_env.c - LAPI_Init and the environment: every return code that the environment can cause, and
 * the attributes that it sets. Each case is a fresh process, this program again with the argument
 * "child", started by hand (no launcher), with just the variables of the case.
 */
#define _GNU_SOURCE
#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

/* How the child gives LAPI_Init the UDP addresses: not at all, as a list, or by a handler. */
typedef enum method { WITHOUT, LIST, HANDLER, FAILING_HANDLER } method;

typedef struct init_case {
	const char *name;
	const char *variables[10]; /* after the common ones; "-NAME" removes one */
	method how;
	int code;            /* what LAPI_Init must return; -1: any error */
	const char *mention; /* must appear in what the library prints, NULL: nothing asked */
	int query, value;    /* after success: LAPI_Qenv of this must be that; query -1: none */
} init_case;

/* A file without a name, which children inherit. */
#define SETTINGS_FD 64
#define SETTINGS_FILE "/proc/self/fd/64"
static const char settings[] = "# a site\nMP_ACK_THRESH = 7\nLAPI_FASTLAN = on\n";

/* One task, alone, over UDP. */
static const char *const common[] = {"MP_MSG_API=lapi",
                                     "MP_CHILD=0",
                                     "MP_PROCS=1",
                                     "MP_PARTITION=4711",
                                     "MP_LAPI_INET_ADDR=@1:127.0.0.1,lo",
                                     NULL};

/* clang-format off */
static const init_case cases[] = {
	{"alone_with_a_list", {NULL}, LIST, 0, NULL, TASK_ID, 0},
	{"alone_with_a_handler", {NULL}, HANDLER, 0, NULL, NUM_TASKS, 1},
	{"misspelt_setting", {"LAPI_FASTLAN=off", NULL}, LIST, 0, "did you mean LAPI_FASTLANE?", -1, 0},
	{"other_prefix", {"MP_USE_SHM=yes", NULL}, LIST, 0, "did you mean LAPI_USE_SHM?", -1, 0},
	{"settings_file", {"LAPI_CONF=" SETTINGS_FILE, NULL}, LIST, 0,
	 "line 3: there is no setting \"LAPI_FASTLAN\"", ACK_THRESHOLD, 7},
	{"environment_over_file", {"LAPI_CONF=" SETTINGS_FILE, "MP_ACK_THRESH=9", NULL}, LIST, 0, NULL,
	 ACK_THRESHOLD, 9},
	{"settings_file_alone", {"-MP_MSG_API", "-MP_CHILD", "-MP_PROCS", "-MP_PARTITION",
	 "-MP_LAPI_INET_ADDR", "LAPI_CONF=" SETTINGS_FILE, NULL}, WITHOUT, LAPI_ERR_NO_ENV_VAR,
	 "lapirun", -1, 0},
	{"settings_file_missing", {"LAPI_CONF=/no/such/file", NULL}, LIST, 0,
	 "/no/such/file: its settings have no effect: no such file", -1, 0},
	{"no_variable_at_all", {"-MP_MSG_API", "-MP_CHILD", "-MP_PROCS", "-MP_PARTITION",
	 "-MP_LAPI_INET_ADDR", NULL}, WITHOUT, LAPI_ERR_NO_ENV_VAR, "lapirun", -1, 0},
	{"msg_api_missing", {"-MP_MSG_API", NULL}, LIST, LAPI_ERR_MSG_API, "MP_MSG_API", -1, 0},
	{"msg_api_mpi", {"MP_MSG_API=mpi", NULL}, LIST, LAPI_ERR_MSG_API, "MP_MSG_API", -1, 0},
	{"msg_api_unknown", {"MP_MSG_API=laip", NULL}, LIST, LAPI_ERR_MSG_API, "MP_MSG_API", -1, 0},
	{"msg_api_empty", {"MP_MSG_API=", NULL}, LIST, LAPI_ERR_MSG_API, "MP_MSG_API", -1, 0},
	{"msg_api_in_capitals", {"MP_MSG_API=LAPI", NULL}, LIST, 0, NULL, -1, 0},
	{"msg_api_lapi_and_mpi", {"MP_MSG_API=lapi,mpi", NULL}, LIST, 0, NULL, -1, 0},
	{"msg_api_mpi_and_lapi", {"MP_MSG_API=mpi,lapi", NULL}, LIST, 0, NULL, -1, 0},
	{"msg_api_shared", {"MP_MSG_API=mpi_lapi", NULL}, LIST, 0, NULL, -1, 0},
	{"both_network_strings", {"MP_LAPI_NETWORK=@1:164,sn0", NULL}, LIST,
	 LAPI_ERR_BOTH_NETSTR_SET, "MP_LAPI_NETWORK", -1, 0},
	{"user_space_is_ip", {"MP_EUILIB=us", "-MP_LAPI_INET_ADDR", "MP_INFOLEVEL=1",
	 "MP_LAPI_NETWORK=@1:164,sn0", NULL}, LIST, 0, "MP_EUILIB=us", -1, 0},
	{"user_space_only", {"MP_EUILIB=us", "LAPI_US=only", NULL}, LIST,
	 LAPI_ERR_CSS_LOAD_FAILED, "MP_EUILIB", -1, 0},
	{"euilib_in_capitals", {"MP_EUILIB=IP", NULL}, LIST, 0, NULL, -1, 0},
	{"euilib_unknown", {"MP_EUILIB=ib", NULL}, LIST, LAPI_ERR_CSS_LOAD_FAILED, "MP_EUILIB",
	 -1, 0},
	{"euilib_ip", {"MP_EUILIB=ip", NULL}, LIST, 0, NULL, -1, 0},
	{"no_network_string", {"-MP_LAPI_INET_ADDR", "MP_PROCS=2", NULL}, WITHOUT,
	 LAPI_ERR_NO_NETSTR_SET, "MP_LAPI_INET_ADDR", -1, 0},
	{"no_handler_and_no_list", {"MP_PROCS=2", NULL}, WITHOUT, LAPI_ERR_NO_UDP_HNDLR, NULL, -1,
	 0},
	{"handler_fails", {"MP_PROCS=2", NULL}, FAILING_HANDLER, LAPI_ERR_USER_UDP_HNDLR_FAIL, NULL,
	 -1, 0},
	{"packet_size_too_small", {"MP_UDP_PACKET_SIZE=1023", NULL}, LIST, LAPI_ERR_UDP_PKT_SZ,
	 "MP_UDP_PACKET_SIZE", -1, 0},
	{"packet_size_too_large", {"MP_UDP_PACKET_SIZE=65537", NULL}, LIST, LAPI_ERR_UDP_PKT_SZ,
	 "MP_UDP_PACKET_SIZE", -1, 0},
	{"packet_size_no_number", {"MP_UDP_PACKET_SIZE=8k", NULL}, LIST, LAPI_ERR_UDP_PKT_SZ,
	 "MP_UDP_PACKET_SIZE", -1, 0},
	{"loss_no_number", {"LAPI_UDP_LOSS=some", NULL}, LIST, LAPI_ERR_UNKNOWN, "LAPI_UDP_LOSS",
	 -1, 0},
	{"packet_size_smallest", {"MP_UDP_PACKET_SIZE=1024", NULL}, LIST, 0, NULL, -1, 0},
	{"packet_size_largest", {"MP_UDP_PACKET_SIZE=65536", NULL}, LIST, 0, NULL, -1, 0},
	{"common_tasks_not_all_with_only", {"LAPI_USE_SHM=only", "MP_PROCS=3",
	 "MP_COMMON_TASKS=1:1", NULL}, LIST, LAPI_ERR_SHM_SETUP, "LAPI_USE_SHM", -1, 0},
	{"use_shm_any_case", {"LAPI_USE_SHM=No", NULL}, LIST, 0, NULL, QUERY_SHM_ENABLED, 0},
	{"use_shm_unknown", {"LAPI_USE_SHM=maybe", NULL}, LIST, -1, "LAPI_USE_SHM", -1, 0},
	{"child_missing", {"-MP_CHILD", NULL}, LIST, -1, "MP_CHILD", -1, 0},
	{"child_no_number", {"MP_CHILD=zero", NULL}, LIST, -1, "MP_CHILD", -1, 0},
	{"child_negative", {"MP_CHILD=-1", NULL}, LIST, -1, "MP_CHILD", -1, 0},
	{"child_not_below_procs", {"MP_CHILD=1", NULL}, LIST, -1, "MP_CHILD", -1, 0},
	{"procs_missing", {"-MP_PROCS", NULL}, LIST, -1, "MP_PROCS", -1, 0},
	{"procs_zero", {"MP_PROCS=0", NULL}, LIST, -1, "MP_PROCS", -1, 0},
	{"inet_addr_malformed", {"MP_LAPI_INET_ADDR=127.0.0.1", NULL}, LIST, -1,
	 "MP_LAPI_INET_ADDR", -1, 0},
	{"inet_addr_too_few", {"MP_LAPI_INET_ADDR=@2:127.0.0.1,lo", NULL}, LIST, -1,
	 "MP_LAPI_INET_ADDR", -1, 0},
	{"common_tasks_malformed", {"LAPI_USE_SHM=yes", "MP_COMMON_TASKS=2:x", NULL}, LIST, -1,
	 "MP_COMMON_TASKS", -1, 0},
	{"ack_thresh_sets_attribute", {"MP_ACK_THRESH=7", NULL}, LIST, 0, NULL, ACK_THRESHOLD, 7},
	{"ack_thresh_31_acts_as_30", {"MP_ACK_THRESH=31", NULL}, LIST, 0, NULL, ACK_THRESHOLD, 30},
	{"rexmit_buf_size_sets_copy_size", {"MP_REXMIT_BUF_SIZE=4096", NULL}, LIST, 0, NULL,
	 BUF_CP_SIZE, 4096},
	{"rexmit_buf_size_small", {"MP_REXMIT_BUF_SIZE=64", NULL}, LIST, 0, NULL, REX_BUF_SZ, 64},
	{"rexmit_buf_cnt", {"MP_REXMIT_BUF_CNT=17", NULL}, LIST, 0, NULL, NUM_REX_BUFS, 17},
	{"polling_interval", {"MP_POLLING_INTERVAL=20000", NULL}, LIST, 0, NULL, -1, 0},
	{"retransmit_interval", {"MP_RETRANSMIT_INTERVAL=1000", NULL}, LIST, 0, NULL, -1, 0},
	{"bulk_min_msg_size", {"MP_BULK_MIN_MSG_SIZE=8192", NULL}, LIST, 0, NULL, BULK_MIN_MSG_SIZE,
	 8192},
	{"bulk_min_msg_size_with_a_unit", {"MP_BULK_MIN_MSG_SIZE=2M", NULL}, LIST, 0, NULL,
	 BULK_MIN_MSG_SIZE, 2 << 20},
	{"bulk_min_msg_size_unset", {NULL}, LIST, 0, NULL, BULK_MIN_MSG_SIZE, 150 * 1024},
	{"bulk_min_msg_size_too_small", {"MP_BULK_MIN_MSG_SIZE=4095", NULL}, LIST, 0,
	 "MP_BULK_MIN_MSG_SIZE=4095", BULK_MIN_MSG_SIZE, 4096},
	{"bulk_min_msg_size_too_large", {"MP_BULK_MIN_MSG_SIZE=4G", NULL}, LIST, 0,
	 "MP_BULK_MIN_MSG_SIZE=4G", BULK_MIN_MSG_SIZE, 2147483647},
	{"bulk_min_msg_size_negative", {"MP_BULK_MIN_MSG_SIZE=-8192", NULL}, LIST, 0,
	 "MP_BULK_MIN_MSG_SIZE", BULK_MIN_MSG_SIZE, 150 * 1024},
	{"bulk_min_msg_size_no_number", {"MP_BULK_MIN_MSG_SIZE=lots", NULL}, LIST, 0,
	 "MP_BULK_MIN_MSG_SIZE", BULK_MIN_MSG_SIZE, 150 * 1024},
	{"bulk_xfer_alone", {"MP_USE_BULK_XFER=yes", "MP_INFOLEVEL=1", NULL}, LIST, 0,
	 "MP_USE_BULK_XFER=yes has no effect", BULK_XFER, 0},
	{"bulk_xfer_unknown", {"MP_USE_BULK_XFER=perhaps", NULL}, LIST, 0, "MP_USE_BULK_XFER",
	 BULK_XFER, 0},
	{"debug_notimeout", {"MP_DEBUG_NOTIMEOUT=yes", NULL}, LIST, 0, NULL, -1, 0},
	{"version_at_infolevel_2", {"MP_INFOLEVEL=2", NULL}, LIST, 0, "LAPI", -1, 0},
	{"unauthenticated_job_says_so", {"MP_INFOLEVEL=1", NULL}, LIST, 0, NULL, -1, 0},
};
/* clang-format on */

/* ---- the child ---- */

static int give_addresses(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list,
                          lapi_udpinfo_t *info)
{
	uint i;
	(void)h, (void)local;
	for (i = 0; i < info->num_tasks; i++) {
		list[i].ip_addr = inet_addr("127.0.0.1");
		list[i].port_no = htons((unsigned short)(40000 + i));
	}
	return 0;
}

static int give_nothing(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *info)
{
	(void)h, (void)local, (void)list, (void)info;
	return 3;
}

/* Prints `code query-result` for the parent on descriptor 3. */
static int child(int how, int what)
{
	lapi_info_t info;
	lapi_extend_t extend;
	lapi_udp_t list[4];
	lapi_handle_t h;
	int i, code, value = -1;
	setlocale(LC_ALL, "");
	bzero(&extend, sizeof extend);
	host_info(&info);
	for (i = 0; i < 4; i++) {
		list[i].ip_addr = inet_addr("127.0.0.1");
		list[i].port_no = 0;
	}
	extend.udp_hndlr = how == HANDLER           ? give_addresses
	                   : how == FAILING_HANDLER ? give_nothing
	                                            : NULL;
	extend.add_udp_addrs = how == LIST ? list : NULL;
	extend.num_udp_addr =
		how == LIST ? (uint)atoi(getenv("MP_PROCS") ? getenv("MP_PROCS") : "1") : 0;
	if (how != WITHOUT)
		info.add_info = &extend;
	code = LAPI_Init(&h, &info);
	if (code == LAPI_SUCCESS) {
		host_use(h);
		if (what >= 0)
			HOST_OK(LAPI_Qenv(h, (lapi_query_t)what, &value));
		HOST_OK(LAPI_Term(h));
	}
	dprintf(3, "%d %d\n", code, value);
	return host_case_failures ? 9 : 0;
}

/* ---- the parent ---- */

static void set_variables(const char *const *list)
{
	char name[64];
	for (; *list; list++) {
		if (**list == '-')
			unsetenv(*list + 1);
		else {
			size_t n = strcspn(*list, "=");
			memcpy(name, *list, n);
			name[n] = 0;
			setenv(name, *list + n + 1, 1);
		}
	}
}

static void remove_lapi_variables(void)
{
	char name[128];
	int i = 0;
	while (environ[i]) {
		size_t n = strcspn(environ[i], "=");
		if (n < sizeof name &&
		    (strncmp(environ[i], "MP_", 3) == 0 || strncmp(environ[i], "LAPI_", 5) == 0)) {
			memcpy(name, environ[i], n);
			name[n] = 0;
			unsetenv(name);
		} else
			i++;
	}
}

/* Collects what the child writes to both pipes; 0 when it took more than 5 minutes. */
static int collect(int results, int messages, char *result, char *text, size_t room)
{
	size_t have[2] = {0, 0};
	char *into[2] = {result, text};
	struct pollfd fds[2] = {{results, POLLIN, 0}, {messages, POLLIN, 0}};
	int open_ends = 2, i;
	while (open_ends > 0) {
		if (poll(fds, 2, 300000) <= 0)
			return 0;
		for (i = 0; i < 2; i++) {
			ssize_t n;
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			n = read(fds[i].fd, into[i] + have[i], room - 1 - have[i]);
			if (n <= 0) {
				fds[i].fd = -1;
				open_ends--;
			} else
				have[i] += (size_t)n;
		}
	}
	result[have[0]] = text[have[1]] = 0;
	return 1;
}

static pid_t start_child(const init_case *c, int *results, int *messages)
{
	int result_pipe[2], text_pipe[2];
	char how[16], what[16];
	pid_t pid;
	if (pipe(result_pipe) != 0 || pipe(text_pipe) != 0)
		return -1;
	snprintf(how, sizeof how, "%d", (int)c->how);
	snprintf(what, sizeof what, "%d", c->query);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(text_pipe[1], 2);
		dup2(text_pipe[1], 1);
		dup2(result_pipe[1], 3);
		for (int fd = 4; fd < SETTINGS_FD; fd++)
			close(fd);
		set_variables(common);
		set_variables(c->variables);
		execl("/proc/self/exe", "init_env", "child", how, what, (char *)NULL);
		_exit(127);
	}
	close(result_pipe[1]);
	close(text_pipe[1]);
	*results = result_pipe[0];
	*messages = text_pipe[0];
	return pid;
}

static void run(const init_case *c)
{
	char result[8192] = "", text[8192] = "";
	int results, messages, status = 0, code = -2, value = -2;
	pid_t pid = start_child(c, &results, &messages);
	if (pid < 0) {
		perror("starting a child");
		host_case_failures++;
		return;
	}
	if (!collect(results, messages, result, text, sizeof result)) {
		fprintf(stderr, "HANG: the child did not end within 5 minutes\n");
		kill(pid, SIGKILL);
		host_case_failures++;
	}
	close(results);
	close(messages);
	waitpid(pid, &status, 0);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	HOST_CHECK(sscanf(result, "%d %d", &code, &value) == 2);
	if (c->code == -1)
		HOST_CHECK(code >= 400 && code <= 511);
	else if (code != c->code) {
		fprintf(stderr, "LAPI_Init returned %d, not %d\n", code, c->code);
		host_case_failures++;
	}
	if (c->mention)
		HOST_CHECK(strstr(text, c->mention) != NULL);
	if (c->query >= 0 && c->code == 0)
		HOST_CHECK(value == c->value);
	if (host_case_failures)
		fprintf(stderr, "  %s: code %d, value %d; it printed:\n%s\n", c->name, code, value,
		        text);
}

static int make_settings_file(void)
{
	int fd = memfd_create("settings", 0);

	return fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, settings, sizeof settings - 1) > 0 &&
	       dup2(fd, SETTINGS_FD) == SETTINGS_FD;
}

int main(int argc, char **argv)
{
	size_t i, k, count = sizeof cases / sizeof cases[0];
	if (argc == 4 && strcmp(argv[1], "child") == 0)
		return child(atoi(argv[2]), atoi(argv[3]));
	if (!make_settings_file()) {
		perror("the settings file");
		return 1;
	}
	remove_lapi_variables();
	for (i = 0; i < count; i++) {
		for (k = 1; k < (size_t)argc && strcmp(argv[k], cases[i].name) != 0; k++)
			;
		if (argc > 1 && k == (size_t)argc)
			continue;
		run(&cases[i]);
		host_end_case(cases[i].name, 0);
	}
	return host_close("init_env", 0);
}
