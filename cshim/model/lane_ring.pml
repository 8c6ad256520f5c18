/*
 * lane_ring.pml - a ring of the fast lane (cshim/node/segment.h, send.h, send.c, receive.h): a
 * sender appends MESSAGES messages of 1 to LONGEST slots, with padding at the ring's end, and may
 * give one up half written (a bad address); a receiver takes them, and publishes what it consumed
 * when it likes. With -DKILL the sender stops for ever after any step.
 *
 * The inside of a message looks like the head word that the receiver will expect in that slot a
 * round later, the worst there is. Sequences repeat after SEQUENCES slots, in the code after 2^31.
 *
 * Found (assertions, deadlocks): a message that is torn, comes twice, out of order or not at all; a
 * slot written while it is read; a sender that waits for room for ever.
 *
 * Fewer states: NO_TWOS: only the shortest and the longest messages; GIVES_NONE_UP; EAGER: consumed
 * is published after each message. -DWEAK also delays the receiver's loads of a message, to
 * anywhere before its next release.
 *
 * Defects: NO_CLEAR, CLEAR_LATE: continuations are not cleared, or after the message in front is
 * visible. HEAD_FIRST: the head word before the message. EARLY_CONSUMED: consumed before the
 * message was read. CROWDED: room for one slot too many. SKIPPED_KEPT: slots that padding skips
 * keep the head words of earlier rounds (found if sequences repeat soon). WEAK only: HEAD_RELAXED,
 * CONSUMED_RELAXED: stores without release. LOAD_RELAXED: the head word's load without acquire.
 */
#ifndef SLOTS
#define SLOTS 4
#endif
#ifndef LONGEST
#define LONGEST 2
#endif
#ifndef MESSAGES
#define MESSAGES 5
#endif
#ifndef SEQUENCES
#define SEQUENCES (4 * SLOTS)
#endif

#ifndef GIVES_NONE_UP
#define GIVES_NONE_UP false
#endif

#define PROCESSORS 2
#define SENDER 0
#define RECEIVER 1

#define HEAD_AT(index) ((index) % SLOTS)         /* a slot's head word; the inside of a longer message */
#define BODY_AT(index) (SLOTS + (index) % SLOTS) /* what is behind a head word */
#define CONSUMED (2 * SLOTS)
#define CELLS (2 * SLOTS + 1)
#define SOME_EARLY(t) 1
#define EARLY(t, where) (t == SENDER && where == CONSUMED || t == RECEIVER && where != CONSUMED)
#include "lane_memory.pml"

/* slots 0: padding */
#define WORD(index, slots) (1 + ((index) % SEQUENCES) * (LONGEST + 1) + slots)
#define IS_AT(word, index) (word >= WORD(index, 0) && word <= WORD(index, LONGEST))
#define SLOTS_OF(word) ((word - 1) % (LONGEST + 1))
#define BODY(message) (100 + message)
#define INSIDE(index) WORD((index) + SLOTS, 1)

/* What is true, for the assertions. */
byte length[MESSAGES + 1];
byte published, got;
#ifdef WEAK
byte expected[2 * SLOTS]; /* loads that the receiver has yet to do, and what they must find */
byte delayed;
#endif
bool dead;

inline clear(index) {
	if
	:: continued[(index) % SLOTS] ->
		continued[(index) % SLOTS] = false;
#ifndef NO_CLEAR
		store(HEAD_AT(index), 0)
#endif
	:: else
	fi
}

#ifdef HEAD_RELAXED
#define RELEASES 0
#else
#define RELEASES 1
#endif

#ifdef CROWDED
#define ROOM (SLOTS + 1)
#else
#define ROOM SLOTS
#endif

inline room(need) {
	do
	:: tail + need - seen <= ROOM -> break
	:: else ->
		cell[CONSUMED] != seen; /* it looks again until then */
		load_acquire(CONSUMED, seen);
		assert(seen <= tail)
	od
}

inline write_message() {
	store(BODY_AT(tail + padding), BODY(message));
	i = 1;
	do
	:: i < slots ->
		continued[(tail + padding + i) % SLOTS] = true;
		store(HEAD_AT(tail + padding + i), INSIDE(tail + padding + i));
		i++
	:: else -> break
	od;
	i = 0
}

/* The slot behind it is slot 0, which is never the inside of a message. */
inline pad() {
	if
	:: padding > 0 ->
#ifndef SKIPPED_KEPT
		i = 1;
		do
		:: i < padding -> continued[(tail + i) % SLOTS] = true; i++
		:: else -> break
		od;
		i = 0;
#endif
		continued[tail % SLOTS] = false;
		d_step { keep(HEAD_AT(tail), WORD(tail, 0), RELEASES) };
		tail = tail + padding;
		padding = 0
	:: else
	fi
}

