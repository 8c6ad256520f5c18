/* verbs.h - objects of libibverbs whose posts and polls are Go's. */
#ifndef CTEST_VERBS_H
#define CTEST_VERBS_H

#include <infiniband/verbs.h>

/* A context with the functions of verbs.c. */
struct ibv_context *verbs_context(void);
/* An object of a context: each kind begins with it. */
void *verbs_object(struct ibv_context *context);

#endif
