/* waiting.c - see waiting.h. */
#include "progress/waiting.h"

static cshim_waiting table[CSHIM_WAITING_MOST];
static uint32_t without;      /* atomic */
static cshim_waiting nowhere; /* stands for a record where none was free */

#define GET(from, member) __atomic_load_n(&(from)->member, __ATOMIC_RELAXED)
#define SET(to, member, value) __atomic_store_n(&(to)->member, value, __ATOMIC_RELEASE)
#define READ(from, member) __atomic_load_n(&(from)->member, __ATOMIC_ACQUIRE)

/* A free record for thread tid: mostly its own of last time, which no other thread wants. */
static cshim_waiting *claim(uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < CSHIM_WAITING_MOST; i++) {
		cshim_waiting *record = &table[(tid + i) % CSHIM_WAITING_MOST];
		uint32_t free = 0;

		if (GET(record, tid) == 0 &&
		    __atomic_compare_exchange_n(&record->tid, &free, tid, 0, __ATOMIC_ACQUIRE,
		                                __ATOMIC_RELAXED))
			return record;
	}
	__atomic_add_fetch(&without, 1, __ATOMIC_RELAXED);
	return &nowhere;
}

cshim_waiting *cshim_waiting_begin(const cshim_progress *progress, const char *call,
                                   uint32_t shows, const void *object, int64_t wanted)
{
	cshim_waiting *record = claim(cshim_tid());
	uint32_t changes;

	if (record == &nowhere)
		return record;
	changes = GET(record, changes);
	/* Release: a reader that sees one of the members below sees changes odd or later. */
	__atomic_store_n(&record->changes, changes + 1, __ATOMIC_RELAXED);
	SET(record, shows, shows);
	SET(record, call, call);
	SET(record, progress, progress);
	SET(record, object, object);
	SET(record, wanted, wanted);
	SET(record, since_ns, cshim_now_ns());
	/* Release pairs with the acquire in cshim_waiting_read: the members are there. */
	__atomic_store_n(&record->changes, changes + 2, __ATOMIC_RELEASE);
	return record;
}

void cshim_waiting_end(cshim_waiting *record)
{
	if (!record)
		return;
	if (record == &nowhere) {
		__atomic_sub_fetch(&without, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&record->changes, GET(record, changes) + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&record->changes, GET(record, changes) + 1, __ATOMIC_RELEASE);
	/* Release pairs with the acquire in claim: the next thread's writes come later. */
	__atomic_store_n(&record->tid, 0, __ATOMIC_RELEASE);
}

int cshim_waiting_read(int i, cshim_waiting *copy)
{
	const cshim_waiting *record = &table[i];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		uint32_t changes = __atomic_load_n(&record->changes, __ATOMIC_ACQUIRE);

		copy->tid = READ(record, tid);
		copy->shows = READ(record, shows);
		copy->call = READ(record, call);
		copy->progress = READ(record, progress);
		copy->object = READ(record, object);
		copy->wanted = READ(record, wanted);
		copy->since_ns = READ(record, since_ns);
		/* Acquire: the look at changes below comes after the members' loads. */
		if (changes % 2 == 0 && changes == GET(record, changes))
			return copy->tid != 0 && copy->call != NULL;
	}
	return 0;
}

uint32_t cshim_waiting_without(void)
{
	return __atomic_load_n(&without, __ATOMIC_RELAXED);
}
