/*
 * sleep.h - sleeping and waking, for the files of this part. Everything is under the lock unless it
 * says otherwise.
 */
#ifndef CSHIM_SLEEP_H
#define CSHIM_SLEEP_H

#include "progress/wait.h"

/*
 * The leader sleeps until something may have happened. Gives up and takes back all levels of the
 * lock. May end its role.
 */
void cshim_sleep(cshim_progress *progress, cshim_wait *wait);
/*
 * Lets another thread lead, and waits until wait may be over or a leader is wanted. Likewise with
 * the lock.
 */
void cshim_follow(cshim_progress *progress, cshim_wait *wait, uint32_t spins);
/*
 * Takes the poller's role and sleeps on the descriptors; wait is NULL for the service thread. 0,
 * and nothing done, if another thread is the poller. The role is given up again before it returns.
 */
int cshim_poll_descriptors(cshim_progress *progress, cshim_wait *wait);
/*
 * The calling thread is cancelled in its sleep, without the lock: takes it, with depth levels, and
 * gives up its roles.
 */
void cshim_sleep_ends(cshim_progress *progress, cshim_wait *wait);
/* Wakes all followers, to find that the generation has ended. */
void cshim_wake_followers(cshim_progress *progress);

/*
 * The body of the service thread; without the lock. Returns when the generation called handle has
 * ended.
 */
void cshim_service_run(cshim_progress *progress, uint32_t handle);
#endif
