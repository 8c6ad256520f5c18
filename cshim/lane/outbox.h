/*
 * outbox.h - the outbox of a task that is reached over UDP: the rest of the open packet of
 * its peer (docs/dev/sockets.md), reserved by core so that small puts join it without a call into Go.
 * Private to the library.
 *
 * Under the context lock only. While a box is reserved nothing else touches that packet: every
 * entry into core commits all boxes before it does anything else. Made by core, off the Go heap;
 * fixed widths, addresses as integers.
 */
#ifndef CSHIM_OUTBOX_H
#define CSHIM_OUTBOX_H

#include <stdint.h>

typedef struct cshim_outbox {
	/*
	 * address: the packet's end. Offsets in the packet are multiples of 8 where addresses are
	 */
	uint64_t at;
	uint64_t end;  /* the packet may end before it */
	uint32_t room; /* how many messages may join; 0: not reserved, or full: core shall do it */
	uint32_t messages;    /* that have joined since it was reserved */
	uint32_t data;        /* user bytes of these */
	uint32_t completions; /* how many of them name a completion counter */
} cshim_outbox;

/* The values common to all; a cshim_outbox for each task follows. */
typedef struct cshim_outboxes {
	uint32_t most;   /* longest data of a message that may join, bytes */
	uint32_t random; /* 0, or the state of the coin of LAPI_FASTLANE=random */
} cshim_outboxes;

/* In front of each message in a packet: transport/udp/wire. Then its header, and its data. */
typedef struct cshim_packet_message {
	uint8_t kind; /* CSHIM_MSG_ */
	uint8_t zero;
	uint16_t header; /* bytes */
	uint32_t data;   /* bytes */
} cshim_packet_message;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_outbox) == 32 && sizeof(cshim_outboxes) == 8 &&
                       sizeof(cshim_packet_message) == 8,
               "no holes");
#endif

#endif
