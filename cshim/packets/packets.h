/*
 * packets.h - packets over queue pairs, as C sends and takes them without Go (docs/dev/verbs.md).
 * Private to the library.
 *
 * The structs are transport/verbs' own: what it and C both read and write. They lie off the Go heap
 * where C uses them. All of it is touched under the owner's lock only, so C and Go need no order
 * between them. Fixed widths, addresses as integers.
 */
#ifndef CSHIM_VERBS_PACKETS_H
#define CSHIM_VERBS_PACKETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ibv/ibv.h"

#define VERBS_PORTS 8
#define VERBS_SLOT 4096 /* bytes of a slot: a packet */
#define VERBS_CHUNK 64  /* slots that were registered together */
#define VERBS_CHUNKS 1024
#define VERBS_BATCH 32 /* completions taken at a time */
#define VERBS_BACK 32  /* receive buffers that can wait to go back to the adapter */
#define VERBS_PAIRS 1024
#define VERBS_NEWS 64
/* packets that were made and are not known to be complete, of one peer */
#define VERBS_RING 48
#define VERBS_SIGNAL 8        /* every VERBS_SIGNAL-th packet makes a completion */
#define VERBS_WINDOW 32       /* packets that a peer may send ahead */
#define VERBS_HEADER_MAX 1024 /* bytes of a message's header */

/* The upper byte of a request's ID says what it was, as in transport/verbs/send.go. */
#define VERBS_ID_SHIFT 56
#define VERBS_ID_SEND 1u
#define VERBS_ID_RECEIVE 3u

#define VERBS_KIND_MESSAGE 1
#define VERBS_KIND_FLUSH 10   /* carries nothing but VERBS_ASKS */
#define VERBS_KIND_FLUSHED 11 /* its header is the mark: all packets before it were accepted */
#define VERBS_KIND_CREDIT 13
#define VERBS_KIND_MESSAGES 14 /* each behind a verbs_front, on a multiple of 8 */

/* In a packet's kind: its receiver is to answer when it has accepted it and all before it. */
#define VERBS_ASKS 0x80u

/*
 * Messages share a packet while at least VERBS_BUSY packets are not known to be taken: with fewer,
 * a message that goes at once arrives sooner. A stream of small puts takes half the packets that it
 * takes with 4.
 */
#define VERBS_BUSY 2
#define VERBS_JOIN_MAX 512 /* bytes of a message that may, with its front */

/* In front of each packet: transport/verbs/packet.go. */
typedef struct verbs_head {
	uint8_t kind, id;
	uint16_t header;
	uint32_t data;
	uint64_t number, credit;
} verbs_head;

/* In front of each of several messages in a packet. */
typedef struct verbs_front {
	uint8_t id, zero;
	uint16_t header; /* bytes */
	uint32_t data;   /* bytes */
} verbs_front;

/* A packet that was made. */
typedef struct verbs_sent {
	uint64_t number;
	uint32_t slot, n;
	uint32_t numbered, reserved;
} verbs_sent;

/*
 * The packets that were made and are not known to be complete, in the order of their numbers. Those
 * before posted are with the adapter.
 */
typedef struct verbs_ring {
	uint64_t done; /* packets that this queue pair has completed */
	int32_t head, count, posted;
	int32_t since; /* posted since the last that makes a completion */
	verbs_sent packets[VERBS_RING];
} verbs_ring;

/* The state of a peer, and of its queue pair for packets, that both use. */
typedef struct verbs_peer {
	/* Sending. */
	uint64_t number; /* of the next packet */
	uint64_t credit; /* the first number that may not be sent */
	/* behind the number of the last packet of a message or a copied put */
	uint64_t laden;
	/* Marks, as laden is one: the peer was asked for a flush of all packets before asked, and
	   has accepted those before flushed */
	uint64_t asked, flushed;
	/* Receiving. */
	uint64_t expected; /* number of the next packet */
	uint64_t granted;  /* the credit that was sent to the peer last */
	/* by C: the mark of a flush that the peer asks for, and that C has yet to answer; 0: none
	 */
	uint64_t wanted;
	/* by the link: what it may send ahead of that */
	uint32_t window;
	/* by the link: the queue pair is open, and works. By C: 0 after a post that failed */
	uint32_t usable;
	uint32_t waits;  /* by the link: something waits for room, so news are the link's */
	uint32_t closed; /* by the owner: messages wait for room in front, or the task is gone */
	uint32_t heard; /* by C: something has come, or was completed, that the link has yet to
	                   look at */
	uint32_t failed; /* by C: a post has */
	uint32_t listed; /* in verbs_link.news */
	int32_t task;
	/* by the link: messages that were refused wait, or flushes that the peer asks for */
	uint32_t held;
	uint32_t handling; /* messages whose handlers run, in threads that may let others in */
	uint32_t flushing; /* by the link: flushes of its own wait, so an answer is news */
	/* packets of messages since the latest fence of C's, and between that and the one before;
	   as many, if it was so twice: the last of them asks by itself */
	uint32_t since, last, burst;
	uint64_t qp;   /* address of the ibv_qp */
	uint64_t port; /* address of its verbs_port */
	/* the owner's (CSHIM_PEER_ of ../lane/lane.h); neither the link nor this header looks at it
	 */
	uint32_t owner[3];
	uint32_t life; /* by the link: counts how often all with the peer has ended */
	verbs_ring ring;
} verbs_peer;

