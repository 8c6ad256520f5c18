/* udat_redirection.h - <dat2/udat_redirection.h> under the path of DAT 1.x. */
#ifndef DAT1_UDAT_REDIRECTION_H
#define DAT1_UDAT_REDIRECTION_H

#include <dat2/udat_redirection.h>

#endif /* DAT1_UDAT_REDIRECTION_H */
