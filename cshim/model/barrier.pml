/*
 * barrier.pml - the words of the node barrier against `armed` (cshim/node/barrier.c, arm.c):
 * TASKS tasks go through GENERATIONS barriers, by a central counter, or with -DROUNDS=n by a
 * dissemination of n rounds. lane_memory.pml has what processors do with the stores.
 *
 * A task stores a word that others wait for, then looks at their `armed`, and rings. A sleeper
 * stores `armed`, waits for membarrier, and looks at the words; -DFENCED: the tasks have fences of
 * their own instead. `armed` holds the number of the sleep, as in lane_sleep.pml. A task decides at
 * any time whether to look again or to sleep, so all sleeps are here that patience brings about.
 *
 * Found: a task that leaves a generation before all have arrived, or does not see what they had
 * stored before (assertions); a task that sleeps for ever.
 *
 * Left out: failure. cshim/ctest tests how a task that leaves affects the others.
 *
 * Defects: NO_MEMBARRIER. LOOK_FIRST: the task looks at `armed` before it stores the word.
 * ARM_LATE: the sleeper looks at the words before it arms. NO_SECOND_LOOK: it does not look at all
 * once it has armed. NO_NUMBER: `armed` does not say which sleep it is. ANY_GENERATION: the word of
 * the generation before will do. ONE_SHORT: the counter lets the tasks go before the last has
 * come. ONE_ROUND (ROUNDS > 1): a task goes after its first round. WEAK only: WORD_RELAXED: words
 * are stored without release. COUNT_RELAXED: the counter is not acquire and release. LOAD_RELAXED: words are loaded without
 * acquire.
 */
#ifndef TASKS
#define TASKS 2
#endif
#ifndef GENERATIONS
#define GENERATIONS 2
#endif
#ifndef ROUNDS
#define ROUNDS 0 /* a counter */
#endif

#define PROCESSORS TASKS
#define ARMED(t) (t)
#define DATA(t) (TASKS + t)
#define RELEASED (2 * TASKS)
#define WORD(t, r) (2 * TASKS + 1 + (t) * ROUNDS + (r))
#define CELLS (2 * TASKS + 1 + TASKS * ROUNDS)
#define DEPTH 2
#include "lane_memory.pml"

byte arrivals; /* changed by locked instructions only */
bool bell[TASKS];
/* [sleeper, ringer]: the number that the ringer read is that of the latest sleep */
bool latest[TASKS * TASKS];
byte entered[TASKS];        /* of the model */
byte left;

#ifdef ANY_GENERATION
#define IS_OVER(word) (word != 0)
#else
#define IS_OVER(word) (word == generation || word == generation + 1)
#endif

inline ring_bell(t) {
	atomic {
		load_sc(ARMED(t), armed);
		latest[t * TASKS + me] = armed
	};
	if
	:: armed ->
		armed = 0;
		bell[t] = true;
		d_step {
			drain(me);
			if
			:: latest[t * TASKS + me] -> cell[ARMED(t)] = 0
			:: else
			fi
		}
	:: else
	fi
}

/* wake of barrier.c, behind the store */
inline wake(t) {
#ifdef FENCED
	fence();
#endif
	load(ARMED(t), armed);
	if
	:: armed -> armed = 0; ring_bell(t)
	:: else
	fi
}

inline store_word(where) {
#ifdef WORD_RELAXED
	store(where, generation)
#else
	store_release(where, generation)
#endif
}

inline wake_all() {
	to = 0;
	do
	:: to < TASKS ->
		if
		:: to != me -> wake(to)
		:: else
		fi;
		to++
	:: else -> break
	od;
	to = 0
}

inline signal_round() {
	to = (me + (1 << round)) % TASKS;
#ifdef LOOK_FIRST
	wake(to);
#endif
	store_word(WORD(me, round));
#ifndef LOOK_FIRST
	wake(to);
#endif
	to = 0
}

inline arrive() {
#if ROUNDS > 0
	round = 0;
	signal_round()
#else
	d_step {
#ifndef COUNT_RELAXED
		drain(me);
#endif
		arrivals++;
#ifdef ONE_SHORT
		last = arrivals == generation * TASKS - 1
#else
		last = arrivals == generation * TASKS
#endif
	};
	if
	:: last ->
#ifdef LOOK_FIRST
		wake_all();
#endif
		store_word(RELEASED);
#ifndef LOOK_FIRST
		wake_all();
#endif
		last = false
	:: else
	fi
#endif
}

inline load_word(where) {
#ifdef LOAD_RELAXED
	load(where, word)
#else
	load_acquire(where, word)
#endif
}

/* node_barrier_look. Sets over. */
inline look() {
#if ROUNDS > 0
	do
	:: load_word(WORD((me + TASKS - (1 << round)) % TASKS, round));
		if
		:: IS_OVER(word) ->
			round++;
#ifdef ONE_ROUND
			over = true;
			break
#else
			if
			:: round == ROUNDS -> over = true; break
			:: else -> signal_round()
			fi
#endif
		:: else -> break
		fi
	od;
	word = 0
#else
	load_word(RELEASED);
	over = IS_OVER(word);
	word = 0
#endif
}

inline order_peers() {
#if defined(NO_MEMBARRIER) || defined(FENCED)
	fence()
#else
	membarrier()
#endif
}

inline arm() {
	d_step {
		drain(me);
		cell[ARMED(me)] = 1;
#ifndef NO_NUMBER
		to = 0;
		do
		:: to < TASKS -> latest[me * TASKS + to] = false; to++
		:: else -> break
		od;
		to = 0
#endif
	}
}

inline sleep() {
#ifdef ARM_LATE
	look();
	arm();
	order_peers();
#else
	arm();
	order_peers();
#ifndef NO_SECOND_LOOK
	look();
#endif
#endif
	if
	:: over
	:: else -> bell[me]
	fi;
	store_sc(ARMED(me), 0); /* Disarm */
	bell[me] = false
}

/* All have arrived, and what they stored before is seen. */
inline depart() {
	to = 0;
	do
	:: to < TASKS ->
		load(DATA(to), word);
		assert(entered[to] >= generation && word >= generation);
		to++
	:: else -> break
	od;
	to = 0;
	word = 0;
	over = false
}

proctype task(byte me) {
	byte k, other, generation, round, to, word, armed;
	bool over, last;

	do
	:: generation < GENERATIONS ->
		generation++;
		entered[me] = generation;
		store(DATA(me), generation);
		arrive();
		do
		:: over -> break
		:: !over -> look()
		:: !over -> sleep()
		od;
		depart()
	:: else -> break
	od;
	left++
}

/* Nothing moves any more. */
proctype judge() {
	timeout -> assert(left == TASKS)
}

init {
	atomic {
		byte t;
		do
		:: t < TASKS -> run task(t); run memory(t); t++
		:: else -> break
		od;
		run judge()
	}
}
