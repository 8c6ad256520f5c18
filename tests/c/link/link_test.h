/* link_test.h - shared by the programs. */
#ifndef LINK_TEST_H
#define LINK_TEST_H

#include <lapi_link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern lapi_link_t *lnk;
extern lapi_link_attr_t attr;
extern lapi_link_endpoint_t **peer; /* by task */
extern const char *section;         /* what is being tried */

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "%s:%d: task %u: %s: failed: %s\n", __FILE__,        \
			        __LINE__, attr.task, section, #condition);                   \
			exit(1);                                                             \
		}                                                                            \
	} while (0)
#define MUST(call) CHECK((call) == LAPI_LINK_SUCCESS)
/* Tries again while there is no room. */
#define TRY(call)                                                                            \
	({                                                                                   \
		int tried;                                                                   \
		while ((tried = (call)) == LAPI_LINK_OUT_OF_RESOURCE)                        \
			progress();                                                          \
		tried;                                                                       \
	})

/* Callbacks of barrier and share that have run here. */
extern uint32_t own_callbacks;
void begin(lapi_link_error_t *error);
void progress(void);
/* All tasks are here: by messages with a tag of its own. */
void barrier(void);
/* Makes a region of n bytes, and learns those of all tasks, which have as many. */
void share(void *base, size_t n, uint32_t access, lapi_link_handle_t **mine,
           lapi_link_handle_t *theirs);
void end(void);

#endif