/* Where the peer of a queue pair is; of two whose numbers meet here, one is the link's alone. */
typedef struct verbs_pair {
	uint64_t peer; /* address; 0: none */
	uint32_t qpn, reserved;
} verbs_pair;

/* Memory to receive into. */
typedef struct verbs_buffer {
	uint64_t id, addr;
	uint32_t lkey, reserved;
} verbs_buffer;

typedef struct verbs_port {
	uint64_t cq, srq; /* addresses of the ibv_cq and ibv_srq; 0: the link's alone */
	uint32_t index;
	uint32_t broken;     /* by C: the completion queue is */
	uint32_t max_inline; /* bytes; constant */
	int32_t receives; /* buffers of the shared receive queue, those that go back to it included
	                   */
	int32_t target;   /* by the link: how many there should be */
	int32_t together; /* by the link: how many go back in one call */
	int32_t room;     /* by the link: how many there could be */
	/* completions that were taken since the adapter had no more, and the most such since the
	   link looked: packets that had come at once */
	int32_t burst, most;
	/* completions that were taken and not looked at yet: [next, count) */
	int32_t next, count;
	int32_t num_back;
	/* of the packet of the next completion: bytes of several messages that C has taken */
	uint32_t taken;
	uint32_t kept; /* by the link: it has completions that come before those of the adapter */
	struct cshim_ibv_completion batch[VERBS_BATCH];
	verbs_buffer back[VERBS_BACK]; /* that go back together */
	verbs_pair pairs[VERBS_PAIRS]; /* by the number of the queue pair, modulo their number */
} verbs_port;

/* Slots that were registered together. */
typedef struct verbs_chunk {
	uint64_t memory;
	uint32_t lkey[VERBS_PORTS];
} verbs_chunk;

typedef struct verbs_link {
	uint64_t peer_of; /* address of a uint64_t for each task: its verbs_peer; 0: none */
	uint64_t tasks;
	uint64_t port[VERBS_PORTS]; /* addresses */
	uint32_t ports;
	uint32_t starved; /* by the link: somebody waits for a slot */
	int32_t sending;  /* slots with packets to send */
	int32_t limit_send;
	int32_t num_free;
	int32_t num_news;          /* more than VERBS_NEWS: all peers are to be asked */
	uint32_t news[VERBS_NEWS]; /* tasks whose peers have news for the link */
	uint64_t looks;            /* of C, since the link had a turn */
	/* by C, since the link had a turn: it is to have one, beside what completions say */
	uint32_t wants;
	int32_t used; /* by the link: slots from here on are not received into again */
	/*
	 * address of the verbs_peer whose last packet was not posted, as more messages may join it;
	 * 0: none. The link posts what it finds.
	 */
	uint64_t open;
	/* by C, since the link took them: transport.Stats */
	uint64_t packets_sent, packets_received, data_sent, data_received, acks_sent;
	verbs_chunk chunks[VERBS_CHUNKS];
	int32_t free[VERBS_CHUNK * VERBS_CHUNKS]; /* slots */
} verbs_link;

/* A packet that has come. */
typedef struct verbs_arrival {
	verbs_peer *peer;
	verbs_head head; /* without VERBS_ASKS */
	uint32_t asks;
	int32_t slot;
	uint64_t header; /* address; the data follows */
} verbs_arrival;

static inline verbs_port *verbs_port_at(const verbs_link *link, uint32_t i)
{
	return (verbs_port *)(uintptr_t)link->port[i];
}

static inline uint64_t verbs_slot_at(const verbs_link *link, int32_t slot)
{
	return link->chunks[slot / VERBS_CHUNK].memory +
	       (uint64_t)(slot % VERBS_CHUNK) * VERBS_SLOT;
}

