/*
 * raw.c - raw limits between the two tasks of a pair: messages through cache lines of shared
 * memory, process_vm_readv, datagrams of plain sockets. A limit that cannot be opened is left out.
 */
#define _GNU_SOURCE
#include "perf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* One side writes a line, the other polls it: 128 bytes apart, as lines are fetched in pairs. */
typedef struct board {
	uint64_t magic;
	char pad[120];
	struct {
		uint64_t turn;
		char pad[120];
		char data[RAW_LINE_MAX];
	} side[2];
} board;

static uint64_t magic;
static board *lines;
static int side, udp = -1;
/* Where data go: LAPI's are in the row's own buffer, to be checked. */
static char *taken;
static uint64_t turn;

/* The first IPv4 address of a network, or of this host alone. */
static struct in_addr address(void)
{
	struct in_addr found = {htonl(INADDR_LOOPBACK)};
	struct ifaddrs *all = NULL, *i;

	if (getifaddrs(&all) != 0)
		return found;
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP) ||
		    i->ifa_flags & IFF_LOOPBACK)
			continue;
		found = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
		break;
	}
	freeifaddrs(all);
	return found;
}

static void open_socket(hello *own)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t n = sizeof any;

	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (udp < 0 || bind(udp, (struct sockaddr *)&any, sizeof any) != 0 ||
	    getsockname(udp, (struct sockaddr *)&any, &n) != 0)
		return;
	own->host = any;
	own->host.sin_addr = address();
}

static void open_lines(hello *own)
{
	void *at;

	own->memory = memfd_create("lapi_perf", MFD_CLOEXEC);
	if (own->memory < 0 || ftruncate(own->memory, sizeof(board)) != 0)
		return;
	at = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, own->memory, 0);
	if (at == MAP_FAILED)
		return;
	lines = at;
	lines->magic = magic;
}

void raw_hello(hello *own, char *buffer)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f && !fgets(own->boot, sizeof own->boot, f))
		own->boot[0] = 0;
	if (f)
		fclose(f);
	sched_getaffinity(0, sizeof own->processors, &own->processors);
	if (getrandom(&magic, sizeof magic, 0) != sizeof magic)
		magic = 0;
	own->pid = getpid();
	own->magic = magic;
	own->magic_at = &magic;
	own->memory = -1;
	taken = buffer;
	open_lines(own);
	open_socket(own);
}

/* Maps the origin's lines. The process of that number may be another one, in a container: then the
 * magic number differs. */
static int map_lines(const hello *peer)
{
	char name[64];
	board *its;
	int fd;

	snprintf(name, sizeof name, "/proc/%lld/fd/%d", (long long)peer->pid, peer->memory);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	its = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (its == MAP_FAILED)
		return 0;
	if (its->magic != peer->magic) {
		munmap(its, sizeof(board));
		return 0;
	}
	lines = its;
	return 1;
}

static int read_peer(const hello *peer, const void *from, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};

	return process_vm_readv((pid_t)peer->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

int raw_open(task *t)
{
	const hello *own = &t->mine->own, *peer = &t->mine->peer;
	struct sockaddr_in to = peer->host;
	int one_host = own->boot[0] && strcmp(own->boot, peer->boot) == 0, can = 0;
	uint64_t seen = 0;

	side = t->id > t->peer;
	if (one_host && peer->magic && (side == 0 ? lines != NULL : map_lines(peer)))
		can |= RAW_LINES;
	if (one_host && read_peer(peer, peer->magic_at, &seen, sizeof seen) && seen == peer->magic)
		can |= RAW_COPY;
	if (one_host)
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (udp >= 0 && own->host.sin_port && to.sin_port &&
	    connect(udp, (struct sockaddr *)&to, sizeof to) == 0)
		can |= RAW_UDP;
	return can;
}

/* Between two looks at what the peer has yet to do: 0 when it has taken too long. */
static int patience(uint64_t looks, double *until, double seconds)
{
	if ((looks & 1023) != 0) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
		return 1;
	}
	sched_yield();
	if (*until == 0)
		*until = now() + seconds;
	return now() < *until;
}

static int line_arrives(task *t)
{
	const uint64_t *theirs = &lines->side[!side].turn;
	double until = 0;

	for (uint64_t i = 1; __atomic_load_n(theirs, __ATOMIC_ACQUIRE) < turn; i++)
		if (!patience(i, &until, 60)) {
			t->raw &= ~RAW_LINES; /* the two are out of step */
			return 0;
		}
	return 1;
}

int raw_lines(task *t, uint64_t size, uint64_t count)
{
	const hello *own = &t->mine->own;

	for (; count > 0; count--) {
		turn++;
		if (side == 1 && !line_arrives(t))
			return 0;
		if (side == 1)
			memcpy(taken, lines->side[0].data, size);
		memcpy(lines->side[side].data, own->out, size);
		/* publishes the data to line_arrives */
		__atomic_store_n(&lines->side[side].turn, turn, __ATOMIC_RELEASE);
		if (side == 0 && !line_arrives(t))
			return 0;
		if (side == 0)
			memcpy(taken, lines->side[1].data, size);
	}
	return 1;
}

static int send_datagram(const char *from, uint64_t size)
{
	double until = 0;

	for (uint64_t i = 1; send(udp, from, size, 0) < 0; i++)
		if ((errno != EAGAIN && errno != ENOBUFS && errno != EINTR) ||
		    !patience(i, &until, 1))
			return 0;
	return 1;
}

static int receive_datagram(char *to, uint64_t size)
{
	double until = 0;
	ssize_t n;

	for (uint64_t i = 1; (n = recv(udp, to, size, 0)) < 0; i++)
		if ((errno != EAGAIN && errno != EINTR) || !patience(i, &until, 1))
			return 0;
	return (uint64_t)n == size;
}

int raw_datagrams(task *t, uint64_t size, uint64_t count)
{
	const hello *own = &t->mine->own;

	for (; udp >= 0 && count > 0; count--) {
		if ((side == 1 && !receive_datagram(taken, size)) ||
		    !send_datagram(own->out, size) ||
		    (side == 0 && !receive_datagram(taken, size))) {
			/* A late datagram must not be taken for an answer. */
			close(udp);
			udp = -1;
			t->raw &= ~RAW_UDP;
		}
	}
	return udp >= 0;
}

int raw_copies(task *t, uint64_t size, uint64_t count)
{
	for (; count > 0; count--)
		if (!read_peer(&t->mine->peer, t->mine->peer.out, taken, size))
			return 0;
	return 1;
}

void open_pair(task *t)
{
	if (t->opened)
		return;
	t->opened = 1;
	MUST(LAPI_Get(t->handle, (uint)t->peer, sizeof(hello), &t->of[t->peer]->own, &t->mine->peer,
	              NULL, &t->completed));
	await(t, &t->completed, 1);
	write_to(t, t->peer, &t->of[t->peer]->peer, &t->mine->own, sizeof(hello), NULL);
	t->raw = raw_open(t) & (int)(ask(t, t->peer, OPEN_RAW, 0, 0, 0) | RAW_COPY);
}
