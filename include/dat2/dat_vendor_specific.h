/*
 * dat_vendor_specific.h - where uDAPL 2.0 puts declarations of one vendor's adapter. This library
 * has none: it declares its additions beside the standard declarations, and reports them by named
 * attributes (dat_ia_query).
 */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
