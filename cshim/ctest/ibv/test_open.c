/*
 * test_open.c - which of a port's GIDs is an adapter's address: the one of RoCE v2, the first else,
 * and no look, of which each is a system call, once that is known.
 */
#include "ctest/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

enum { ENTRIES = 1024 };

/* The table, in which all other entries are empty. */
static struct {
	int at, v2;
} entries[3];

static int count, looks, link_layer, types_are_told;
static struct ibv_context context;
static struct ibv_device device;
static struct ibv_comp_channel completions;
static struct rdma_event_channel channel;
static struct rdma_cm_id bound;
static struct ibv_device_attr all_of_device;

static int query_gid(struct ibv_context *of, uint8_t port, int index, union ibv_gid *gid)
{
	int i;

	looks++;
	CHECK(index < ENTRIES && port == 1);
	memset(gid, 0, sizeof *gid);
	for (i = 0; i < count; i++)
		if (entries[i].at == index)
			memcpy(gid->raw + 10, "\xff\xff\x0a\x00\x00\x01", 6);
	return 0;
}

static int query_gid_ex(struct ibv_context *of, uint32_t port, uint32_t index,
                        struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int i;

	for (i = 0; i < count; i++)
		if (entries[i].at == (int)index)
			entry->gid_type =
				entries[i].v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

static int query_device(struct ibv_context *of, struct ibv_device_attr *attr)
{
	*attr = all_of_device;
	return 0;
}

static int query_port(struct ibv_context *of, uint8_t port, struct ibv_port_attr *attr)
{
	attr->gid_tbl_len = ENTRIES;
	attr->link_layer = (uint8_t)link_layer;
	return 0;
}

static const char *get_device_name(struct ibv_device *of)
{
	return "fake";
}

static struct rdma_event_channel *create_event_channel(void)
{
	return &channel;
}

static int create_id(struct rdma_event_channel *of, struct rdma_cm_id **id, void *own,
                     enum rdma_port_space space)
{
	*id = &bound;
	return 0;
}

static int bind_addr(struct rdma_cm_id *id, struct sockaddr *to)
{
	return 0;
}

static int destroy_id(struct rdma_cm_id *id)
{
	return 0;
}

static void destroy_event_channel(struct rdma_event_channel *of)
{
}

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *of)
{
	return &completions;
}

static int destroy_comp_channel(struct ibv_comp_channel *of)
{
	return 0;
}

/* Opens the adapter: its GID's place, or less than 0. */
static int place(void)
{
	const struct cshim_ibv_address address = {.family = 4, .ip = {10, 0, 0, 1}};
	struct cshim_ibv_info info;
	char why[CSHIM_IBV_WHY] = "";
	struct cshim_ibv *a;
	int found;

	looks = 0;
	ibv.query_gid_ex = types_are_told ? query_gid_ex : NULL;
	a = cshim_ibv_open_address("", "", &address, &info, why);
	if (!a) {
		CHECK(strcmp(why, strerror(EADDRNOTAVAIL)) == 0);
		return -1;
	}
	found = a->gid_index;
	cshim_ibv_close(a);
	return found;
}

/* The program has closed the socket of the kernel's announcements, and has one of its own by that
 * number: nothing is read from it, and it stays open. */
static void robbed_of_notices(void)
{
	struct cshim_ibv a = {.context = &context, .entry = 1};
	int files[2], own = open("/dev/null", O_RDONLY);
	char text[4];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, files) == 0 && write(files[1], "own", 4) == 4);
	ibv_know(&a.notices, own);
	a.notices.number = files[0];
	CHECK(ibv_is_removed(&a)); /* by its entry, which is not there */
	CHECK(recv(files[0], text, sizeof text, MSG_DONTWAIT) == 4 && memcmp(text, "own", 4) == 0);
	ibv_unwatch(&a);
	CHECK(fcntl(files[0], F_GETFD) >= 0 && a.notices.number == -1);
	close(own);
	close(files[0]);
	close(files[1]);
}

