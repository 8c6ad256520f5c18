/*
 * udat_vendor_specific.h - the same as dat_vendor_specific.h, for user level programs. It is empty
 * too.
 */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat2/dat_vendor_specific.h>

#endif /* _UDAT_VENDOR_SPECIFIC_H_ */
