/*
 * pointers.h - memory that a program points to, in calls that need no core: what cannot be accessed
 * is noticed also before core has started, when nobody handles faults.
 */
#ifndef DAT_POINTERS_H
#define DAT_POINTERS_H

#include <stddef.h>

/* 0, or -1: it cannot be read, or written. */
int dat_copy_in(void *to, const void *from, size_t n);
int dat_copy_out(void *to, const void *from, size_t n);
/* A string with its 0, at most n bytes in all. -1: it cannot be read. 1: it is longer. */
int dat_copy_string(char *to, const char *from, size_t n);

#endif
