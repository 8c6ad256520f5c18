/*
 * catalogue.h - translation of LAPI_Msg_string's texts. Private to the library.
 */
#ifndef CSHIM_CATALOGUE_H
#define CSHIM_CATALOGUE_H

/*
 * Replaces the English text for code, a LAPI code or an errno value, in buf (LAPI_MAX_ERR_STRING
 * bytes) by that of the program's locale. LAPI_ERR_CATALOG_FAIL if its catalogue cannot be opened:
 * buf stays English. A message that the catalogue lacks stays English too. Needs no lock.
 */
int cshim_translate(int code, char *buf);

#endif
