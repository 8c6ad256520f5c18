/*
 * shared.h - marks of words that several threads or processes touch at once, none of them under a
 * lock that the others have. docs/dev/memory-order.md has them all. `make vet` (tests/shared) finds each
 * use of such a member that is neither atomic nor by CSHIM_OWN, also in Go.
 */
#ifndef CSHIM_SHARED_WORDS_H
#define CSHIM_SHARED_WORDS_H

#ifdef CSHIM_FIND_SHARED
#define CSHIM_SHARED __attribute__((deprecated))
#else
#define CSHIM_SHARED
#endif

/* Such a word where no other thread writes it now: the caller is its only writer, or has the lock under
 * which it is written, or nobody else knows it yet. To read, or to set it up. */
#define CSHIM_OWN(word) (word)

#endif
