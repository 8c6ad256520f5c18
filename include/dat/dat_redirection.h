/* dat_redirection.h - <dat2/dat_redirection.h> under the path of DAT 1.x. */
#ifndef DAT1_DAT_REDIRECTION_H
#define DAT1_DAT_REDIRECTION_H

#include <dat2/dat_redirection.h>

#endif /* DAT1_DAT_REDIRECTION_H */
