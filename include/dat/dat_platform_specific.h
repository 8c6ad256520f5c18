/* dat_platform_specific.h - <dat2/dat_platform_specific.h> under the path of DAT 1.x. */
#ifndef DAT1_DAT_PLATFORM_SPECIFIC_H
#define DAT1_DAT_PLATFORM_SPECIFIC_H

#include <dat2/dat_platform_specific.h>

#endif /* DAT1_DAT_PLATFORM_SPECIFIC_H */
