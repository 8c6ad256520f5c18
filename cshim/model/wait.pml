/*
 * wait.pml - threads that wait in one block (cshim/progress/wait.c, sleep.c, service.c): a leader,
 * which makes progress calls for all, a poller, which sleeps on the descriptors, and followers.
 *
 * WAITERS threads wait for a counter each. Packets of the link, one for each counter, come at any
 * time; -DSETS: a thread of the user's changes SETS of the counters instead (LAPI_Setcntr).
 * -DSERVICE: the service thread serves as well, where it finds the role free. -DERROR: a progress
 * call brings an error, whose handler the leader runs without the lock until all others are done.
 * lock.pml has the lock, which is a mutex here, and lane_sleep.pml what a peer does with `armed`;
 * what is under the lock or locked by itself is one step.
 *
 * Found: a thread that waits for ever, though its counter has changed.
 *
 * Defects: NO_HAND_OVER: a leader that is done wakes no follower. ERROR_KEEPS_LEADING: nor does one
 * that runs the error handler give its role up. SERVICE_KEEPS (SERVICE): nor the service thread its
 * followers to another, when it is no poller any more. NO_ARM_LOOK: the poller does not look at the
 * links once it has armed them. NOT_ASLEEP: a change of a counter does not kick the poller.
 * ASLEEP_LATE: the poller says only without the lock that it is about to sleep. MARKED_LATE: a
 * follower marks itself when it has let go of the lock. BLIND: it sleeps without a look whether it
 * was woken. ALONE: a waiter follows though nobody leads or polls.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef SETS
#define SETS 0
#endif

#define NOBODY 255
#define SERVICE_THREAD WAITERS
#define SETTER (WAITERS + 1)

#define NONE 0
#define ASLEEP 1
#define WOKEN 2

byte lock = NOBODY, leader = NOBODY, poller = NOBODY, asleep = NOBODY;
bool following[WAITERS];
byte signal[WAITERS];
bool counter[WAITERS];  /* it has changed: the goal is reached */
bool packet[WAITERS];   /* is on the link */
bool armed, bell, kicked;
bool error;
byte done;

inline take_lock() { atomic { lock == NOBODY -> lock = me } }
inline let_go() { lock = NOBODY }

/* wake_follower. In the code the exchange also says whether the futex must be woken. */
inline wake_follower(w) {
	following[w] = false;
	signal[w] = WOKEN
}

/* cshim_notify */
inline notify() {
	i = 0;
	do
	:: i < WAITERS ->
		if
		:: following[i] && counter[i] -> wake_follower(i)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
#ifndef NOT_ASLEEP
	if
	:: asleep != NOBODY && counter[asleep] -> asleep = NOBODY; kicked = true
	:: else
	fi
#endif
}

/* cshim_hand_over. Which follower is first in the list is chance. */
inline hand_over() {
	if
	:: leader == NOBODY && poller == NOBODY ->
		if
		:: following[0] -> wake_follower(0)
		:: following[1] -> wake_follower(1)
#if WAITERS > 2
		:: following[2] -> wake_follower(2)
#endif
		:: else
		fi
	:: else
	fi
}

/* A progress call: takes all packets. made: there were some. */
inline progress_call() {
	made = false;
	i = 0;
	do
	:: i < WAITERS ->
		if
		:: packet[i] -> packet[i] = false; counter[i] = true; made = true
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	notify()
}

/* What a poller sees once the links are armed. */
inline arm() {
	armed = true;
	made = false;
#ifndef NO_ARM_LOOK
	i = 0;
	do
	:: i < WAITERS -> made = made || packet[i]; i++
	:: else -> break
	od;
	i = 0
#endif
}

inline disarm() { armed = false; bell = false }

/* cshim_follow, with the lock in hand */
inline follow() {
#ifdef MARKED_LATE
	let_go();
	atomic { following[me] = true; signal[me] = NONE };
#else
	atomic {
		following[me] = true;
		signal[me] = NONE;
		let_go()
	};
#endif
#ifdef BLIND
	signal[me] = ASLEEP;
#else
	atomic {
		if
		:: signal[me] == NONE -> signal[me] = ASLEEP
		:: else
		fi
	};
#endif
	signal[me] == WOKEN;
	take_lock();
	following[me] = false
}

