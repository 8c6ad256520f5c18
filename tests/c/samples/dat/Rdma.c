/*
 * Rdma.c - RDMA: the client works on the server's memory, whose program only watches.
 *
 * The server tells where its memory is, in the private data with which it accepts. The client reads
 * a block of numbers there, doubles them, and writes them back. The server looks at the last byte,
 * which is written last, and knows that all is there. At last the client writes one byte behind the
 * memory: that is refused, and ends the connection.
 */
#include "dat_sample.h"

enum { NUMBERS = 1 << 16, SIZE = NUMBERS * sizeof(uint32_t) };

/* The last byte is a flag; in front of it a block, so that a write can end with it. */
static struct shared {
	uint32_t numbers[NUMBERS];
	char words[15];
	volatile char last;
} shared;

static DAT_RMR_TRIPLET theirs;
static DAT_EP_HANDLE ep;

static void serve(void)
{
	for (uint32_t i = 0; i < NUMBERS; i++)
		shared.numbers[i] = i;
	side_memory(&shared, sizeof shared, &theirs);
	side_listen();
	side_connect(ep, &theirs, sizeof theirs);
	while (shared.last == 0) /* no call of uDAPL, and the write arrives */
		usleep(100);
	side_say("\"%s\": the last number is %u", shared.words, shared.numbers[NUMBERS - 1]);
	for (uint32_t i = 0; i < NUMBERS; i++)
		if (shared.numbers[i] != 2 * i) {
			side_expect(0, "all numbers were doubled", __FILE__, __LINE__);
			break;
		}
}

/* Has the next completion, which must be good, and of this operation. */
static void completed(DAT_DTOS operation, size_t length)
{
	DAT_EVENT event = side_done(DAT_DTO_COMPLETION_EVENT, 1);

	EXPECT(event.event_data.dto_completion_event_data.operation == operation);
	EXPECT(event.event_data.dto_completion_event_data.transfered_length == length);
}

static void work(void)
{
	DAT_LMR_TRIPLET mine = side_memory(&shared, sizeof shared, NULL), part;
	DAT_RMR_TRIPLET there;
	DAT_EVENT event;

	side_connect(ep, &theirs, sizeof theirs);
	part = mine;
	part.segment_length = SIZE;
	CALL(dat_ep_post_rdma_read(ep, 1, &part, side_cookie(1), &theirs,
	                           DAT_COMPLETION_DEFAULT_FLAG));
	completed(DAT_DTO_RDMA_READ, SIZE);
	side_say("read %d numbers, the last is %u", NUMBERS, shared.numbers[NUMBERS - 1]);
	EXPECT(shared.numbers[NUMBERS - 1] == NUMBERS - 1);
	for (int i = 0; i < NUMBERS; i++)
		shared.numbers[i] *= 2;
	strcpy(shared.words, "all is there");
	shared.last = 1;
	/* Gathered out of two segments; the last byte comes last. */
	DAT_LMR_TRIPLET two[2] = {part, mine};
	two[1].virtual_address += SIZE;
	two[1].segment_length = sizeof shared - SIZE;
	CALL(dat_ep_post_rdma_write(ep, 2, two, side_cookie(1), &theirs,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	completed(DAT_DTO_RDMA_WRITE, sizeof shared);

	there = theirs;
	there.virtual_address += sizeof shared;
	mine.segment_length = 1;
	CALL(dat_ep_post_rdma_write(ep, 1, &mine, side_cookie(3), &there,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	event = side_event(done_evd, DAT_DTO_COMPLETION_EVENT);
	EXPECT(event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_REMOTE_ACCESS);
	side_say("a byte behind it: status %d", event.event_data.dto_completion_event_data.status);
}

int main(int argc, char **argv)
{
	side_begin(argc, argv);
	side_open();
	CALL(dat_ep_create(adapter, zone, done_evd, done_evd, connect_evd, NULL, &ep));
	if (side_host)
		work();
	else
		serve();
	side_event(connect_evd, DAT_CONNECTION_EVENT_BROKEN);
	CALL(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG));
	return side_end();
}
