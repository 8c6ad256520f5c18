/* dat_error.h - <dat2/dat_error.h> under the path of DAT 1.x. */
#ifndef DAT1_DAT_ERROR_H
#define DAT1_DAT_ERROR_H

#include <dat2/dat_error.h>

#endif /* DAT1_DAT_ERROR_H */
