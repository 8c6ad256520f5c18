/*
 * dump.h - what this process's threads wait for, as text for lapirun --dump and lapi_dump
 * (docs/dev/dump.md): a thread of the process that sleeps on a socket until somebody asks.
 */
#ifndef CSHIM_DUMP_H
#define CSHIM_DUMP_H

#include <stddef.h>

/* A text in the making, of bounded size. */
typedef struct cshim_dump {
	char *text;
	size_t size, used;
} cshim_dump;

/* Adds a line; nothing if there is no room for the whole of it. */
void cshim_dump_line(cshim_dump *dump, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A context begins and ends; the thread lives from the first begin to the last end. Any thread, not
 * under a lock. print writes a dump on stderr, for the signal.
 */
void cshim_dump_begin(void (*print)(char *text, size_t size));
void cshim_dump_end(void);
/*
 * Signal number asks for a dump on stderr from now on, until the last end; 0: so it is. Nothing is done
 * where the program has a handler for it. Between begin and end, any thread.
 */
int cshim_dump_on_signal(int number);
/* The first real-time signal that a program may use. */
int cshim_dump_first_signal(void);

#endif
