/*
 * catalogue.c - the words of LAPI_Msg_string in the program's language.
 *
 * English is built in and serves the locales C, POSIX and en_*. Any other locale (LC_MESSAGES of
 * setlocale, not of the environment: a program that never calls setlocale gets English) needs a
 * message catalogue of X/Open kind named liblapi_r, found through NLSPATH; docs/return-codes.md
 * says what is in it.
 */
#include <locale.h>
#include <nl_types.h>
#include <stdio.h>
#include <string.h>

#include "lapi/internal.h"

#define CATALOGUE "liblapi_r"
#define CATALOGUE_SET 1
#define SUCCESS_NUMBER 1 /* catalogues have no number 0; 1 is no LAPI code */

static int is_english(const char *locale)
{
	size_t n;

	if (!locale)
		return 1;
	n = strcspn(locale, "_.@");
	return (n == 1 && locale[0] == 'C') || (n == 2 && memcmp(locale, "en", 2) == 0) ||
	       strcmp(locale, "POSIX") == 0;
}

static int is_lapi_code(int code)
{
	return code == LAPI_SUCCESS || (code >= LAPI_ERR_FIRSTCODE && code <= LAPI_ERR_LASTCODE);
}

int cshim_translate(int code, char *buf)
{
	const char *text;
	nl_catd catalogue;

	if (is_english(setlocale(LC_MESSAGES, NULL)))
		return LAPI_SUCCESS;
	if (!is_lapi_code(code)) {
		snprintf(buf, LAPI_MAX_ERR_STRING, "%s", strerror(code));
		return LAPI_SUCCESS;
	}
	catalogue = catopen(CATALOGUE, NL_CAT_LOCALE);
	if (catalogue == (nl_catd)-1)
		return LAPI_ERR_CATALOG_FAIL;
	text = catgets(catalogue, CATALOGUE_SET, code == LAPI_SUCCESS ? SUCCESS_NUMBER : code,
	               NULL);
	if (text)
		snprintf(buf, LAPI_MAX_ERR_STRING, "%s", text);
	catclose(catalogue);
	return LAPI_SUCCESS;
}