/* cshim_poll_descriptors of a waiter, with the lock in hand. got: it was the poller. */
inline poll() {
	got = false;
	atomic {
		if
		:: poller == NOBODY -> poller = me; got = true
		:: else
		fi
	};
	if
	:: got ->
		atomic {
			arm();
			stay = made;
			if
			:: stay -> disarm(); poller = NOBODY
#ifdef ASLEEP_LATE
			:: else -> let_go()
#else
			:: else -> asleep = me; let_go()
#endif
			fi
		};
		if
		:: stay
		:: else ->
#ifdef ASLEEP_LATE
			asleep = me;
#endif
			bell || kicked;
			kicked = false;
			take_lock();
			atomic {
				if
				:: asleep == me -> asleep = NOBODY
				:: else
				fi;
				disarm();
				poller = NOBODY
			}
		fi;
		stay = false
	:: else
	fi
}

/* The error handler, without the lock: until all others are done. */
inline run_handler() {
#ifndef ERROR_KEEPS_LEADING
	atomic {
		leader = (leader == me -> NOBODY : leader);
#ifndef NO_HAND_OVER
		hand_over()
#endif
	};
#endif
	let_go();
	done == WAITERS - 1;
	take_lock()
}

proctype waiter(byte me) {
	byte i;
	bool made, got, stay, failed;

	take_lock();
	do
	:: counter[me] -> break
	:: else ->
#ifndef ALONE
		atomic {
			if
			:: leader == NOBODY -> leader = me
			:: else
			fi
		};
#endif
		if
		:: leader == me ->
			atomic { progress_call(); failed = error; error = false };
			if
			:: failed -> failed = false; run_handler()
			:: else ->
				if
				:: made || counter[me] -> skip /* looks again, and passes the lock */
				:: else ->
					if
					:: skip
					:: poll();
						if
						:: got
						:: else -> /* cshim_sleep: the service thread is the poller */
							atomic { leader = NOBODY; kicked = true };
							follow()
						fi
					fi
				fi;
				made = false
			fi;
			let_go();
			take_lock() /* or yields */
		:: else -> follow()
		fi
	od;
	atomic {
		leader = (leader == me -> NOBODY : leader);
#ifndef NO_HAND_OVER
		hand_over();
#endif
		done++;
		let_go()
	}
}

/* As long as user threads poll it is about to stop serving: it serves a few times. */
proctype service() {
	byte me = SERVICE_THREAD, i, turns;
	bool made, got;

	do
	:: turns < 2 ->
		turns++;
		take_lock();
		atomic { progress_call() };
		atomic {
			got = false;
			if
			:: poller == NOBODY -> poller = me; got = true
			:: else
			fi
		};
		if
		:: got ->
			atomic {
				arm();
				if
				:: made -> disarm(); poller = NOBODY; got = false
				:: else -> let_go()
				fi
			};
			if
			:: got ->
end:				bell || kicked;
				kicked = false;
				take_lock();
				atomic { disarm(); poller = NOBODY }
			:: else
			fi;
#ifndef SERVICE_KEEPS
			atomic { hand_over() }
#endif
		:: else
		fi;
		made = false;
		let_go()
	:: else -> break
	od
}

/* Packets come; the peer stores them, and rings if the links are armed. */
proctype link(byte to) {
	atomic {
		packet[to] = true;
		if
		:: armed -> bell = true
		:: else
		fi
	}
}

/* LAPI_Setcntr */
proctype setter(byte to) {
	byte me = SETTER, i;

	take_lock();
	atomic {
		counter[to] = true;
		notify();
		let_go()
	}
}

/* Nothing moves any more. */
proctype judge() {
	timeout -> assert(done == WAITERS)
}

init {
	atomic {
		byte w;
#ifdef ERROR
		error = true;
#endif
		do
		:: w < WAITERS ->
			run waiter(w);
			if
			:: w < SETS -> run setter(w)
			:: else -> run link(w)
			fi;
			w++
		:: else -> break
		od;
#ifdef SERVICE
		run service();
#endif
		run judge()
	}
}
