/* dat.h - <dat2/dat.h> under the path of DAT 1.x. */
#ifndef DAT1_DAT_H
#define DAT1_DAT_H

#include <dat2/dat.h>

#endif /* DAT1_DAT_H */