static int taken, closed;

static int get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
	taken++;
	return -1;
}

static int get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **cq, void **own)
{
	taken++;
	return -1;
}

static int get_cm_event(struct rdma_event_channel *of, struct rdma_cm_event **event)
{
	taken++;
	return -1;
}

static int count_close(struct ibv_comp_channel *of)
{
	return ++closed;
}

static void count_close_of_cm(struct rdma_event_channel *of)
{
	closed++;
}

static void look_for_events(struct cshim_ibv *a)
{
	struct cshim_ibv_cm_event connection;
	struct cshim_ibv_event event;

	cshim_ibv_event(a, &event);
	cshim_ibv_cm_event(a, &connection);
	CHECK(cshim_ibv_armed(a) == 0);
}

/* The same of the adapter's own files: from another in their place nothing is taken, and it is not
 * closed. */
static void robbed_of_files(void)
{
	const struct cshim_ibv_address address = {.family = 4, .ip = {10, 0, 0, 1}};
	struct cshim_ibv_info info;
	char why[CSHIM_IBV_WHY] = "";
	int files[2], others[2];
	struct cshim_ibv *a;

	ibv.get_async_event = get_async_event;
	ibv.get_cq_event = get_cq_event;
	rdma.get_cm_event = get_cm_event;
	ibv.destroy_comp_channel = count_close;
	rdma.destroy_event_channel = count_close_of_cm;
	CHECK(pipe(files) == 0 && pipe(others) == 0);
	context.async_fd = context.cmd_fd = completions.fd = channel.fd = files[0];
	a = cshim_ibv_open_address("", "", &address, &info, why);
	CHECK(a);
	look_for_events(a);
	CHECK(taken == 0); /* nothing is there */
	CHECK(write(files[1], "x", 1) == 1 && write(others[1], "x", 1) == 1);
	look_for_events(a);
	CHECK(taken == 3);
	CHECK(dup2(others[0], files[0]) == files[0]);
	look_for_events(a);
	CHECK(taken == 3);
	cshim_ibv_close(a);
	CHECK(closed == 0);
	for (int i = 0; i < 2; i++) {
		close(files[i]);
		close(others[i]);
	}
}

void test_rdma_open(void)
{
	int files[2];

	CHECK(pipe(files) == 0);
	context.async_fd = completions.fd = channel.fd = files[0];
	context.device = &device;
	bound.verbs = &context;
	bound.port_num = 1;
	ibv.query_gid = query_gid;
	ibv.query_device = query_device;
	ibv.query_port = query_port;
	ibv.get_device_name = get_device_name;
	ibv.create_comp_channel = create_comp_channel;
	ibv.destroy_comp_channel = destroy_comp_channel;
	rdma.create_event_channel = create_event_channel;
	rdma.create_id = create_id;
	rdma.bind_addr = bind_addr;
	rdma.destroy_id = destroy_id;
	rdma.destroy_event_channel = destroy_event_channel;

	link_layer = IBV_LINK_LAYER_ETHERNET;
	types_are_told = 1;
	entries[0].at = 3;
	entries[1].at = 5;
	entries[1].v2 = 1;
	entries[2].at = 700;
	entries[2].v2 = 1;
	count = 3;
	CHECK(place() == 5 && looks <= 5 + 2);
	CHECK(fcntl(files[0], F_GETFL) & O_NONBLOCK);
	count = 1; /* there is no v2, and nobody knows that before the end */
	CHECK(place() == 3 && looks >= ENTRIES);
	types_are_told = 0; /* an older library */
	CHECK(place() == 3 && looks <= 3 + 2);
	count = 0;
	CHECK(place() == -1);
	link_layer = IBV_LINK_LAYER_INFINIBAND;
	CHECK(place() == 0);
	robbed_of_notices();
	robbed_of_files();
	close(files[0]);
	close(files[1]);
}
