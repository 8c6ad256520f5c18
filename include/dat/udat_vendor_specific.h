/* udat_vendor_specific.h - <dat2/udat_vendor_specific.h> under the path of DAT 1.x. */
#ifndef DAT1_UDAT_VENDOR_SPECIFIC_H
#define DAT1_UDAT_VENDOR_SPECIFIC_H

#include <dat2/udat_vendor_specific.h>

#endif /* DAT1_UDAT_VENDOR_SPECIFIC_H */
