/*
 * munge.h - seals a secret so that only processes of this user open it, on any host whose munged
 * has the same key. libmunge is opened when it is needed, so that nobody else has to have it.
 * Knows nothing of the rest of the library.
 *
 * Both functions return 0 or -1, with a sentence in why, which holds CSHIM_MUNGE_WHY bytes. They
 * are for one thread at a time.
 */
#ifndef CSHIM_MUNGE_H
#define CSHIM_MUNGE_H

#include <stddef.h>

#define CSHIM_MUNGE_WHY 256

/* munge's daemon makes a credential of length bytes: a text, which the caller frees. */
int cshim_munge_seal(const char *library, const void *secret, size_t length, char **credential,
                     char *why);

/*
 * Opens a credential: *secret is the bytes that it was made of, in memory that the caller wipes and
 * frees. The credential may have been opened before: each task opens it once. -1 also for a
 * credential that another user has made.
 */
int cshim_munge_open(const char *library, const char *credential, void **secret, size_t *length,
                     char *why);

#endif