inline publish() {
#ifndef CLEAR_LATE
	clear(tail + slots);
#endif
	continued[tail % SLOTS] = false;
	d_step {
		keep(HEAD_AT(tail), WORD(tail, slots), RELEASES);
		length[message] = slots;
		published++
	};
#ifdef CLEAR_LATE
	clear(tail + slots);
#endif
	tail = tail + slots
}

proctype sender() {
	byte me = SENDER, k, i, tail, seen, message, slots, padding;
	bool continued[SLOTS], given_up = GIVES_NONE_UP;

	{
		do
		:: message < MESSAGES ->
			if
			:: slots = 1
#if LONGEST > 2 && !defined(NO_TWOS)
			:: slots = 2
#endif
			:: slots = LONGEST
			fi;
			padding = (tail % SLOTS + slots > SLOTS -> SLOTS - tail % SLOTS : 0);
			room(padding + slots);
#ifndef HEAD_FIRST
			write_message();
#endif
			if
			:: !given_up -> given_up = true; padding = 0
			:: pad();
				publish();
#ifdef HEAD_FIRST
				tail = tail - slots;
				write_message();
				tail = tail + slots;
#endif
				message++
			fi
		:: else -> break
		od
	} unless {
		dead
	}
}

/* A load of the message: its value now, or with WEAK earlier or later. */
inline look(where, what) {
#ifdef WEAK
	d_step {
		if
		:: early_at[me] == where + 1 -> assert(early[me] == what); early_at[me] = 0; early[me] = 0
		:: else -> expected[where] = what; delayed++
		fi
	}
#else
	assert(cell[where] == what)
#endif
}

inline publish_consumed() {
	if
	:: consumed != head ->
#if defined(WEAK) && !defined(CONSUMED_RELAXED)
		delayed == 0;
#endif
		d_step {
#ifdef CONSUMED_RELAXED
			keep(CONSUMED, head, 0);
#else
			keep(CONSUMED, head, 1);
#endif
			consumed = head
		}
	:: else
	fi
}

inline take_message() {
	d_step {
		slots = SLOTS_OF(word);
		assert(got < published && slots == length[got])
	};
#ifdef EARLY_CONSUMED
	store_release(CONSUMED, head + slots);
	consumed = head + slots;
#endif
	look(BODY_AT(head), BODY(got));
	i = 1;
	do
	:: i < slots -> look(HEAD_AT(head + i), INSIDE(head + i)); i++
	:: else -> break
	od;
	skip; /* spin lets no loop end in a d_step */
	d_step {
		i = 0;
		head = head + slots;
		got++;
		slots = 0
	}
}

proctype receiver() {
	byte me = RECEIVER, k, i, head, consumed, word, slots;

	do
	::
#ifdef LOAD_RELAXED
		load(HEAD_AT(head), word);
#else
		load_acquire(HEAD_AT(head), word);
#endif
		if
		:: IS_AT(word, head) && SLOTS_OF(word) == 0 ->
			assert(head % SLOTS != 0);
			head = head + SLOTS - head % SLOTS
		:: IS_AT(word, head) && SLOTS_OF(word) != 0 ->
			take_message();
			if /* a batch has ended, or not */
			:: publish_consumed()
#ifndef EAGER
			:: true
#endif
			fi
		:: !IS_AT(word, head) ->
			publish_consumed();
end:			IS_AT(cell[HEAD_AT(head)], head)
		fi
	od
}

#ifdef WEAK
proctype late_loads() {
	byte where;

end:	do
	:: d_step {
		delayed > 0 ->
		where = 0;
		do
		:: expected[where] == 0 -> where++
		:: else -> break
		od;
		assert(cell[where] == expected[where]);
		expected[where] = 0;
		delayed--;
		where = 0
	}
	od
}
#endif

/* Nothing moves any more: all that was published has come. A sender that still waits spin finds by itself. */
proctype judge() {
	timeout -> assert(got == published && (dead || got == MESSAGES))
}

#ifdef KILL
proctype killer() { dead = true }
#endif

init {
	atomic {
		run sender();
		run receiver();
		run memory(SENDER);
		run memory(RECEIVER);
#ifdef WEAK
		run late_loads();
#endif
#ifdef KILL
		run killer();
#endif
		run judge()
	}
}
