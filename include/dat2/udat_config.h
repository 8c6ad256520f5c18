/* udat_config.h - which parts of uDAPL 2.0 the headers of this folder declare. */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

/* The extension interface is there: dat_extension_op, event_extension_data, dat_ib_extensions.h. */
#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS 1
#endif

/* dat_ia_open requests a provider that leaves mutual exclusion to the program. */
#define DAT_THREADSAFE DAT_FALSE

#endif /* _UDAT_CONFIG_H_ */
