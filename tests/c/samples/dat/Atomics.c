/*
 * Atomics.c - atomic operations on the peer's memory: tickets and a lock.
 *
 * The server has two words: how many tickets were taken, and who holds a lock. The client takes
 * tickets with fetch-and-add over two connections at once, and the server takes some itself with an
 * atomic instruction, all in the same time: no ticket is given twice. Then the client takes the
 * lock with compare-and-swap, is refused as the server has it, and takes it when that has let go.
 */
#include <stddef.h>
#include "dat_sample.h"

enum { TICKETS = 400, CONNECTIONS = 2, OWN = 300, SERVER = 1, CLIENT = 2 };

static struct words {
	uint64_t taken, holder;
} words __attribute__((aligned(8)));

static DAT_RMR_TRIPLET theirs;
static DAT_EP_HANDLE eps[CONNECTIONS];

static void serve(void)
{
	char told;
	DAT_LMR_TRIPLET room = side_memory(&told, sizeof told, NULL);

	words.holder = SERVER;
	side_memory(&words, sizeof words, &theirs);
	CALL(dat_ep_post_recv(eps[0], 1, &room, side_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	side_listen();
	for (int i = 0; i < CONNECTIONS; i++)
		side_connect(eps[i], &theirs, sizeof theirs);
	for (int i = 0; i < OWN; i++) {
		__atomic_fetch_add(&words.taken, 1, __ATOMIC_SEQ_CST);
		usleep(10);
	}
	side_done(DAT_DTO_COMPLETION_EVENT, 1); /* the client has all its tickets, and no lock */
	side_say("%d tickets were taken, %d of them here", (int)words.taken, OWN);
	EXPECT(words.taken == OWN + CONNECTIONS * TICKETS);
	EXPECT(words.holder == SERVER);
	__atomic_store_n(&words.holder, 0, __ATOMIC_SEQ_CST);
}

static uint64_t before[CONNECTIONS];
static DAT_LMR_TRIPLET results[CONNECTIONS];

/* Takes a ticket over connection i. */
static void take(int i)
{
	CALL(dat_ib_post_fetch_and_add(eps[i], 1, &results[i], side_cookie((DAT_UINT64)i), &theirs,
	                               DAT_COMPLETION_DEFAULT_FLAG));
}

/* Tries to take the lock: who had it before. */
static uint64_t try_lock(void)
{
	DAT_RMR_TRIPLET holder = theirs;

	holder.virtual_address += offsetof(struct words, holder);
	CALL(dat_ib_post_cmp_and_swap(eps[0], 0, CLIENT, &results[0], side_cookie(7), &holder,
	                              DAT_COMPLETION_DEFAULT_FLAG));
	side_done(DAT_IB_DTO_EVENT, 7);
	return before[0];
}

static void work(void)
{
	static char seen[OWN + CONNECTIONS * TICKETS];
	uint64_t had;
	int tries = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		results[i] = side_memory(&before[i], sizeof before[i], NULL);
		side_connect(eps[i], &theirs, sizeof theirs);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		take(i);
	for (int n = 0; n < CONNECTIONS * TICKETS; n++) {
		DAT_EVENT event = side_event(done_evd, DAT_IB_DTO_EVENT);
		int i = (int)event.event_data.dto_completion_event_data.user_cookie.as_64;

		EXPECT(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
		EXPECT(before[i] < sizeof seen && !seen[before[i]]); /* nobody else has this one */
		if (before[i] < sizeof seen)
			seen[before[i]] = 1;
		if (n < CONNECTIONS * (TICKETS - 1))
			take(i);
	}
	side_say("took %d tickets over %d connections, no two of a number", CONNECTIONS * TICKETS,
	         CONNECTIONS);
	had = try_lock();
	EXPECT(had == SERVER);
	side_say("the lock: held by the %s", had == SERVER ? "server" : "wrong side");
	CALL(dat_ep_post_send(eps[0], 0, NULL, side_cookie(8), DAT_COMPLETION_SUPPRESS_FLAG));
	while ((had = try_lock()) != 0 && tries++ < 10000)
		usleep(1000);
	EXPECT(had == 0);
	side_say("the lock: taken");
}

int main(int argc, char **argv)
{
	side_begin(argc, argv);
	side_open();
	for (int i = 0; i < CONNECTIONS; i++)
		CALL(dat_ep_create(adapter, zone, done_evd, done_evd, connect_evd, NULL, &eps[i]));
	if (side_host)
		work();
	else
		serve();
	for (int i = 1; i < CONNECTIONS; i++) {
		if (side_host)
			CALL(dat_ep_disconnect(eps[i], DAT_CLOSE_GRACEFUL_FLAG));
		side_event(connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	side_finish(eps[0]);
	if (!side_host)
		EXPECT(words.holder == CLIENT);
	return side_end();
}
