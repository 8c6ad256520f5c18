/*
 * fake_rc.h - short ways to post to the two ends of fake_dat.h, to write to one of them what a peer
 * would not, and to see what has become of it.
 */
#ifndef CTEST_FAKE_RC_H
#define CTEST_FAKE_RC_H

#include "ctest/dat/fake_dat.h"

/* Opens both, connected, with memory of 3 and 9; direct 0: all goes by messages. */
void fake_rc_open(int direct);
/* A list of all the segments that there may be, some of them empty, with gaps; n bytes in all. */
void fake_rc_list(int side, uint64_t at, uint64_t n, DAT_LMR_TRIPLET list[FAKE_DAT_IOV]);
/* The bytes of a list behind one another. */
void fake_rc_gather(const DAT_LMR_TRIPLET list[FAKE_DAT_IOV], unsigned char *to);

/* A post: between the own memory at and the peer's at there, n bytes; 0: no segment. */
typedef struct fake_rc {
	int op;
	uint8_t flags;
	uint64_t cookie, at, there, n;
	uint32_t data, completion;
	uint32_t own, context; /* contexts; 0: those of all the memory */
	uint64_t operand, compare;
} fake_rc;

DAT_RETURN fake_rc_try(int side, const fake_rc *r);
void fake_rc_post(int side, fake_rc r); /* which must succeed */
void fake_rc_receive(int side, uint64_t cookie, uint64_t at, uint64_t n);
void fake_rc_receive_shared(int side, uint64_t cookie, uint64_t at, uint64_t n);
/* The only events of a side's requests, or receives, are those, in order. */
typedef struct fake_rc_event {
	uint64_t cookie;
	uint32_t status;
} fake_rc_event;
void fake_rc_events(int side, const dat_slot *evd, const fake_rc_event *events, uint32_t n);
#define REQUESTS_ARE(side, ...)                                                            \
	fake_rc_events(side, fake_dat[side].request, (const fake_rc_event[]){__VA_ARGS__}, \
	               sizeof((const fake_rc_event[]){__VA_ARGS__}) / sizeof(fake_rc_event))
#define RECEIVES_ARE(side, ...)                                                         \
	fake_rc_events(side, fake_dat[side].recv, (const fake_rc_event[]){__VA_ARGS__}, \
	               sizeof((const fake_rc_event[]){__VA_ARGS__}) / sizeof(fake_rc_event))

/* Both are over, for that reason, and posted requests are complete. */
void fake_rc_both_over(uint32_t how0, uint32_t how1);
/* The header of a message to the first about a request; sends one of that kind from the second. */
dat_header fake_rc_header(uint32_t seq);
void fake_rc_say(uint32_t kind, const dat_header *header, const void *data, uint64_t n);
/* Messages that the first has sent, and the second has not taken, as the second would see the next:
 * its kind, 0: there is none. It is taken out. */
uint32_t fake_rc_hear(dat_header *header);
/* One more connection between the two, which fake_rc_close_more flushes and closes. */
void fake_rc_open_more(dat_end *ends[2]);
void fake_rc_close_more(dat_end *ends[2]);

#endif
