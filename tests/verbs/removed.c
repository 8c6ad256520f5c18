/*
 * removed.c - the kernel's reports to a process that has an adapter open while `rdma link delete`
 * removes it, by libibverbs alone; with an address also by librdmacm.
 *
 * usage: removed ADAPTER [ADDRESS]
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 3 };

static pid_t removal;

static int waits(void)
{
	static int ended;

	ended = ended || waitpid(removal, NULL, WNOHANG) != 0;
	return !ended;
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

/* Prints the events of the next seconds; 1: the adapter was reported as gone. */
static int events(struct ibv_context *context, struct rdma_event_channel *channel)
{
	struct ibv_async_event event;
	struct rdma_cm_event *of_cm;
	int fatal = 0;

	for (int turn = 0; turn < PATIENCE_S; turn++) {
		struct pollfd files[] = {{.fd = context->async_fd, .events = POLLIN},
		                         {.fd = channel ? channel->fd : -1, .events = POLLIN}};

		if (poll(files, 2, 1000) < 0)
			return 0;
		if (files[0].revents && ibv_get_async_event(context, &event) == 0) {
			printf("event: %s\n", ibv_event_type_str(event.event_type));
			fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
			ibv_ack_async_event(&event);
		}
		if (files[1].revents && rdma_get_cm_event(channel, &of_cm) == 0) {
			printf("event: %s\n", rdma_event_str(of_cm->event));
			rdma_ack_cm_event(of_cm);
		}
	}
	return fatal;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct ibv_context *context = argc > 1 ? open_named(argv[1]) : NULL;
	struct rdma_event_channel *channel = NULL;
	struct rdma_cm_id *id;
	char entry[128];
	int fatal;

	if (!context)
		return 2;
	snprintf(entry, sizeof entry, "/sys/class/infiniband_verbs/%s", context->device->dev_name);
	if (argc > 2 && (inet_pton(AF_INET, argv[2], &at.sin_addr) != 1 ||
	                 !(channel = rdma_create_event_channel()) ||
	                 rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	                 rdma_bind_addr(id, (struct sockaddr *)&at)))
		return 2;
	printf("%s is %s\n", entry, access(entry, F_OK) ? "gone" : "there");
	fflush(stdout);
	if ((removal = fork()) == 0) {
		execlp("rdma", "rdma", "link", "delete", argv[1], NULL);
		_exit(1);
	}
	fatal = events(context, channel);
	printf("after %d s: DEVICE_FATAL %s; %s is %s; the removal %s\n", PATIENCE_S,
	       fatal ? "has come" : "has not come", entry, access(entry, F_OK) ? "gone" : "there",
	       waits() ? "waits" : "is done");
	if (fatal || !waits())
		return 1;
	if (channel)
		rdma_destroy_id(id);
	ibv_close_device(context);
	sleep(PATIENCE_S);
	printf("the removal waits for %s\n",
	       waits() ? "the end of the process" : "ibv_close_device");
	return 0;
}
