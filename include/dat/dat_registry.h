/* dat_registry.h - <dat2/dat_registry.h> under the path of DAT 1.x. */
#ifndef DAT1_DAT_REGISTRY_H
#define DAT1_DAT_REGISTRY_H

#include <dat2/dat_registry.h>

#endif /* DAT1_DAT_REGISTRY_H */
