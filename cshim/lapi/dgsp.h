/* dgsp.h - the commands of LAPI_Util for DGSPs. Private to the library. */
#ifndef CSHIM_DGSP_H
#define CSHIM_DGSP_H

#include "internal.h"

/* Does the commands for which the guide has no handle checked. 0: it is another command. */
int cshim_dgsp_without_context(lapi_util_t *cmd, int *rc);

/* Does the others, with the context's lock held; LAPI_ERR_UTIL_CMD: it is none of them. */
int cshim_dgsp_in_context(int context, lapi_util_t *cmd);

#endif