static inline uint32_t verbs_key_of(const verbs_link *link, int32_t slot, const verbs_port *port)
{
	return link->chunks[slot / VERBS_CHUNK].lkey[port->index];
}

/* A task's peer; NULL: none that C may look at. */
static inline verbs_peer *verbs_peer_of(const verbs_link *link, uint32_t task)
{
	if (task >= link->tasks)
		return NULL;
	return (verbs_peer *)(uintptr_t)((const uint64_t *)(uintptr_t)link->peer_of)[task];
}

/* The link has to learn of news of peer. */
static inline void verbs_news(verbs_link *link, verbs_peer *peer)
{
	if (peer->listed)
		return;
	peer->listed = 1;
	if (link->num_news < VERBS_NEWS)
		link->news[link->num_news] = (uint32_t)peer->task;
	link->num_news++;
}

/* Notes that the adapter had found completions when it was asked for VERBS_BATCH. */
static inline void verbs_found(verbs_port *port, int found)
{
	port->burst += found;
	if (port->burst > port->most)
		port->most = port->burst;
	if (found < VERBS_BATCH)
		port->burst = 0;
}

/* 1 if the link is to give the adapter more buffers, as packets have come at once. */
static inline int verbs_crowded(const verbs_port *port)
{
	return port->target < port->room && port->most >= port->target / 2;
}

/* packets.c; 1 if a port has a completion, which it asks the adapter for if it has none left. */
int verbs_look(verbs_port *port);
/*
 * 1 if the next completion of a port is a message, or belongs to a flush, that has come in order
 * over a queue pair which is open, and from whose peer nothing is to be learnt but that: then
 * arrival has it.
 */
int verbs_examine(const verbs_link *link, verbs_port *port, verbs_arrival *arrival);
/* Takes it. Its slot is the caller's, for verbs_give_back. */
void verbs_take(verbs_link *link, verbs_port *port, const verbs_arrival *arrival);
/* The same with a packet of a flush, whose content it notes. 0: it is the link's. */
int verbs_take_flush(verbs_link *link, verbs_port *port, const verbs_arrival *arrival);
/* Answers a flush that the peer has asked for; the link does while it holds messages. */
void verbs_answer(verbs_link *link, verbs_peer *peer);
/* Asks the peer for a flush of all that was sent to it, if that is not so. 0: the link is to. */
int verbs_ask(verbs_link *link, verbs_peer *peer);
/* Tells the peer what it may send, if it is to learn of half a window and nothing else tells it. */
void verbs_grant(verbs_link *link, verbs_peer *peer);
/* A slot that was received into goes back to the adapter, or to the free ones. */
void verbs_give_back(verbs_link *link, verbs_port *port, int32_t slot);
/* Takes the next completion of a port, if it is that of packets sent. 0: it is not, or the link's.
 */
int verbs_sent_out(verbs_link *link, verbs_port *port);

/*
 * Where the header of a message to peer may be written, of n bytes with its data; NULL: it is the
 * link's, or there is no room. Nothing has happened until verbs_send, which must follow before
 * anything else.
 */
uint8_t *verbs_begin(verbs_link *link, verbs_peer *peer, uint64_t n);
/* Sends it. If the adapter refuses it, the link sends it again over another queue pair. */
void verbs_send(verbs_link *link, verbs_peer *peer, uint8_t id, uint32_t header, uint32_t data);
/*
 * Where a message of n bytes with its front may be written that shares a packet with others; NULL:
 * it is to go by itself. Nothing has happened until verbs_joined, which must follow before anything
 * else; data: bytes of its data.
 */
uint8_t *verbs_join(verbs_link *link, verbs_peer *peer, uint64_t n);
void verbs_joined(verbs_link *link, verbs_peer *peer, uint64_t n, uint32_t data);
/* Posts the packet that waits for more, if there is one. */
void verbs_flush_open(verbs_link *link);
static inline void verbs_flush(verbs_link *link)
{
	if (__builtin_expect(link->open != 0, 0))
		verbs_flush_open(link);
}

#ifndef __cplusplus
_Static_assert(sizeof(verbs_head) == 24 && sizeof(verbs_front) == 8 && sizeof(verbs_sent) == 24 &&
                       sizeof(verbs_pair) == 16 && sizeof(verbs_buffer) == 24 &&
                       sizeof(verbs_chunk) == 40 && sizeof(verbs_ring) % 8 == 0 &&
                       sizeof(verbs_peer) % 8 == 0 && sizeof(verbs_port) % 8 == 0,
               "no holes");
#endif

#endif
