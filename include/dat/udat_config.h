/* udat_config.h - <dat2/udat_config.h> under the path of DAT 1.x. */
#ifndef DAT1_UDAT_CONFIG_H
#define DAT1_UDAT_CONFIG_H

#include <dat2/udat_config.h>

#endif /* DAT1_UDAT_CONFIG_H */
