/* say.h - the library's lines on the standard error. */
#ifndef CSHIM_SAY_H
#define CSHIM_SAY_H

#include <stddef.h>

/*
 * Writes size bytes, which may be lost. A standard error that nobody reads any more costs the
 * program no SIGPIPE: it has not written there. From any thread, also in a signal handler or in the
 * child of a fork; keeps errno.
 */
void cshim_say(const char *text, size_t size);

#endif
